package install

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"

	"sessionhub/lib/config"
	"sessionhub/lib/hub/hubtest"
	"sessionhub/lib/hub/store"
)

// Whatever a person's file says, it says the same with our lines, and is the same
// without them.
func TestConfFileKeepsWhatIsThere(t *testing.T) {
	lines := []string{
		"# a comment", "", "  ", `machine = "tower"`, `notify=false`, `move_roots = ["a", "b"] # roots`, "herdr_sockets = [\n  \"x\",\n]",
		`claude_home = '''` + "\nserver_url = \"not a key\"\n'''", `"server_url" = "http://old" # here`, "\tserver_url = 'http://old'",
	}
	rapid.Check(t, func(t *rapid.T) {
		var text string
		for _, l := range rapid.Permutation(lines).Draw(t, "lines")[:rapid.IntRange(0, len(lines)).Draw(t, "n")] {
			text += l + rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "end")
		}
		if rapid.Bool().Draw(t, "cut") {
			text = strings.TrimRight(text, "\r\n")
		}
		c := confFile{path: "config.toml", text: []byte(text)}
		var err error
		if c.set, err = decodeConf(c.text); err != nil {
			return // two of one key
		}
		set := []setting{{"server_url", "http://new\"\\"}, {"allow_http", true}}
		got, block, err := c.with("# us", set...)
		if err != nil {
			if strings.Contains(text, "not a key") && strings.Contains(text, "http://old") {
				return // a line within a text looks the same: refused, not guessed
			}
			t.Fatalf("%q: %v", text, err)
		}
		want, err := decodeConf([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		want["server_url"], want["allow_http"] = "http://new\"\\", true
		if have, err := decodeConf(got); err != nil || !reflect.DeepEqual(have, want) {
			t.Fatalf("%q became %q: %v", text, got, err)
		}
		rest, ok := bytes.CutPrefix(got, []byte(block))
		if _, there := c.set["server_url"]; ok && !there && string(rest) != text {
			t.Fatalf("%q became %q, and without %q it is %q", text, got, block, rest)
		}
		c.text, c.set = got, want
		if again, _, err := c.with("# us", set...); err != nil || !bytes.Equal(again, got) {
			t.Fatalf("%q: once more: %q, %v", got, again, err)
		}
	})
}

func TestConfFileTakesOnlyToml(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.toml")
	write(t, path, "a = \nb", 0o600)
	if _, err := readConf(path); err == nil || !strings.Contains(err.Error(), "config.toml: ") || !strings.Contains(err.Error(), "nothing was changed") {
		t.Errorf("%v", err)
	}
}

// joinRig is a machine that joins the hub of a test.
type joinRig struct {
	*Join
	hub  *hubtest.Hub
	home string
	code string
}

func newJoin(t *testing.T) *joinRig {
	t.Helper()
	r := &joinRig{hub: hubtest.Start(t), home: t.TempDir()}
	getenv := func(key string) string { return map[string]string{"HOME": r.home}[key] }
	conf, err := config.Load(getenv)
	if err != nil {
		t.Fatal(err)
	}
	conf.Machine = "laptop"
	r.Join = &Join{URL: r.hub.URL, Account: &Account{Conf: conf, Path: config.Path(getenv), Data: filepath.Join(r.home, ".local", "share", "sessionhub")},
		Code: func(context.Context) (string, error) { return r.code, nil }}
	return r
}

func (r *joinRig) pair(t *testing.T, p store.Pairing) {
	t.Helper()
	var err error
	if r.code, _, err = r.hub.Store().AddPairing(t.Context(), p, time.Now()); err != nil {
		t.Fatal(err)
	}
}

func (r *joinRig) join(fault func(string) error) (*steps, error) {
	run, s := recorder()
	run.fault = fault
	return s, r.Install(context.Background(), run)
}

// A disk that is full at any write: an error that says what to do, no token in
// it, and the next run ends well.
func TestJoinOnAFullDisk(t *testing.T) {
	for n := 0; ; n++ {
		r := newJoin(t)
		r.pair(t, store.Pairing{User: "me", Scopes: []string{"read"}})
		left := n
		s, err := r.join(func(path string) error {
			if left--; left == -1 {
				return &os.PathError{Op: "write", Path: path, Err: syscall.ENOSPC}
			}
			return nil
		})
		if err == nil {
			if n < 4 {
				t.Fatalf("only %d writes", n)
			}
			return // every write was tried
		}
		if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "(the code is used up: shhub pair --machine laptop on the hub's machine makes one more)") {
			t.Errorf("write %d: %v", n, err)
		}
		if strings.Contains(err.Error()+s.all(), "shm_") {
			t.Errorf("write %d: a token is told: %v\n%s", n, err, s.all())
		}
		r.pair(t, store.Pairing{Machine: "laptop", User: "me", Scopes: []string{"read"}})
		if s, err := r.join(nil); err != nil || !strings.Contains(s.all(), "takes this machine for laptop") {
			t.Errorf("write %d, then: %v\n%s", n, err, s.all())
		}
	}
}

// Without a user's token the code gives, and shctl needs, one.
func TestJoinWithoutAUserToken(t *testing.T) {
	r := newJoin(t)
	r.pair(t, store.Pairing{})
	s, err := r.join(nil)
	if err != nil || !strings.Contains(s.all(), "shhub pair --user NAME gives one") {
		t.Errorf("%v\n%s", err, s.all())
	}
	if _, err := os.Stat(r.Account.Conf.UserTokenFile); err == nil {
		t.Error("a user's token was written")
	}
}

// The hub goes while the person types the code.
func TestJoinWhileTheHubGoes(t *testing.T) {
	r := newJoin(t)
	r.Code = func(context.Context) (string, error) { r.hub.Down(); return "x", nil }
	if _, err := r.join(nil); err == nil || !strings.Contains(err.Error(), "is out of reach") {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(r.Account.Path); err == nil {
		t.Error("config.toml was written")
	}
}

// The files of a person who can't write there are told of before a code is used up.
func TestJoinWhereNothingCanBeWritten(t *testing.T) {
	if asNobody(t) {
		return
	}
	r := newJoin(t)
	dir := filepath.Dir(r.Account.Path)
	mkdir(t, dir)
	if err := os.Chmod(dir, 0o555); err != nil {
		t.Fatal(err)
	}
	r.Code = func(context.Context) (string, error) { t.Error("a code was asked for"); return "", nil }
	if _, err := r.join(nil); !errors.Is(err, syscall.EACCES) {
		t.Errorf("%v", err)
	}
}

// A ledger that makes no sense takes nothing for its own.
func TestLedgerThatMakesNoSense(t *testing.T) {
	r := newJoin(t)
	path := filepath.Join(r.Account.Data, ledgerName)
	mkdir(t, filepath.Dir(path))
	write(t, path, "{", 0o600)
	if _, err := r.join(nil); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("%v", err)
	}
}

// Tokens and config.toml that a person wrote are not taken away.
func TestJoinRemovesNothingOfAPersons(t *testing.T) {
	r := newJoin(t)
	for path, text := range map[string]string{r.Account.Path: "server_url = \"" + r.hub.URL + "\"\nmachine = \"tower\"\n", r.Account.Conf.TokenFile: r.hub.MachineToken + "\n"} {
		mkdir(t, filepath.Dir(path))
		write(t, path, text, 0o600)
	}
	r.Account.Conf.Machine = "tower"
	if s, err := r.join(nil); err != nil || !strings.Contains(s.all(), "takes this machine for tower") {
		t.Fatalf("%v\n%s", err, s.all())
	}
	run, s := recorder()
	if err := r.Remove(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{r.Account.Path, r.Account.Conf.TokenFile} {
		if _, err := os.Stat(path); err != nil {
			t.Errorf("%v\n%s", err, s.all())
		}
	}
	// One that was changed since is not, either.
	if err := os.Remove(r.Account.Path); err != nil {
		t.Fatal(err)
	}
	r.Account.Conf.Machine = "laptop"
	r.pair(t, store.Pairing{})
	if _, err := r.join(nil); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(r.Account.Path, os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = fmt.Fprintln(f, "notify = false")
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	run, s = recorder()
	if err := r.Remove(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(r.Account.Path); err != nil || !strings.Contains(s.all(), "was changed since shinstall wrote it, and stays") {
		t.Errorf("%v\n%s", err, s.all())
	}
	if _, err := os.Stat(r.Account.Conf.TokenFile); err == nil {
		t.Error("the token that was written by join stays")
	}
}
