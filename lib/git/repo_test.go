package git

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestSameRemote(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"https://user:pw@Example.org/a/b.git", "git@example.org:a/b", true},
		{"ssh://git@example.org:22/a/b/", "https://example.org/a/b.git", true},
		{"git://example.org/a/b", "HTTPS://EXAMPLE.ORG/a/b", true},
		{"example.org:/a/b.git", "https://example.org/a/b", true},
		{"file:///srv/git/x.git", "/srv/git/x", true},
		{"https://example.org/a/B", "https://example.org/a/b", false},
		{"https://example.org:8443/a/b", "https://example.org/a/b", false},
		{"https://example.org/a/b", "https://example.com/a/b", false},
		{"/srv/git/x", "/srv/git/y", false},
		{"", "", false},
	} {
		if got := SameRemote(c.a, c.b); got != c.same {
			t.Errorf("SameRemote(%q, %q) = %v", c.a, c.b, got)
		}
	}
}

func TestQuote(t *testing.T) {
	for path, want := range map[string]string{
		"a b/c": "a b/c", "ü": "ü", "new\nline": "new\nline", "caf\xe9": `"caf\351"`, `"x"`: `"\"x\""`, "a\xff\t\\": `"a\377\011\\"`,
	} {
		if got := Quote(path); got != want {
			t.Errorf("Quote(%q) = %q, want %q", path, got, want)
		}
	}
	for _, bad := range []string{`"`, `"a`, `"a"b"`, `"\9"`, `"\40"`, `"\477"`, `"a\"`} {
		if got, err := Unquote(bad); err == nil {
			t.Errorf("Unquote(%q) = %q", bad, got)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		path := string(rapid.SliceOf(rapid.Byte()).Draw(t, "path"))
		if got, err := Unquote(Quote(path)); err != nil || got != path {
			t.Fatalf("%q became %q: %v", path, got, err)
		}
	})
}

// Git's messages name remotes with what its owner put into the URL.
func TestMessageHasNoSecrets(t *testing.T) {
	got := Message("hint: x\nfatal: unable to access 'https://u:p@ss@example.org/a/': \x1b[31mno\x1b[m and http://t@h x\n")
	if want := "unable to access 'https://example.org/a/': no and http://h x"; got != want {
		t.Errorf("got %q", got)
	}
}

func TestRepoIsItsOwn(t *testing.T) {
	dir := t.TempDir()
	gitIn(t, dir, "init", "-q", "-b", "main")
	t.Setenv("GIT_DIR", filepath.Join(dir, "elsewhere"))
	t.Setenv("GIT_INDEX_FILE", filepath.Join(dir, "elsewhere"))
	got, err := Repo{Dir: dir}.Line(context.Background(), "rev-parse", "--git-dir")
	if err != nil || got != ".git" {
		t.Errorf("git dir %q, %v", got, err)
	}
	_, err = Repo{Dir: dir}.Out(context.Background(), "rev-parse", "--verify", "HEAD")
	var e *Error
	if !errors.As(err, &e) || e.Verb != "rev-parse" || !Exited(err, 128) || !strings.Contains(err.Error(), "Needed a single revision") {
		t.Errorf("error: %v", err)
	}
}

// Field report A41: ssh waited for a passphrase that nobody was asked for.
func TestA41NobodyIsAsked(t *testing.T) {
	dir := t.TempDir()
	gitIn(t, dir, "init", "-q")
	gitIn(t, dir, "remote", "add", "origin", "ssh://example.invalid/x")
	said := filepath.Join(dir, "said")
	fake := filepath.Join(dir, "my ssh")
	script := "#!/bin/sh\necho \"$@ tty=$GIT_TERMINAL_PROMPT ask=$GIT_ASKPASS.\" >>'" + said + "'\nexit 1\n"
	if err := os.WriteFile(fake, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	gitIn(t, dir, "config", "core.sshCommand", "'"+fake+"' -v")
	if err := (Repo{Dir: dir}).Pipe(context.Background(), nil, nil, "fetch", "origin"); err == nil {
		t.Fatal("fetched from nowhere")
	}
	b, err := os.ReadFile(said)
	if err != nil || !strings.Contains(string(b), "-v -o BatchMode=yes") || !strings.Contains(string(b), "tty=0 ask=.") {
		t.Errorf("ssh was called with %q, %v", b, err)
	}
}

func TestRepoStopsInTime(t *testing.T) {
	dir := t.TempDir()
	gitIn(t, dir, "init", "-q")
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	if err := (Repo{Dir: dir}).Pipe(ctx, r, nil, "hash-object", "--stdin"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}
