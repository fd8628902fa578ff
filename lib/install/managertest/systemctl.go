package managertest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Systemctl plays systemctl --user. A unit counts as it was at the last
// daemon-reload, as with the real one.
func Systemctl(p Process) int {
	if len(p.Args) < 2 || p.Args[0] != "--user" {
		return p.fail(1, "Unknown command verb '%s'.", strings.Join(p.Args, " "))
	}
	if p.dir() == "" {
		return p.fail(1, "Failed to connect to bus: No medium found")
	}
	verb, rest := p.Args[1], p.Args[2:]
	if verb == p.Getenv("FAKE_MANAGER_FAIL") {
		return p.fail(1, "Failed to %s unit: Access denied", verb)
	}
	switch verb {
	case "show-environment":
		fmt.Fprintln(p.Stdout, "HOME="+p.Getenv("HOME"))
		return 0
	case "daemon-reload":
		return p.reload(rest)
	case "is-enabled", "is-active", "is-failed":
		if len(rest) != 2 || rest[0] != "--quiet" {
			return p.fail(1, "Too few arguments.")
		}
		rest = rest[1:]
	case "disable":
		if len(rest) != 2 || rest[0] != "--now" {
			return p.fail(1, "Too few arguments.")
		}
		rest = rest[1:]
	}
	if len(rest) != 1 || strings.HasPrefix(rest[0], "-") {
		return p.fail(1, "Too few arguments.")
	}
	return p.unit(verb, rest[0])
}

func (p Process) units() string { return filepath.Join(p.Getenv("HOME"), ".config", "systemd", "user") }

func (p Process) reload(args []string) int {
	if len(args) > 0 {
		return p.fail(1, "Too many arguments.")
	}
	for _, pattern := range []string{"*.service", "*.timer"} {
		list, err := filepath.Glob(p.file(pattern))
		if err != nil {
			return p.fail(1, "%v", err)
		}
		for _, f := range list {
			os.Remove(f)
		}
		list, err = filepath.Glob(filepath.Join(p.units(), pattern))
		if err != nil {
			return p.fail(1, "%v", err)
		}
		for _, f := range list {
			b, err := os.ReadFile(f)
			if err == nil {
				err = os.WriteFile(p.file(filepath.Base(f)), b, 0o600)
			}
			if err != nil {
				return p.fail(1, "%v", err)
			}
		}
	}
	return 0
}

func isTimer(name string) bool { return filepath.Ext(name) == ".timer" }

func (p Process) unit(verb, name string) int {
	target := "default.target"
	if isTimer(name) {
		target = "timers.target"
	}
	wanted := filepath.Join(p.units(), target+".wants", name)
	switch verb {
	case "is-enabled":
		if _, err := os.Lstat(wanted); err != nil {
			return 1
		}
		return 0
	case "is-active":
		if p.pid(name) == 0 && !p.has(name+".waits") {
			return 3
		}
		return 0
	case "is-failed":
		if !p.has(name + ".failed") {
			return 1
		}
		return 0
	case "enable":
		return p.enable(name, target, wanted)
	case "restart":
		return p.restart(name)
	case "start":
		return p.once(name)
	case "disable":
		return p.disable(name, wanted)
	}
	return p.fail(1, "Unknown command verb '%s'.", verb)
}

func (p Process) enable(name, target, wanted string) int {
	unit := filepath.Join(p.units(), name)
	text, err := os.ReadFile(unit)
	if err != nil {
		return p.fail(1, "Failed to enable unit: Unit file %s does not exist.", name)
	}
	if !strings.Contains(string(text), "\nWantedBy="+target+"\n") {
		return p.fail(1, "The unit files have no installation config (WantedBy=, RequiredBy=, UpheldBy=, Also=, or Alias= settings in the [Install] section).")
	}
	if _, err := os.Lstat(wanted); err == nil {
		return 0
	}
	if err := os.MkdirAll(filepath.Dir(wanted), 0o755); err != nil {
		return p.fail(1, "%v", err)
	}
	if err := os.Symlink(unit, wanted); err != nil {
		return p.fail(1, "%v", err)
	}
	fmt.Fprintf(p.Stderr, "Created symlink %s → %s.\n", wanted, unit)
	return 0
}

func (p Process) disable(name, wanted string) int {
	if _, err := os.Stat(filepath.Join(p.units(), name)); err != nil {
		return p.fail(1, "Failed to disable unit: Unit file %s does not exist.", name)
	}
	if err := p.end(name); err != nil {
		return p.fail(1, "%v", err)
	}
	os.Remove(p.file(name + ".waits")) // a service has none
	if err := os.Remove(wanted); err == nil {
		fmt.Fprintf(p.Stderr, "Removed %q.\n", wanted)
		os.Remove(filepath.Dir(wanted)) // if nothing else is in it
	}
	return 0
}

// load is a unit as it was at the last reload.
func (p Process) load(verb, name string) (u Unit, code int) {
	b, err := os.ReadFile(p.file(name))
	if err != nil {
		return u, p.fail(5, "Failed to %s %s: Unit %s not found.", verb, name, name)
	}
	if u, err = ParseUnit(string(b)); err != nil {
		return u, p.fail(1, "Failed to %s %s: Unit %s has a bad unit file setting: %v", verb, name, name, err)
	}
	return u, 0
}

func (p Process) restart(name string) int {
	u, code := p.load("restart", name)
	if code != 0 {
		return code
	}
	if isTimer(name) {
		if _, code := p.load("restart", strings.TrimSuffix(name, ".timer")+".service"); code != 0 {
			return code
		}
		if err := os.WriteFile(p.file(name+".waits"), nil, 0o600); err != nil {
			return p.fail(1, "%v", err)
		}
		return 0
	}
	if err := p.end(name); err != nil {
		return p.fail(1, "%v", err)
	}
	if err := p.start(job{name: name, argv: u.Argv, env: u.Env, log: p.file("journal")}); err != nil {
		return p.fail(1, "Job for %s failed: %v", name, err)
	}
	return 0
}

// once runs a service of type oneshot to its end, as its timer does.
func (p Process) once(name string) int {
	u, code := p.load("start", name)
	if code != 0 {
		return code
	}
	if u.Type != "oneshot" {
		return p.fail(1, "Failed to start %s: only those of a timer are played.", name)
	}
	code, err := p.pass(job{name: name, argv: u.Argv, env: u.Env, log: p.file("journal")})
	if err != nil {
		return p.fail(1, "Job for %s failed: %v", name, err)
	}
	if code == 0 || slices.Contains(u.Success, strconv.Itoa(code)) {
		os.Remove(p.file(name + ".failed")) // there is none after a good one
		return 0
	}
	if err := os.WriteFile(p.file(name+".failed"), nil, 0o600); err != nil {
		return p.fail(1, "%v", err)
	}
	return p.fail(1, "Job for %s failed because the control process exited with error code.", name)
}

// Unit is what a unit file says of its service, or of its timer.
type Unit struct {
	Argv     []string
	Env      []string
	Type     string
	KillMode string
	Success  []string // exit statuses besides 0
	Calendar string   // of a timer
}

// ParseUnit reads a unit by the rules of systemd.syntax(7) and
// systemd.service(5), as far as one word or more in quotes go.
func ParseUnit(text string) (u Unit, err error) {
	section := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch key, value, _ := strings.Cut(line, "="); {
		case line == "" || line[0] == '#' || line[0] == ';':
		case line[0] == '[':
			section = line
		case section == "[Service]" && key == "ExecStart":
			if u.Argv, err = words(value); err != nil {
				return u, err
			}
			for i := range u.Argv {
				if u.Argv[i], err = expand(u.Argv[i], i > 0); err != nil {
					return u, err
				}
			}
		case section == "[Service]" && key == "Type":
			u.Type = value
		case section == "[Service]" && key == "KillMode":
			u.KillMode = value
		case section == "[Service]" && key == "SuccessExitStatus":
			u.Success = strings.Fields(value)
		case section == "[Timer]" && key == "OnCalendar":
			u.Calendar = value
		case section == "[Service]" && key == "Environment":
			list, err := words(value)
			if err != nil {
				return u, err
			}
			for _, w := range list {
				if w, err = expand(w, false); err != nil {
					return u, err
				}
				u.Env = append(u.Env, w)
			}
		}
	}
	if u.Calendar != "" {
		return u, nil
	}
	if len(u.Argv) == 0 || !filepath.IsAbs(u.Argv[0]) {
		return u, fmt.Errorf("ExecStart %q names no absolute path", u.Argv)
	}
	return u, nil
}

// words splits a value at blanks outside of quotes, and takes quotes and
// backslashes away.
func words(s string) (list []string, err error) {
	var word strings.Builder
	open, quote := false, byte(0)
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '\\':
			if i++; i == len(s) || !strings.ContainsRune(`\"'`, rune(s[i])) {
				return nil, fmt.Errorf("a backslash before something else in %q", s)
			}
			word.WriteByte(s[i])
			open = true
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '"' || c == '\''):
			quote, open = c, true
		case quote == 0 && (c == ' ' || c == '\t'):
			if open {
				list, open = append(list, word.String()), false
				word.Reset()
			}
		default:
			word.WriteByte(c)
			open = true
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("a quote is open in %q", s)
	}
	if open {
		list = append(list, word.String())
	}
	return list, nil
}

// expand resolves "%%" and, where variables are, "$$". Others are not used, and
// so are mistakes.
func expand(w string, variables bool) (string, error) {
	var out strings.Builder
	for i := 0; i < len(w); i++ {
		c := w[i]
		out.WriteByte(c)
		if c != '%' && (c != '$' || !variables) {
			continue
		}
		if i++; i == len(w) || w[i] != c {
			return "", fmt.Errorf("%q has a single %q", w, c)
		}
	}
	return out.String(), nil
}
