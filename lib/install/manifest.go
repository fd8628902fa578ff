package install

import (
	"bytes"
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"sessionhub/lib/herdr"
)

// Manifest is the plugin that herdr is told of: which of its events run which
// tool, and what people can call up.
type Manifest struct {
	ID              string           `toml:"id"`
	Name            string           `toml:"name"`
	Version         string           `toml:"version"`
	MinHerdrVersion string           `toml:"min_herdr_version"`
	Description     string           `toml:"description"`
	Platforms       []string         `toml:"platforms"`
	Startup         []ManifestHook   `toml:"startup"`
	Events          []ManifestHook   `toml:"events"`
	Actions         []ManifestAction `toml:"actions"`
	Panes           []ManifestPane   `toml:"panes"`
}

// ManifestHook is a command that herdr runs by itself.
type ManifestHook struct {
	On      string   `toml:"on,omitempty"`
	Command []string `toml:"command"`
}

// ManifestAction is a command that a key can be bound to.
type ManifestAction struct {
	ID       string   `toml:"id"`
	Title    string   `toml:"title"`
	Contexts []string `toml:"contexts"`
	Command  []string `toml:"command"`
}

// ManifestPane is a command that is shown in a pane of its own.
type ManifestPane struct {
	ID        string   `toml:"id"`
	Title     string   `toml:"title"`
	Placement string   `toml:"placement"`
	Command   []string `toml:"command"`
}

// hookedEvents are the events that a record is made of, or after which herdr
// is looked at.
var hookedEvents = []string{
	"pane.agent_detected", "pane.agent_status_changed", "pane.closed", "pane.exited", "pane.moved", "tab.closed", "workspace.closed",
}

// NewManifest is the manifest for tools of that version. Its commands are
// absolute paths, as herdr runs them without a shell and with its server's
// PATH, which may lack nearly everything (field report A46).
func NewManifest(t Tools, version string) Manifest {
	shctl := t.Path("shctl")
	m := Manifest{
		ID: herdr.OwnPlugin, Name: "sessionhub", Version: version, MinHerdrVersion: herdr.MinVersion,
		Description: "Tells the hub of every Claude Code session in herdr",
		Platforms:   []string{"linux", "macos"},
		Startup:     []ManifestHook{{Command: []string{t.Path("shwatch"), "startup"}}},
		Actions: []ManifestAction{
			{"status", "Sessions on all machines", []string{"global"}, []string{shctl, "status"}},
			{"resume", "Resume a session", []string{"global"}, []string{shctl, "open", herdr.PanePicker}},
			{"inbox", "What waits for you", []string{"global"}, []string{shctl, "open", herdr.PaneInbox}},
		},
		Panes: []ManifestPane{
			{herdr.PanePicker, "Resume a session", "overlay", []string{shctl, "resume", "--pick"}},
			{herdr.PaneInbox, "Inbox", "split", []string{shctl, "inbox", "--watch"}},
		},
	}
	for _, e := range hookedEvents {
		m.Events = append(m.Events, ManifestHook{On: e, Command: []string{t.Path("shq"), "event"}})
	}
	return m
}

// manifestHead tells a reader where the file comes from.
const manifestHead = "# sessionhub's plugin for herdr, written by `shinstall plugin`, which writes it anew.\n"

// TOML is the manifest as a file.
func (m Manifest) TOML() ([]byte, error) {
	var b bytes.Buffer
	b.WriteString(manifestHead)
	e := toml.NewEncoder(&b)
	e.Indent = ""
	if err := e.Encode(m); err != nil {
		return nil, fmt.Errorf("manifest: %w", err)
	}
	return b.Bytes(), nil
}

// differs names what herdr's list has otherwise than the manifest, or "".
// herdr may go on with what it read earlier (field report A49).
func (m Manifest) differs(p herdr.Plugin) string {
	want := herdr.Plugin{Version: m.Version}
	for _, h := range m.Startup {
		want.Startup = append(want.Startup, herdr.PluginHook{Command: h.Command})
	}
	for _, h := range m.Events {
		want.Events = append(want.Events, herdr.PluginHook{On: h.On, Command: h.Command})
	}
	for _, a := range m.Actions {
		want.Actions = append(want.Actions, herdr.PluginCommand{ID: a.ID, Title: a.Title, Command: a.Command})
	}
	for _, a := range m.Panes {
		want.Panes = append(want.Panes, herdr.PluginCommand{ID: a.ID, Title: a.Title, Command: a.Command})
	}
	byEvent := func(a, b herdr.PluginHook) int {
		return cmp.Or(strings.Compare(a.On, b.On), slices.Compare(a.Command, b.Command))
	}
	byID := func(a, b herdr.PluginCommand) int { return strings.Compare(a.ID, b.ID) }
	switch {
	case p.Version != want.Version:
		return "version"
	case !sameList(p.Startup, want.Startup, byEvent):
		return "startup"
	case !sameList(p.Events, want.Events, byEvent):
		return "events"
	case !sameList(p.Actions, want.Actions, byID):
		return "actions"
	case !sameList(p.Panes, want.Panes, byID):
		return "panes"
	}
	return ""
}

func sameList[T any](a, b []T, order func(a, b T) int) bool {
	a, b = slices.SortedFunc(slices.Values(a), order), slices.SortedFunc(slices.Values(b), order)
	return len(a) == len(b) && (len(a) == 0 || reflect.DeepEqual(a, b))
}
