package install

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// ReviveFacts are what only the timer has to tell.
type ReviveFacts struct {
	Manager string   `json:"manager,omitempty"` // systemd, launchd or cron
	Why     string   `json:"why,omitempty"`     // there is no manager
	Timer   bool     `json:"timer"`             // its file, or its line, is there
	Running bool     `json:"running"`           // it waits for its next time
	Failed  bool     `json:"failed"`            // the last pass
	Runs    []string `json:"runs,omitempty"`    // the programs
}

// Look tells how the timer is.
func (v *Revive) Look(ctx context.Context) Part {
	p := Part{Part: v.Name(), State: Missing, Do: "shinstall revive"}
	t, err := v.look(ctx)
	p.Path, p.Facts = t.path, t.ReviveFacts
	var gone string
	for _, program := range t.Runs {
		if err := executable(program); err != nil && gone == "" {
			gone = err.Error()
		}
	}
	switch {
	case err != nil:
		p.State, p.Detail, p.Do = Unclear, err.Error(), ""
	case !t.Timer && t.Manager == "":
		p.Detail, p.Do = t.Why, "run shrevive every quarter of an hour by what runs programs here: shinstall revive prints the whole command"
	case !t.Timer:
	case t.off:
		p.State, p.Detail = Off, "its line in the crontab is commented out"
	case gone != "":
		p.State, p.Detail, p.Do = Stale, gone, "make install if it is a tool, then shinstall revive"
	case !t.Running:
		p.State, p.Detail, p.Do = Stale, "it is not scheduled as it should be", "shinstall revive"
	case t.Failed:
		p.State, p.Detail, p.Do = Stale, "the last pass failed", t.hint+" says what went wrong; shinstall revive tries one"
	default:
		p.State, p.Detail, p.Do = Ready, t.Manager+" runs shrevive every quarter of an hour", ""
	}
	return p
}

// timing is what was found of a timer.
type timing struct {
	ReviveFacts
	path, hint string
	off        bool
}

func (v *Revive) look(ctx context.Context) (t timing, err error) {
	k, err := v.kind()
	if err != nil {
		return t, err
	}
	l, err := readLedger(v.Data)
	if err != nil {
		return t, err
	}
	m, why := v.Manager(ctx, k)
	for _, other := range managers(k, v.Getenv) {
		paths := other.Paths()
		text, err := Read(paths[0])
		if err != nil {
			return t, err
		}
		if text == nil {
			continue
		}
		runs := paths[len(paths)-1] // the file that names the programs
		if text, err = Read(runs); err != nil {
			return t, err
		}
		t.Manager, t.Timer, t.path, t.Runs = other.Name(), true, paths[0], l.runs(runs, text)
		if m == nil || m.Name() != other.Name() {
			return t, fmt.Errorf("%s: %s", other.Name(), why)
		}
		st, err := m.State(ctx)
		t.Running, t.Failed, t.hint = st.Enabled && st.Running, st.Failed, m.LogHint()
		return t, err
	}
	if m != nil {
		t.Manager = m.Name()
	} else {
		t.Why = why
	}
	return v.lookCron(ctx, t, k, l)
}

// lookCron looks for our line in the crontab.
func (v *Revive) lookCron(ctx context.Context, t timing, k Kind, l *ledger) (timing, error) {
	c := newCron(k, v.Getenv)
	if c == nil {
		return t, nil
	}
	text, err := c.read(ctx)
	_, mine := splitCrontab(text)
	if err != nil && t.Manager != "" {
		return t, nil // who may have no crontab has no line in it
	}
	if t.Manager == "" || len(mine) > 0 {
		t.Manager, t.Why = "cron", ""
	}
	for _, line := range mine {
		t.Timer, t.hint, t.Runs = true, k.Log, l.runs(cronKey, []byte(line))
		t.off = strings.HasPrefix(strings.TrimSpace(line), "#")
		_, err := os.Stat(filepath.Dir(k.Log))
		t.Running = err == nil // or sh can't open the log, and runs nothing
	}
	return t, err
}
