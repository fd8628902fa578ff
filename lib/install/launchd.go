package install

import (
	"bytes"
	"context"
	"encoding/xml"
	"fmt"
	"path/filepath"
	"strings"
	"time"
)

// agentLabel is the hub's name at launchd.
const agentLabel = "sessionhub.hub"

// launchd is a user's launchd, by way of launchctl.
type launchd struct {
	program string
	path    string
	domain  string
	log     string // of the job's standard error
}

func newLaunchd(program string, getenv func(string) string) *launchd {
	return &launchd{
		program: program, domain: "gui/" + uid(),
		path: filepath.Join(getenv("HOME"), "Library", "LaunchAgents", agentLabel+".plist"),
		log:  filepath.Join(getenv("HOME"), "Library", "Logs", agentLabel+".log"),
	}
}

func (*launchd) Name() string      { return "launchd" }
func (l *launchd) Path() string    { return l.path }
func (l *launchd) target() string  { return l.domain + "/" + agentLabel }
func (l *launchd) LogHint() string { return l.log }

// reach says why the user's domain can't be spoken to: there is none without a
// login at the screen.
func (l *launchd) reach(ctx context.Context) error {
	ok, out, err := ask(ctx, l.program, "print", l.domain)
	switch {
	case err != nil:
		return err
	case !ok:
		return fmt.Errorf("launchd has no domain %s (%s): nobody is logged in at the screen", l.domain, out.Line())
	}
	return nil
}

// Text is the agent's property list.
func (l *launchd) Text(j Job) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString(`<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<!-- ` + j.About + `; written by shinstall hub, which writes it anew -->
<plist version="1.0">
<dict>
	<key>Label</key>
	<string>` + agentLabel + `</string>
	<key>ProgramArguments</key>
	<array>
`)
	for _, w := range j.Argv {
		b.WriteString("\t\t<string>" + xmlText(w) + "</string>\n")
	}
	b.WriteString(`	</array>
	<key>EnvironmentVariables</key>
	<dict>
		<key>PATH</key>
		<string>` + xmlText(jobPath(j.Argv[0])) + `</string>
	</dict>
	<key>RunAtLoad</key>
	<true/>
	<key>KeepAlive</key>
	<dict>
		<key>SuccessfulExit</key>
		<false/>
	</dict>
	<key>Umask</key>
	<integer>63</integer>
	<key>StandardErrorPath</key>
	<string>` + xmlText(l.log) + `</string>
</dict>
</plist>
`)
	return b.Bytes(), nil
}

func xmlText(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a strings.Builder takes everything
	return b.String()
}

func (l *launchd) State(ctx context.Context) (st JobState, err error) {
	ok, out, err := ask(ctx, l.program, "print", l.target())
	if err != nil || !ok {
		return st, err
	}
	return JobState{Enabled: true, Running: bytes.Contains(out.Stdout, []byte("state = running"))}, nil
}

const (
	// bootWait bounds how long launchd may still be busy with the job's former
	// life: bootout returns before that has ended.
	bootWait  = 10 * time.Second
	bootEvery = 200 * time.Millisecond
)

func (l *launchd) Start(ctx context.Context, r *Run, fresh bool) error {
	st, err := l.State(ctx)
	if err != nil {
		return err
	}
	if st.Enabled && !fresh {
		return l.Restart(ctx, r)
	}
	if st.Enabled {
		if err := do(ctx, r, l.program, "bootout", l.target()); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, bootWait)
	defer cancel()
	for {
		err := do(ctx, r, l.program, "bootstrap", l.domain, l.path)
		if err == nil || !st.Enabled {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(bootEvery):
		}
	}
}

func (l *launchd) Restart(ctx context.Context, r *Run) error {
	return do(ctx, r, l.program, "kickstart", "-k", l.target())
}

func (l *launchd) Stop(ctx context.Context, r *Run) error {
	st, err := l.State(ctx)
	if err != nil || !st.Enabled {
		return err
	}
	return do(ctx, r, l.program, "bootout", l.target())
}

// Removed takes the log away, which launchd made. Launchd itself forgot the job
// when that was taken out.
func (l *launchd) Removed(_ context.Context, r *Run) error {
	old, err := Read(l.log)
	if err != nil || old == nil {
		return err
	}
	return r.Write("log", File{Path: l.log, Old: old, Secret: true})
}

// Notes has nothing to tell: an agent runs while its user is logged in, which
// is what launchd's users expect.
func (*launchd) Notes(context.Context, *Run) {}
