package install

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sessionhub/lib/claude"
	"sessionhub/lib/config"
	"sessionhub/lib/state"
)

// exitBusy is shrevive's exit status while another pass is under way. It is no
// failure.
const exitBusy = "75"

// Revive has shrevive run every quarter of an hour: by a timer of systemd's, an
// agent of launchd's or a line of the crontab, whichever there is, in this order.
type Revive struct {
	Tools   Tools
	Claude  string // the program; "" looks on the PATH
	Home    string // Claude Code's folder
	Data    string // sessionhub's folder below XDG_DATA_HOME
	Getenv  func(string) string
	Manager func(ctx context.Context, k Kind) (Manager, string)
}

// ReviveKind is shrevive at the managers.
func ReviveKind(log string) Kind {
	return Kind{
		Target: "revive", What: "the timer", Unit: "sessionhub-revive", Label: "sessionhub.revive", Manual: "shrevive(1)", Timer: true, Log: log,
		Logout: "no session is resumed while you are logged out",
	}
}

// Name is "revive".
func (v *Revive) Name() string { return "revive" }

// bare is the environment that every timer gives, whatever its user's shell has.
func (v *Revive) bare(name string) string {
	if name == "HOME" {
		return v.Getenv(name)
	}
	return ""
}

// dir is the state directory.
func (v *Revive) dir() (state.Dir, error) {
	d, err := state.Default(v.Getenv)
	if err != nil {
		return "", err
	}
	abs, err := filepath.Abs(string(d))
	return state.Dir(abs), err
}

func (v *Revive) kind() (Kind, error) {
	d, err := v.dir()
	return ReviveKind(d.ReviveLog()), err
}

// job is shrevive as a timer runs it: every path is absolute, and what of the
// caller's environment says where things are is put into the job's own. Claude
// Code may be a script, whose interpreter must be on the PATH.
func (v *Revive) job() (Job, error) {
	bin, err := program(v.Claude, "claude", "--claude", v.Getenv)
	if err != nil {
		return Job{}, err
	}
	j := Job{Argv: []string{v.Tools.Path("shrevive"), claudeFlag, bin}, About: "Resume Claude Code's sessions that a limit stopped"}
	usual, ok := claude.DefaultHome(v.bare)
	if home := filepath.Clean(v.Home); !ok || string(usual) != home {
		if home, err = filepath.Abs(home); err != nil {
			return Job{}, err
		}
		j.Argv = append(j.Argv, "--claude-home", home)
	}
	programs := []string{j.Argv[0], bin}
	if node, err := program("", "node", "", v.Getenv); err == nil {
		programs = append(programs, node)
	}
	j.Env = []string{"PATH=" + jobPath(programs...)}
	dir, err := v.dir()
	if err != nil {
		return Job{}, err
	}
	conf, err := filepath.Abs(config.Path(v.Getenv))
	if err != nil {
		return Job{}, err
	}
	if there, err := state.Default(v.bare); err != nil || there != dir {
		j.Env = append(j.Env, "SESSIONHUB_STATE_DIR="+string(dir))
	}
	if config.Path(v.bare) != conf {
		j.Env = append(j.Env, "SESSIONHUB_CONFIG="+conf)
	}
	return j, nil
}

// claudeFlag is how shrevive is told which Claude Code to run.
const claudeFlag = "--claude-bin"

// runs are the programs that a timer depends on.
func (j Job) runs() []string {
	list := j.Argv[:1]
	if i := slices.Index(j.Argv, claudeFlag); i > 0 {
		list = append(slices.Clone(list), j.Argv[i+1])
	}
	return list
}

// Install has shrevive run, and proves that it can.
func (v *Revive) Install(ctx context.Context, r *Run) error {
	if err := v.Tools.Check("shrevive"); err != nil {
		return err
	}
	j, err := v.job()
	if err != nil {
		return err
	}
	if bin := j.runs()[1]; Passing(bin) {
		r.Note("claude", "%s goes away with the next upgrade: name a lasting path with --claude, or run this again after it", bin)
	}
	k, err := v.kind()
	if err != nil {
		return err
	}
	b, err := openBooks(v.Data, v.Name())
	if err != nil {
		return err
	}
	if err := v.schedule(ctx, r, b, k, j); err != nil {
		return err
	}
	v.watchdog(ctx, r)
	return v.prove(ctx, r, j)
}

// schedule has a timer run the job, or tells what a person must have run where
// there is none.
func (v *Revive) schedule(ctx context.Context, r *Run, b *books, k Kind, j Job) error {
	m, why := v.Manager(ctx, k)
	c := newCron(k, v.Getenv)
	if m != nil {
		err := v.byManager(ctx, r, b, m, k, j)
		if _, written := b.ledger.of(cronKey, b.by); err != nil || c == nil || !written {
			return err
		}
		if _, err := c.take(ctx, r, b); err != nil { // it was made where no manager was in reach
			return err
		}
		return b.ledger.save(r)
	}
	for _, m := range managers(k, v.Getenv) {
		path := m.Paths()[0]
		text, err := Read(path)
		if err != nil {
			return err
		}
		if b.ledger.asWritten(path, text) {
			r.Note("timer", "%s has one, and is out of reach here: %s; nothing was changed", m.Name(), why)
			return nil
		}
	}
	if c == nil {
		r.tell(Step{Step: "timer", Outcome: Noted, Command: envLine(v.Getenv("HOME"), j.Env, j.Argv).Line(),
			Detail: "no timer was made, as " + why + ", and there is no crontab: have this run every quarter of an hour by what runs programs here"})
		return nil
	}
	if err := v.logDir(r); err != nil {
		return err
	}
	return c.put(ctx, r, b, j)
}

// byManager writes the job's files and starts what is not as they say.
func (v *Revive) byManager(ctx context.Context, r *Run, b *books, m Manager, k Kind, j Job) error {
	files, mine, err := b.units(r, m, j)
	if err != nil || !mine {
		return err
	}
	st, err := m.State(ctx)
	if err != nil {
		return err
	}
	if m.LogHint() == k.Log {
		if err := v.logDir(r); err != nil {
			return err
		}
	}
	fresh, err := b.writeUnits(r, files, j.runs()...)
	if err != nil {
		return err
	}
	m.Notes(ctx, r)
	if !fresh && st.Enabled && st.Running {
		r.Unchanged("timer", "%s runs shrevive every quarter of an hour", m.Name())
		return nil
	}
	if err := m.Start(ctx, r, fresh); err != nil || r.DryRun {
		return err
	}
	r.Changed("timer", "%s runs shrevive every quarter of an hour", m.Name())
	return nil
}

// logDir makes the folder of the log: without it neither sh nor launchd could
// open the log, and nothing would be run.
func (v *Revive) logDir(r *Run) error {
	d, err := v.dir()
	if err != nil || r.DryRun {
		return err
	}
	return d.Ensure()
}

// envLine is a command with an environment of its own, and nothing else in it.
func envLine(home string, env, argv []string) Command {
	return Command{Argv: slices.Concat([]string{"/usr/bin/env", "-i", "HOME=" + home}, env, argv), Dir: "/"}
}

// prove runs Claude Code and a pass that does nothing in the environment that the
// timer gives. A timer that can't find its programs there resumes nothing, and
// nobody hears of it.
func (v *Revive) prove(ctx context.Context, r *Run, j Job) error {
	said := ""
	for _, argv := range [][]string{{j.runs()[1], "--version"}, append(slices.Clone(j.Argv), "--dry-run")} {
		c := envLine(v.Getenv("HOME"), j.Env, argv)
		out, ran, err := r.Do(ctx, "check", c)
		if err != nil {
			return err
		}
		if !ran {
			continue
		}
		if out.Code != 0 {
			return fmt.Errorf("what the timer runs fails with the timer's environment: %s: %s", c.Line(), out.Line())
		}
		said = out.Line()
	}
	if !r.DryRun {
		r.Unchanged("check", "a pass with the timer's environment works: %s", said)
	}
	return nil
}

// oldWatchdog is the program whose place shrevive takes, and its timer.
const (
	oldWatchdog = "resume-stalled-sessions.py"
	oldTimer    = "claude-session-watchdog"
)

// watchdog tells of the session watchdog where it is scheduled still: both would
// resume the same sessions.
func (v *Revive) watchdog(ctx context.Context, r *Run) {
	const both = "the session watchdog is scheduled still, and both would resume the same sessions: this ends it"
	timer := filepath.Join(unitDir(v.Getenv), oldTimer+".timer")
	if _, err := os.Lstat(timer); err == nil {
		off := Command{Argv: []string{"systemctl", "--user", "disable", "--now", oldTimer + ".timer"}}
		rm := Command{Argv: []string{"rm", "-f", timer, strings.TrimSuffix(timer, ".timer") + ".service"}}
		r.tell(Step{Step: "watchdog", Outcome: Noted, Detail: both, Path: timer, Command: off.Line() + "; " + rm.Line()})
	}
	c := newCron(Kind{}, v.Getenv)
	if c == nil {
		return
	}
	text, err := c.read(ctx)
	if err != nil {
		return // who may have no crontab has none
	}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); strings.Contains(line, oldWatchdog) && !strings.HasPrefix(line, "#") {
			r.tell(Step{Step: "watchdog", Outcome: Noted, Detail: both, Path: cronKey, Command: "crontab -l | grep -v " + oldWatchdog + " | crontab -"})
			return
		}
	}
}

// Remove takes away whichever timer Install made. The ledger of the resumes stays.
func (v *Revive) Remove(ctx context.Context, r *Run) error {
	k, err := v.kind()
	if err != nil {
		return err
	}
	b, err := openBooks(v.Data, v.Name())
	if err != nil {
		return err
	}
	wrote := b.ledger.wrote(b.by)
	m, _ := v.Manager(ctx, k)
	if err := b.retire(ctx, r, k, m, v.Getenv); err != nil {
		return err
	}
	if err := v.uncron(ctx, r, b, k, m == nil); err != nil {
		return err
	}
	if err := b.ledger.save(r); err != nil || !wrote {
		return err
	}
	return errors.Join(v.removeLog(r, k.Log), b.prune(r))
}

// uncron takes our line out of the crontab.
func (v *Revive) uncron(ctx context.Context, r *Run, b *books, k Kind, only bool) error {
	c := newCron(k, v.Getenv)
	if c == nil {
		if only {
			r.Unchanged(k.step(), "there is none")
		}
		return nil
	}
	_, written := b.ledger.of(cronKey, b.by)
	gone, err := c.take(ctx, r, b)
	if err != nil && !written && !only {
		return nil // who may have no crontab has no line in it
	}
	if err == nil && !gone && only {
		r.Unchanged("crontab", "no line of it is ours")
	}
	return err
}

// removeLog takes the log away, and its folder if that is empty. The folder above
// is only looked at where no person chose it.
func (v *Revive) removeLog(r *Run, log string) error {
	old, err := Read(log)
	if err == nil && old != nil {
		err = r.Write("log", File{Path: log, Old: old, Secret: true})
	}
	if err != nil {
		return err
	}
	if v.Getenv("SESSIONHUB_STATE_DIR") != "" {
		return r.prune("folder", filepath.Dir(log), log)
	}
	return r.pruneUp("folder", filepath.Dir(log), log)
}
