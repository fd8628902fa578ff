package install

import (
	"bytes"
	"context"
	"encoding/xml"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// launchd is a user's launchd, by way of launchctl.
type launchd struct {
	Kind
	program string
	path    string
	domain  string
	log     string // of the job's words
}

func newLaunchd(program string, k Kind, getenv func(string) string) *launchd {
	l := &launchd{
		Kind: k, program: program, domain: "gui/" + uid(), log: k.Log,
		path: filepath.Join(getenv("HOME"), "Library", "LaunchAgents", k.Label+".plist"),
	}
	if l.log == "" {
		l.log = filepath.Join(getenv("HOME"), "Library", "Logs", k.Label+".log")
	}
	return l
}

func (*launchd) Name() string      { return "launchd" }
func (l *launchd) Paths() []string { return []string{l.path} }
func (l *launchd) target() string  { return l.domain + "/" + l.Label }
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

// serviceKeys are those of a job that is kept running.
const serviceKeys = `	<key>RunAtLoad</key>
	<true/>
	<key>KeepAlive</key>
	<dict>
		<key>SuccessfulExit</key>
		<false/>
	</dict>
	<key>Umask</key>
	<integer>63</integer>
`

// timerKeys are those of a job that runs every quarter of an hour. launchd ends
// what a job leaves in its process group, unless it is told not to: Claude
// Code's background service must outlive a pass.
const timerKeys = `	<key>StartInterval</key>
	<integer>900</integer>
	<key>AbandonProcessGroup</key>
	<true/>
`

// Files is the agent's property list.
func (l *launchd) Files(j Job) []File {
	var b strings.Builder
	b.WriteString(`<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<!-- ` + j.About + `; written by shinstall ` + l.Target + `, which writes it anew -->
<plist version="1.0">
<dict>
	<key>Label</key>
	<string>` + l.Label + `</string>
	<key>ProgramArguments</key>
	<array>
`)
	for _, w := range j.Argv {
		b.WriteString("\t\t<string>" + xmlText(w) + "</string>\n")
	}
	b.WriteString("\t</array>\n\t<key>EnvironmentVariables</key>\n\t<dict>\n")
	for _, kv := range j.Env {
		name, value, _ := strings.Cut(kv, "=")
		b.WriteString("\t\t<key>" + name + "</key>\n\t\t<string>" + xmlText(value) + "</string>\n")
	}
	b.WriteString("\t</dict>\n")
	outputs := []string{"StandardErrorPath"}
	if l.Timer {
		b.WriteString(timerKeys)
		outputs = []string{"StandardOutPath", "StandardErrorPath"}
	} else {
		b.WriteString(serviceKeys)
	}
	for _, key := range outputs {
		b.WriteString("\t<key>" + key + "</key>\n\t<string>" + xmlText(l.log) + "</string>\n")
	}
	b.WriteString("</dict>\n</plist>\n")
	return []File{{Path: l.path, New: []byte(b.String()), Mode: 0o644}}
}

func xmlText(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a strings.Builder takes everything
	return b.String()
}

// exitCode is how launchctl tells how a job ended last.
var exitCode = regexp.MustCompile(`(?m)^\s*last exit code = (\d+)`)

func (l *launchd) State(ctx context.Context) (st JobState, err error) {
	ok, out, err := ask(ctx, l.program, "print", l.target())
	if err != nil || !ok {
		return st, err
	}
	st = JobState{Enabled: true, Running: l.Timer || bytes.Contains(out.Stdout, []byte("state = running"))}
	if m := exitCode.FindSubmatch(out.Stdout); l.Timer && m != nil {
		code := string(m[1])
		st.Failed = code != "0" && code != exitBusy
	}
	return st, nil
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
		if l.Timer {
			return nil // it waits for its next time
		}
		return l.do(ctx, r, l.program, "kickstart", "-k", l.target())
	}
	if st.Enabled {
		if err := l.do(ctx, r, l.program, "bootout", l.target()); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, bootWait)
	defer cancel()
	for {
		err := l.do(ctx, r, l.program, "bootstrap", l.domain, l.path)
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

func (l *launchd) Stop(ctx context.Context, r *Run) error {
	st, err := l.State(ctx)
	if err != nil || !st.Enabled {
		return err
	}
	return l.do(ctx, r, l.program, "bootout", l.target())
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
