package install

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"sessionhub/lib/install/managertest"
)

// word is a word of a command, with every character that some format quotes.
func word(t *rapid.T, label string) string {
	return rapid.StringOfN(rapid.RuneFrom([]rune(`ab/ "'\%$;#=@-+!:{}<>&|ü日`)), 0, 12, -1).Draw(t, label)
}

func home(string) string { return "/h" }

func kinds() []Kind { return []Kind{HubKind(), ReviveKind("/s/revive.log")} }

// What systemd makes of the unit is what was meant, whatever the words.
func TestSystemdUnitSaysWhatIsMeant(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		argv := []string{"/" + word(t, "program"), word(t, "1"), word(t, "2")}
		env := []string{"PATH=" + word(t, "path"), "X=" + word(t, "x")}
		for _, k := range kinds() {
			files := newSystemd("systemctl", k, home).Files(Job{Argv: argv, Env: env, About: "x"})
			text := files[len(files)-1].New
			u, err := managertest.ParseUnit(string(text))
			if err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			if !slices.Equal(u.Argv, argv) || !slices.Equal(u.Env, env) {
				t.Fatalf("%q became %q, %q\n%s", argv, u.Argv, u.Env, text)
			}
		}
	})
}

// What launchd makes of the list is what was meant, whatever the words.
func TestLaunchdAgentSaysWhatIsMeant(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		argv := []string{"/" + word(t, "program"), word(t, "1")}
		env := []string{"PATH=" + word(t, "path"), "X=" + word(t, "x")}
		for _, k := range kinds() {
			k.Log = "/" + word(t, "log")
			text := newLaunchd("launchctl", k, home).Files(Job{Argv: argv, Env: env, About: "x"})[0].New
			a, err := managertest.ParseAgent(bytes.NewReader(text))
			if err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			if !slices.Equal(a.Argv, argv) || !slices.Equal(a.Env, env) || a.Label != k.Label || a.Log != k.Log || (a.Every == 900) != k.Timer || a.Abandon != k.Timer {
				t.Fatalf("%q became %+v\n%s", argv, a, text)
			}
		}
	})
}

// A46: the PATH of a job is short, absolute, and that of nobody's shell.
func TestA46JobPath(t *testing.T) {
	t.Setenv("PATH", ".:/tmp/odd::relative")
	if got := jobPath("/opt/my tools/bin/shhub"); got != "/opt/my tools/bin:/usr/local/bin:/usr/bin:/bin:/opt/homebrew/bin" {
		t.Error(got)
	}
}

func FuzzUnitWord(f *testing.F) {
	f.Add("/a b/c", true)
	f.Add(`a"\%$'`, false)
	f.Fuzz(func(t *testing.T, w string, dollar bool) {
		if !utf8.ValidString(w) || strings.ContainsAny(w, "\r\n\x00") {
			return // Tools.Check refuses these
		}
		line := "ExecStart=/x " + unitWord(w, true)
		if !dollar {
			line = "ExecStart=/x\nEnvironment=" + unitWord("A="+w, false)
		}
		u, err := managertest.ParseUnit("[Service]\n" + line + "\n")
		if err != nil {
			t.Fatalf("%q: %v", w, err)
		}
		if dollar && (len(u.Argv) != 2 || u.Argv[1] != w) || !dollar && (len(u.Env) != 1 || u.Env[0] != "A="+w) {
			t.Fatalf("%q became %+v", w, u)
		}
	})
}

func TestServeChecksWhereItListens(t *testing.T) {
	for listen, want := range map[string]string{
		"127.0.0.1:7733": "http://127.0.0.1:7733", "localhost:1": "http://localhost:1", "[::1]:1": "http://[::1]:1",
		"0.0.0.0:1": "", ":1": "", "192.0.2.1:1": "", "x": "", "127.0.0.1:0": "", "127.0.0.1:": "",
	} {
		h := &Hub{Serve: Serve{Listen: listen}, Hostname: "tower.example.org"}
		err := h.Serve.check()
		if (err == nil) != (want != "") || err == nil && h.url() != want {
			t.Errorf("%s: %v, %s", listen, err, h.url())
		}
	}
	for _, c := range []struct {
		s    Serve
		want string
	}{
		{Serve{Listen: ":7733", Insecure: true}, "http://127.0.0.1:7733"},
		{Serve{Listen: "[::]:7733", Insecure: true}, "http://127.0.0.1:7733"},
		{Serve{Listen: "192.0.2.1:7733", Insecure: true}, "http://192.0.2.1:7733"},
		{Serve{Listen: ":7733", Cert: "c", Key: "k"}, "https://tower.example.org:7733"},
		{Serve{Listen: "127.0.0.1:7733", Cert: "c", Key: "k"}, "https://127.0.0.1:7733"},
	} {
		if got := (&Hub{Serve: c.s, Hostname: "tower.example.org"}).url(); got != c.want {
			t.Errorf("%+v: %s, want %s", c.s, got, c.want)
		}
	}
}

func TestSameHub(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"http://127.0.0.1:7733", "http://127.0.0.1:7733/", true},
		{"http://localhost:7733", "http://127.0.0.1:7733", true},
		{"http://[::1]:7733", "http://localhost:7733", true},
		{"https://hub.example.org", "https://Hub.example.org:443", true},
		{"https://hub.example.org", "http://hub.example.org", false},
		{"https://hub.example.org/a", "https://hub.example.org/b", false},
		{"https://hub.example.org", "https://hub.example.org:7733", false},
		{"http://127.0.0.1:7733", "http://tower:7733", false},
		{"%", "%", true}, {"%", "http://a", false},
	} {
		if got := sameHub(c.a, c.b); got != c.want {
			t.Errorf("%s, %s: %v", c.a, c.b, got)
		}
	}
}
