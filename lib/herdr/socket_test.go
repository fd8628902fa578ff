package herdr

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"
)

func env(vars map[string]string) func(string) string {
	return func(name string) string { return vars[name] }
}

func TestDefaultSocket(t *testing.T) {
	for name, c := range map[string]struct {
		env  map[string]string
		want string
	}{
		"home":            {map[string]string{"HOME": "/h"}, "/h/.config/herdr/herdr.sock"},
		"XDG":             {map[string]string{"HOME": "/h", "XDG_CONFIG_HOME": "/x"}, "/x/herdr/herdr.sock"},
		"named":           {map[string]string{"HOME": "/h", "HERDR_SESSION": "work"}, "/h/.config/herdr/sessions/work/herdr.sock"},
		"named default":   {map[string]string{"HOME": "/h", "HERDR_SESSION": "default"}, "/h/.config/herdr/herdr.sock"},
		"refused name":    {map[string]string{"HOME": "/h", "HERDR_SESSION": "../x"}, "/h/.config/herdr/herdr.sock"},
		"path wins":       {map[string]string{"HOME": "/h", "HERDR_SESSION": "work", "HERDR_SOCKET_PATH": "/s"}, "/s"},
		"nothing at all":  {nil, ""},
		"path, no home":   {map[string]string{"HERDR_SOCKET_PATH": "/s"}, "/s"},
		"dots are no dir": {map[string]string{"HOME": "/h", "HERDR_SESSION": ".."}, "/h/.config/herdr/herdr.sock"},
	} {
		if got := DefaultSocket(env(c.env)); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestSessionName(t *testing.T) {
	dir := t.TempDir()
	real := filepath.Join(dir, "real")
	if err := os.MkdirAll(filepath.Join(real, ".config/herdr/sessions/work"), 0o755); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	home := env(map[string]string{"HOME": link})
	for path, want := range map[string]string{
		link + "/.config/herdr/herdr.sock":                  "default",
		real + "/.config/herdr/herdr.sock":                  "default",
		link + "/.config/herdr/../herdr/herdr.sock":         "default",
		link + "/.config/herdr/sessions/work/herdr.sock":    "work",
		real + "/.config/herdr/sessions/work/herdr.sock":    "work",
		link + "/.config/herdr/sessions/default/herdr.sock": link + "/.config/herdr/sessions/default/herdr.sock",
		link + "/.config/herdr/other.sock":                  link + "/.config/herdr/other.sock",
		"/tmp/herdr.sock":                                   "/tmp/herdr.sock",
		"/elsewhere/.config/herdr/herdr.sock":               "/elsewhere/.config/herdr/herdr.sock",
	} {
		if got := SessionName(path, home); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	if got := SessionName("/s/herdr.sock", env(nil)); got != "/s/herdr.sock" {
		t.Errorf("without a home: %q", got)
	}
}

// A server that is started again gets a new socket file, whose inode number may
// be the old one.
func TestSocketIdentity(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	if _, err := SocketIdentity(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v, want not exist", err)
	}
	seen := map[Identity]bool{}
	for range 5 {
		ln, err := net.Listen("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		id, err := SocketIdentity(path)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := SocketIdentity(path); err != nil || again != id {
			t.Errorf("twice: %v, %v, %v", id, again, err)
		}
		if seen[id] {
			t.Errorf("identity %v came back", id)
		}
		seen[id] = true
		ln.Close()
	}
}

func TestServerPID(t *testing.T) {
	dir, err := os.MkdirTemp("", "hs")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "s")
	if _, err := ServerPID(t.Context(), path); err == nil {
		t.Error("nobody has a process")
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	pid, err := ServerPID(t.Context(), path)
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil || pid != os.Getpid() {
		t.Errorf("%d, %v, want %d", pid, err, os.Getpid())
	}
}
