package install

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sessionhub/lib/install/managertest"
)

func newLine(t interface{ Fatal(...any) }, log string, j Job) string {
	c := &cron{Kind: ReviveKind(log), home: "/h o%me"}
	line, err := c.line(j)
	if err != nil {
		t.Fatal(err)
	}
	return line
}

// What cron and sh make of the line is what was meant, whatever the words.
func TestCronLineSaysWhatIsMeant(t *testing.T) {
	log := filepath.Join(t.TempDir(), "it's 100% $log")
	rapid.Check(t, func(t *rapid.T) {
		words := []string{word(t, "1"), word(t, "2"), word(t, "path")}
		j := Job{Argv: []string{"/bin/sh", "-c", `printf '<%s>' "$HOME" "$X" "$@"`, "sh", words[0], words[1]}, Env: []string{"PATH=/usr/bin:/bin", "X=" + words[2]}}
		when, command, err := managertest.CronEntry(newLine(t, log, j))
		if err != nil || when != cronTimes {
			t.Fatalf("%q, %v", when, err)
		}
		os.Remove(log)
		cmd := exec.Command("/bin/sh", "-c", command)
		cmd.Env = []string{"HOME=/wrong"}
		if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
			t.Fatalf("%s: %v, %s", command, err, out)
		}
		got, err := os.ReadFile(log)
		want := "</h o%me><" + words[2] + "><" + words[0] + "><" + words[1] + ">"
		if err != nil || string(got) != want {
			t.Fatalf("%v, %q, want %q: %s", err, got, want, command)
		}
	})
}

func TestCronLineThatCronCannotTake(t *testing.T) {
	c := &cron{Kind: ReviveKind("/log")}
	if _, err := c.line(Job{Argv: []string{"/" + strings.Repeat("x", 1000)}}); err == nil || !strings.Contains(err.Error(), "cron takes 980: shorter paths are wanted") {
		t.Error(err)
	}
	if _, err := c.line(Job{Argv: []string{"/x\n* * * * * evil"}}); err == nil || !strings.Contains(err.Error(), "characters that no settings file takes") {
		t.Error(err)
	}
}

// checkCrontab holds the editing to what it promises of any crontab.
func checkCrontab(t interface{ Fatalf(string, ...any) }, text []byte, a, b string) {
	rest, mine := splitCrontab(text)
	with := withLine(text, a)
	if r, m := splitCrontab(with); !bytes.Equal(r, rest) || len(m) != 1 || m[0] != a {
		t.Fatalf("%q became %q", text, with)
	}
	if again := withLine(with, a); !bytes.Equal(again, with) {
		t.Fatalf("%q became %q, and then %q", text, with, again)
	}
	if other := withLine(with, b); !bytes.Equal(other, bytes.Replace(with, []byte(a), []byte(b), 1)) {
		t.Fatalf("%q became %q", with, other)
	}
	if len(mine) == 0 && !bytes.Equal(rest, text) {
		t.Fatalf("%q lost something: %q", text, rest)
	}
}

func FuzzCrontab(f *testing.F) {
	for _, s := range []string{
		"", "\n", "a", "a\n", "a\n\n", "\r\n", "# x\n5 * * * * date +\\%s\n* * * * * y", "7 * * * * x" + cronMark, "x" + cronMark + " \r\na\ny" + cronMark + "\n", cronMark, "x # by shinstall revive too\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) { checkCrontab(t, text, "one"+cronMark, "two"+cronMark) })
}

// What crontab says where there is none, and what must not be taken for that.
func TestCrontabIsRead(t *testing.T) {
	for _, c := range []struct {
		name, script string
		want         []byte
		err          string
	}{
		{"vixie's none", "echo 'no crontab for dev' >&2; exit 1", nil, ""},
		{"macOS's none", "echo 'crontab: no crontab for dev' >&2; exit 1", nil, ""},
		{"busybox's none", `echo "crontab: can't open 'dev': No such file or directory" >&2; exit 1`, nil, ""},
		{"an empty one", "exit 0", []byte{}, ""},
		{"one without an end", "printf 'a\\nb'", []byte("a\nb"), ""},
		{"not allowed", "echo 'You (dev) are not allowed to use this program (crontab)' >&2; exit 1", nil, "are not allowed"},
		{"no reason", "exit 3", nil, "exit 3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "crontab")
			write(t, path, "#!/bin/sh\n"+c.script+"\n", 0o755)
			got, err := (&cron{program: path}).read(t.Context())
			if !bytes.Equal(got, c.want) || (got == nil) != (c.want == nil) || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}

// A crontab that somebody else changes meanwhile is not written over.
func TestCrontabThatChangesMeanwhile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "crontab")
	write(t, path, "#!/bin/sh\n[ \"$1\" = -l ] || exit 9\necho x >> "+dir+"/calls; cat "+dir+"/calls\n", 0o755)
	b, err := openBooks(dir, "revive")
	if err != nil {
		t.Fatal(err)
	}
	r, s := recorder()
	err = (&cron{Kind: ReviveKind("/log"), program: path, home: "/h"}).put(t.Context(), r, b, Job{Argv: []string{"/x", claudeFlag, "/y"}})
	if err == nil || err.Error() != "the crontab "+ErrChanged.Error() {
		t.Errorf("%v\n%s", err, s.all())
	}
}
