package managertest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"strings"
)

// Crontab plays vixie cron's crontab, for one user: -l, -r and FILE.
func Crontab(p Process) int {
	path := p.Getenv("FAKE_CRONTAB")
	if len(p.Args) != 1 || path == "" {
		return p.fail(1, "crontab: usage error: file name must be specified for replace")
	}
	if p.Args[0] == p.Getenv("FAKE_MANAGER_FAIL") {
		return p.fail(1, "You (%s) are not allowed to use this program (crontab)", userName())
	}
	switch p.Args[0] {
	case "-l":
		b, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return p.fail(1, "no crontab for %s", userName())
		}
		if err != nil {
			return p.fail(1, "crontab: %v", err)
		}
		p.Stdout.Write(b)
		return 0
	case "-r":
		if err := os.Remove(path); err != nil {
			return p.fail(1, "no crontab for %s", userName())
		}
		return 0
	}
	b, err := os.ReadFile(p.Args[0])
	if err != nil {
		return p.fail(1, "%s: No such file or directory", p.Args[0])
	}
	if len(b) > 0 && b[len(b)-1] != '\n' {
		return p.fail(1, "new crontab file is missing newline before EOF, can't install.")
	}
	for i, line := range strings.Split(string(b), "\n") {
		if _, _, err := CronEntry(line); err != nil {
			return p.fail(1, "%q:%d: %v\nerrors in crontab file, can't install.", p.Args[0], i, err)
		}
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		return p.fail(1, "crontab: %v", err)
	}
	return 0
}

func userName() string {
	u, err := user.Current()
	if err != nil {
		return "nobody"
	}
	return u.Username
}

// maxCommand is MAX_COMMAND of vixie cron: a longer one is cut.
const maxCommand = 1000

// CronEntry reads a line as crontab(5) has it: when, and the command for sh. Both
// are "" for a comment and for a setting.
func CronEntry(line string) (when, command string, err error) {
	line = strings.TrimLeft(line, " \t")
	if line == "" || line[0] == '#' {
		return "", "", nil
	}
	rest := line
	for range 5 {
		field, tail, ok := strings.Cut(strings.TrimLeft(rest, " \t"), " ")
		if strings.Trim(field, "0123456789*,-/") != "" || !ok {
			if name, _, setting := strings.Cut(line, "="); setting && !strings.ContainsAny(strings.TrimSpace(name), " \t") {
				return "", "", nil
			}
			return "", "", errors.New("bad minute")
		}
		when += field + " "
		rest = tail
	}
	if len(rest) >= maxCommand {
		return "", "", errors.New("command too long")
	}
	var b strings.Builder
	for i := 0; i < len(rest); i++ {
		switch c := rest[i]; {
		case c == '\\' && i+1 < len(rest) && rest[i+1] == '%':
			i++
			b.WriteByte('%')
		case c == '%': // what follows is the standard input
			return strings.TrimSpace(when), b.String(), nil
		default:
			b.WriteByte(c)
		}
	}
	return strings.TrimSpace(when), b.String(), nil
}

// Cron runs the lines of a crontab that name a text, as cron does at their time,
// and returns when each is due.
func Cron(p Process, text string) (when []string, err error) {
	b, err := os.ReadFile(p.Getenv("FAKE_CRONTAB"))
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(b)) {
		at, command, err := CronEntry(strings.TrimSuffix(line, "\n"))
		if err != nil {
			return when, err
		}
		if command == "" || !strings.Contains(command, text) {
			continue
		}
		when = append(when, at)
		cmd := exec.Command("/bin/sh", "-c", command)
		cmd.Env, cmd.Dir = []string{"HOME=" + p.Getenv("HOME"), "LOGNAME=" + userName(), "SHELL=/bin/sh", "PATH=/usr/bin:/bin"}, p.Getenv("HOME")
		cmd.Stdout, cmd.Stderr = p.Stdout, p.Stderr
		if err := cmd.Run(); err != nil {
			return when, fmt.Errorf("%s: %w", command, err)
		}
	}
	return when, nil
}
