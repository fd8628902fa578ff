package state

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func env(pairs ...string) func(string) string {
	m := map[string]string{}
	for i := 0; i+1 < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	return func(k string) string { return m[k] }
}

func TestDefault(t *testing.T) {
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		env  func(string) string
		want string
	}{
		{env("SESSIONHUB_STATE_DIR", "/s", "HOME", "/h"), "/s"},
		{env("SESSIONHUB_STATE_DIR", "s/", "HOME", "/h"), here + "/s"},
		{env("XDG_STATE_HOME", "/x", "HOME", "/h"), "/x/sessionhub"},
		{env("XDG_STATE_HOME", "relative", "HOME", "/h"), "/h/.local/state/sessionhub"},
		{env("HOME", "/h"), "/h/.local/state/sessionhub"},
	} {
		if got, err := Default(c.env); err != nil || string(got) != c.want {
			t.Errorf("got %q, %v, want %q", got, err, c.want)
		}
	}
	if _, err := Default(env()); err == nil {
		t.Error("no home, and no error")
	}
}

func TestEnsureIsPrivate(t *testing.T) {
	d := Dir(filepath.Join(t.TempDir(), "a", "state"))
	if err := d.Ensure(); err != nil {
		t.Fatal(err)
	}
	if st, err := os.Stat(string(d)); err != nil || st.Mode().Perm() != 0o700 {
		t.Errorf("mode %v, %v", st.Mode(), err)
	}
}

func TestReplaceLeavesTheOldOrTheNew(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f.json")
	var v struct{ N int }
	if err := ReadJSON(path, &v); err != nil || v.N != 0 {
		t.Errorf("a missing file: %+v, %v", v, err)
	}
	for n := 1; n <= 2; n++ {
		if err := ReplaceJSON(path, struct{ N int }{n}); err != nil {
			t.Fatal(err)
		}
		if err := ReadJSON(path, &v); err != nil || v.N != n {
			t.Errorf("got %+v, %v", v, err)
		}
	}
	if st, _ := os.Stat(path); st.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", st.Mode())
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*")); len(left) != 1 {
		t.Errorf("left behind: %q", left)
	}
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := ReadJSON(path, &v); err == nil || !strings.Contains(err.Error(), "f.json") {
		t.Errorf("a broken file: %v", err)
	}
}
