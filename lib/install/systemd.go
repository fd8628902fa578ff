package install

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
)

// unitName is the hub's unit.
const unitName = "sessionhub.service"

// systemd is a user's systemd, by way of systemctl.
type systemd struct {
	program string
	path    string
	getenv  func(string) string
}

func newSystemd(program string, getenv func(string) string) *systemd {
	dir := getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(getenv("HOME"), ".config")
	}
	return &systemd{program: program, path: filepath.Join(dir, "systemd", "user", unitName), getenv: getenv}
}

func (*systemd) Name() string    { return "systemd" }
func (s *systemd) Path() string  { return s.path }
func (*systemd) LogHint() string { return "journalctl --user -u " + unitName }

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

// Text is the unit. Restart: a hub that crashed comes back; one whose arguments
// are wrong (64 and 78 of sysexits) would only fail again.
func (s *systemd) Text(j Job) ([]byte, error) {
	var words []string
	for i, w := range j.Argv {
		words = append(words, unitWord(w, i > 0))
	}
	return fmt.Appendf(nil, `# written by shinstall hub, which writes it anew; put changes of your own into a drop-in (systemctl --user edit)
[Unit]
Description=%s
Documentation=man:shhub(1)

[Service]
ExecStart=%s
Environment=%s
UMask=0077
Restart=on-failure
RestartSec=2
RestartPreventExitStatus=64 78

[Install]
WantedBy=default.target
`, j.About, strings.Join(words, " "), unitWord("PATH="+jobPath(j.Argv[0]), false)), nil
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
	if st.Enabled, _, err = ask(ctx, s.program, "--user", "is-enabled", "--quiet", unitName); err != nil {
		return st, err
	}
	st.Running, _, err = ask(ctx, s.program, "--user", "is-active", "--quiet", unitName)
	return st, err
}

func (s *systemd) Start(ctx context.Context, r *Run, fresh bool) error {
	if fresh {
		if err := do(ctx, r, s.program, "--user", "daemon-reload"); err != nil {
			return err
		}
	}
	if err := do(ctx, r, s.program, "--user", "enable", unitName); err != nil {
		return err
	}
	return do(ctx, r, s.program, "--user", "restart", unitName)
}

func (s *systemd) Restart(ctx context.Context, r *Run) error {
	return do(ctx, r, s.program, "--user", "restart", unitName)
}

func (s *systemd) Stop(ctx context.Context, r *Run) error {
	return do(ctx, r, s.program, "--user", "disable", "--now", unitName)
}

func (s *systemd) Removed(ctx context.Context, r *Run) error {
	return do(ctx, r, s.program, "--user", "daemon-reload")
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
	r.Note("linger", "the hub ends when you log out, and starts when you log in: loginctl enable-linger lets it run on")
}
