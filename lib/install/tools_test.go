package install

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"

	"sessionhub/lib/herdr"
)

func env(kv map[string]string) func(string) string {
	return func(k string) string { return kv[k] }
}

// The path that is written is the one that outlives an upgrade.
func TestA30ToolsAreNamedWhereTheyStay(t *testing.T) {
	root := t.TempDir()
	versioned := filepath.Join(root, "Cellar", "1.0", "bin")
	linked := filepath.Join(root, "bin")
	lone := filepath.Join(root, "lone")
	for _, dir := range []string{versioned, linked, lone} {
		mkdir(t, dir)
	}
	write(t, filepath.Join(versioned, "shinstall"), "x", 0o755)
	write(t, filepath.Join(lone, "shinstall"), "x", 0o755)
	if err := os.Symlink(filepath.Join(versioned, "shinstall"), filepath.Join(linked, "shinstall")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, arg0, path, want string }{
		{"by its name, from the PATH", "shinstall", "relative:" + linked, linked},
		{"by the link", filepath.Join(linked, "shinstall"), "/usr/bin", linked},
		{"by what the link leads to, with the link on the PATH", filepath.Join(versioned, "shinstall"), lone + ":" + linked, linked},
		{"by what the link leads to", filepath.Join(versioned, "shinstall"), "/usr/bin", versioned},
		{"another copy than the one on the PATH", filepath.Join(lone, "shinstall"), linked, lone},
	} {
		got, err := FindTools(c.arg0, env(map[string]string{"PATH": c.path}))
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %q, %v, want %q", c.name, got, err, c.want)
		}
	}
	if _, err := FindTools("shinstall", env(map[string]string{"PATH": root})); !errors.Is(err, ErrTools) {
		t.Errorf("got %v", err)
	}
	path := env(map[string]string{"PATH": "relative:" + linked})
	for tools, want := range map[Tools]string{
		Tools(versioned): versioned + " goes away with the next upgrade: ",
		Tools(linked):    "",
		Tools(lone):      "the tools of " + lone + " are named, not those of " + linked + ", which is on the PATH",
	} {
		if got := tools.Doubt(path); !strings.HasPrefix(got, want) || (got == "") != (want == "") {
			t.Errorf("%s: %q", tools, got)
		}
	}
}

func TestToolsAreChecked(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "good"), "x", 0o755)
	write(t, filepath.Join(dir, "text"), "x", 0o644)
	mkdir(t, filepath.Join(dir, "folder"))
	if err := Tools(dir).Check("good"); err != nil {
		t.Error(err)
	}
	for _, c := range []struct {
		tools Tools
		name  string
	}{{Tools(dir), "none"}, {Tools(dir), "text"}, {Tools(dir), "folder"}, {"relative", "good"}, {"/\xff", "good"}, {"/a\nb", "good"}} {
		if err := c.tools.Check(c.name); !errors.Is(err, ErrTools) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q %s: %v", c.tools, c.name, err)
		}
	}
}

// herdr's server may have a PATH with nothing of ours on it.
func TestA46CommandsAreAbsolute(t *testing.T) {
	for _, dir := range []string{"/home/dev/.local/bin", `/opt/my "tools"\x`, "/home/müller/日本 bin", "/tab\tand'quote"} {
		text, err := NewManifest(Tools(dir), "1.2.3").TOML()
		if err != nil {
			t.Fatal(err)
		}
		var m struct {
			Startup, Events, Actions, Panes []struct{ Command []string }
		}
		if err := toml.Unmarshal(text, &m); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		all := append(append(append(m.Startup, m.Events...), m.Actions...), m.Panes...)
		if len(all) != 13 {
			t.Errorf("%d commands", len(all))
		}
		for _, c := range all {
			if filepath.Dir(c.Command[0]) != dir {
				t.Errorf("%q is not in %q", c.Command, dir)
			}
		}
	}
}

func TestDiffers(t *testing.T) {
	m := NewManifest("/b", "1")
	listed := func() herdr.Plugin {
		p := herdr.Plugin{Version: "1", Startup: []herdr.PluginHook{{Command: m.Startup[0].Command}}}
		for i := range m.Events { // in any order
			e := m.Events[len(m.Events)-1-i]
			p.Events = append(p.Events, herdr.PluginHook{On: e.On, Command: e.Command})
		}
		for _, a := range m.Actions {
			p.Actions = append(p.Actions, herdr.PluginCommand{ID: a.ID, Title: a.Title, Command: a.Command})
		}
		for _, a := range m.Panes {
			p.Panes = append(p.Panes, herdr.PluginCommand{ID: a.ID, Title: a.Title, Command: a.Command})
		}
		return p
	}
	for _, c := range []struct {
		want   string
		change func(*herdr.Plugin)
	}{
		{"", func(*herdr.Plugin) {}},
		{"version", func(p *herdr.Plugin) { p.Version = "0" }},
		{"startup", func(p *herdr.Plugin) { p.Startup = nil }},
		{"events", func(p *herdr.Plugin) { p.Events = p.Events[1:] }},
		{"events", func(p *herdr.Plugin) { p.Events[0].Command = []string{"/old/shq", "event"} }},
		{"actions", func(p *herdr.Plugin) { p.Actions[0].Title = "x" }},
		{"panes", func(p *herdr.Plugin) { p.Panes = append(p.Panes, herdr.PluginCommand{ID: "x"}) }},
	} {
		p := listed()
		c.change(&p)
		if got := m.differs(p); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

func TestParseServer(t *testing.T) {
	got := parseServer("sessionhub:\n  Scope: User config (available in all your projects)\n  Status: ✘ Failed to connect\n  Issue: x\n  Type: stdio\n" +
		"  Command: /a b/shq\n  Args: mcp\n  Environment:\n    A=b\n\nTo remove this server, run: claude mcp remove sessionhub -s user\n")
	if want := (server{scope: userScope, kind: "stdio", command: "/a b/shq", args: "mcp", env: true}); got != want {
		t.Errorf("%+v", got)
	}
}
