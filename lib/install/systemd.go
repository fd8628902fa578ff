package install

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
)

// systemd is a user's systemd, by way of systemctl.
type systemd struct {
	Kind
	program string
	dir     string // of the user's units
	getenv  func(string) string
}

func newSystemd(program string, k Kind, getenv func(string) string) *systemd {
	return &systemd{Kind: k, program: program, dir: unitDir(getenv), getenv: getenv}
}

// unitDir is where a user's units lie.
func unitDir(getenv func(string) string) string {
	dir := getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(getenv("HOME"), ".config")
	}
	return filepath.Join(dir, "systemd", "user")
}

func (*systemd) Name() string      { return "systemd" }
func (s *systemd) service() string { return s.Unit + ".service" }
func (s *systemd) LogHint() string { return "journalctl --user -u " + s.service() }

// unit is the one that is enabled.
func (s *systemd) unit() string {
	if s.Timer {
		return s.Unit + ".timer"
	}
	return s.service()
}

func (s *systemd) Paths() []string {
	list := []string{filepath.Join(s.dir, s.unit())}
	if s.Timer {
		list = append(list, filepath.Join(s.dir, s.service()))
	}
	return list
}

// reach says why the user's manager can't be spoken to.
func (s *systemd) reach(ctx context.Context) error {
	ok, out, err := ask(ctx, s.program, "--user", "show-environment")
	switch {
	case err != nil:
		return err
	case !ok:
		return fmt.Errorf("the user's systemd is out of reach (%s)", out.Line())
	}
	return nil
}

// serviceLines are those of a job that is kept running. Restart: a hub that
// crashed comes back; one whose arguments are wrong (64 and 78 of sysexits) would
// only fail again.
const serviceLines = `UMask=0077
Restart=on-failure
RestartSec=2
RestartPreventExitStatus=64 78

[Install]
WantedBy=default.target
`

// passLines are those of a job that a timer starts. KillMode: Claude Code's
// background service, which a pass may start, stays in the unit's control group
// and must outlive it. 75 says that another pass is under way. There is no
// Restart, as the timer comes again, and no UMask, as the sessions inherit it.
const passLines = `Type=oneshot
KillMode=process
SuccessExitStatus=75
`

// timerLines are those of a timer. It stays off the full quarters, when
// everybody's timers run.
const timerLines = `[Timer]
OnCalendar=*-*-* *:07,22,37,52:00

[Install]
WantedBy=timers.target
`

// Files are the unit, or the timer and the unit that it starts.
func (s *systemd) Files(j Job) []File {
	var words, env []string
	for i, w := range j.Argv {
		words = append(words, unitWord(w, i > 0))
	}
	for _, kv := range j.Env {
		env = append(env, unitWord(kv, false))
	}
	head := fmt.Sprintf("# written by shinstall %s, which writes it anew; put changes of your own into a drop-in (systemctl --user edit)\n[Unit]\nDescription=%s\nDocumentation=man:%s\n\n",
		s.Target, j.About, s.Manual)
	run := head + "[Service]\nExecStart=" + strings.Join(words, " ") + "\nEnvironment=" + strings.Join(env, " ") + "\n"
	texts := []string{run + serviceLines}
	if s.Timer {
		texts = []string{head + timerLines, run + passLines}
	}
	var files []File
	for i, path := range s.Paths() {
		files = append(files, File{Path: path, New: []byte(texts[i]), Mode: 0o644})
	}
	return files
}

// unitWord quotes a word of a unit's command line or of Environment=, as
// systemd.syntax(7) and systemd.service(5) have it. dollar doubles "$", which
// stands for a variable in all words of a command line but the program.
func unitWord(w string, dollar bool) string {
	w = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "%", "%%").Replace(w)
	if dollar {
		w = strings.ReplaceAll(w, "$", "$$")
	}
	return `"` + w + `"`
}

// State asks after the unit. Systemd says the answer in words, too, with a
// status other than 0 for all but yes.
func (s *systemd) State(ctx context.Context) (st JobState, err error) {
	if st.Enabled, _, err = ask(ctx, s.program, "--user", "is-enabled", "--quiet", s.unit()); err != nil {
		return st, err
	}
	if st.Running, _, err = ask(ctx, s.program, "--user", "is-active", "--quiet", s.unit()); err != nil || !s.Timer {
		return st, err
	}
	st.Failed, _, err = ask(ctx, s.program, "--user", "is-failed", "--quiet", s.service())
	return st, err
}

// Start: a timer that is restarted waits for its next time, and starts nothing
// before.
func (s *systemd) Start(ctx context.Context, r *Run, fresh bool) error {
	if fresh {
		if err := s.do(ctx, r, s.program, "--user", "daemon-reload"); err != nil {
			return err
		}
	}
	if err := s.do(ctx, r, s.program, "--user", "enable", s.unit()); err != nil {
		return err
	}
	return s.do(ctx, r, s.program, "--user", "restart", s.unit())
}

// Stop leaves a pass that a timer started to its end.
func (s *systemd) Stop(ctx context.Context, r *Run) error {
	return s.do(ctx, r, s.program, "--user", "disable", "--now", s.unit())
}

func (s *systemd) Removed(ctx context.Context, r *Run) error {
	return s.do(ctx, r, s.program, "--user", "daemon-reload")
}

// Notes tells of lingering: without it the user's services end with the last
// session.
func (s *systemd) Notes(ctx context.Context, r *Run) {
	loginctl, err := program("", "loginctl", "", s.getenv)
	if err == nil {
		if ok, out, err := ask(ctx, loginctl, "show-user", uid(), "--property=Linger", "--value"); err == nil && ok && strings.TrimSpace(string(out.Stdout)) == "yes" {
			return
		}
	}
	r.Note("linger", "%s: loginctl enable-linger lets it run on", s.Logout)
}
