package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func env(home string, more ...string) func(string) string {
	m := map[string]string{"HOME": home}
	for i := 0; i+1 < len(more); i += 2 {
		m[more[i]] = more[i+1]
	}
	return func(k string) string { return m[k] }
}

func write(t *testing.T, home, content string) {
	t.Helper()
	dir := filepath.Join(home, ".config", "sessionhub")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "config.toml"), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestDefaultsWithoutAFile(t *testing.T) {
	home := t.TempDir()
	c, err := Load(env(home))
	if err != nil {
		t.Fatal(err)
	}
	if !c.RemoteStart || !c.Notify || c.RemoteAnswer || c.Machine == "" || strings.Contains(c.Machine, ".") {
		t.Errorf("defaults %+v", c)
	}
	if want := filepath.Join(home, ".claude"); c.ClaudeHome != want {
		t.Errorf("claude_home %q, want %q", c.ClaudeHome, want)
	}
	if want := filepath.Join(home, ".config/sessionhub/token"); c.TokenFile != want {
		t.Errorf("token_file %q, want %q", c.TokenFile, want)
	}
}

func TestFileOverDefaults(t *testing.T) {
	home := t.TempDir()
	write(t, home, "server_url = \"http://127.0.0.1:7733/\"\nmachine = \"tower\"\nnotify = false\nherdr_sockets = [\"~/h.sock\"]\n")
	c, err := Load(env(home))
	if err != nil {
		t.Fatal(err)
	}
	if c.ServerURL != "http://127.0.0.1:7733" || c.Machine != "tower" || c.Notify || !c.RemoteStart {
		t.Errorf("got %+v", c)
	}
	if c.HerdrSockets[0] != filepath.Join(home, "h.sock") {
		t.Errorf("herdr_sockets %q", c.HerdrSockets)
	}
}

func TestWhatIsWrongIsNamed(t *testing.T) {
	for name, c := range map[string]struct{ content, want string }{
		"syntax":  {"machine = \"a\"\nserver_url = \n", "line 2"},
		"unknown": {"server = \"x\"\n", `"server" is not a setting`},
		"type":    {"notify = \"yes\"\n", "notify"},
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			write(t, home, c.content)
			_, err := Load(env(home))
			if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v, want one line with %q", err, c.want)
			}
		})
	}
}

func TestTokens(t *testing.T) {
	home := t.TempDir()
	c, err := Load(env(home))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.MachineToken(); !errors.Is(err, ErrNoToken) {
		t.Errorf("without a file: %v", err)
	}
	write(t, home, "")
	if err := os.WriteFile(c.TokenFile, []byte("shm_abc\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if tok, err := c.MachineToken(); err != nil || tok != "shm_abc" {
		t.Errorf("got %q, %v", tok, err)
	}
	if err := os.WriteFile(c.TokenFile, []byte("shm_abc shm_def\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := c.MachineToken(); !errors.Is(err, ErrNoToken) {
		t.Errorf("two tokens in the file: %v", err)
	}
}

func TestPath(t *testing.T) {
	if got := Path(env("/h", "SESSIONHUB_CONFIG", "/x/c.toml")); got != "/x/c.toml" {
		t.Error(got)
	}
	if got := Path(env("/h", "XDG_CONFIG_HOME", "/x")); got != "/x/sessionhub/config.toml" {
		t.Error(got)
	}
	if got := Path(env("/h", "XDG_CONFIG_HOME", "relative")); got != "/h/.config/sessionhub/config.toml" {
		t.Error(got)
	}
}
