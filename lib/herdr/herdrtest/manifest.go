package herdrtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"sort"
	"strings"

	"github.com/BurntSushi/toml"
)

type manifest struct {
	ID              string         `toml:"id" json:"plugin_id"`
	Name            string         `toml:"name" json:"name"`
	Version         string         `toml:"version" json:"version"`
	MinHerdrVersion string         `toml:"min_herdr_version" json:"min_herdr_version"`
	Description     string         `toml:"description" json:"description,omitempty"`
	Platforms       []string       `toml:"platforms" json:"platforms,omitempty"`
	Startup         []manifestHook `toml:"startup" json:"startup,omitempty"`
	Events          []manifestHook `toml:"events" json:"events,omitempty"`
	Actions         []manifestCmd  `toml:"actions" json:"actions,omitempty"`
	Panes           []manifestCmd  `toml:"panes" json:"panes,omitempty"`
}

type manifestHook struct {
	On        string   `toml:"on" json:"on,omitempty"`
	Command   []string `toml:"command" json:"command"`
	Platforms []string `toml:"platforms" json:"platforms,omitempty"`
}

type manifestCmd struct {
	ID          string   `toml:"id" json:"id"`
	Title       string   `toml:"title" json:"title"`
	Description string   `toml:"description" json:"description,omitempty"`
	Contexts    []string `toml:"contexts" json:"contexts,omitempty"`
	Command     []string `toml:"command" json:"command"`
	Platforms   []string `toml:"platforms" json:"platforms,omitempty"`
	Placement   string   `toml:"placement" json:"placement,omitempty"`
	Width       any      `toml:"width" json:"width,omitempty"`
	Height      any      `toml:"height" json:"height,omitempty"`
}

// plugin is an entry of the registry.
type plugin struct {
	ID       string   `json:"id"`
	Path     string   `json:"manifest_path"`
	Enabled  bool     `json:"enabled"`
	Seen     manifest `json:"manifest"` // as of the link
	manifest manifest // as of now
	warnings []string
	broken   bool
}

func (p *plugin) root() string { return filepath.Dir(p.Path) }

func (p *plugin) usable() bool { return p.Enabled && !p.broken }

func here(platforms []string) bool {
	name := runtime.GOOS
	if name == "darwin" {
		name = "macos"
	}
	if len(platforms) == 0 {
		return true
	}
	for _, p := range platforms {
		if p == name {
			return true
		}
	}
	return false
}

func (s *Server) registry() string { return filepath.Join(s.configDir(), "plugins.json") }

func (s *Server) pluginDirs(id string) (config, state string) {
	base := s.getenv("XDG_STATE_HOME")
	if base == "" {
		base = filepath.Join(s.cfg.Home, ".local", "state")
	}
	return filepath.Join(s.configDir(), "plugins", "config", id), filepath.Join(base, "herdr", "plugins", id)
}

// loadPlugins reads the registry and the manifests anew, as herdr does each
// time: an edited manifest counts at once.
func loadPlugins(registry string) ([]*plugin, error) {
	b, err := os.ReadFile(registry)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var list []*plugin
	if err := json.Unmarshal(b, &list); err != nil {
		return nil, err
	}
	sort.Slice(list, func(i, j int) bool { return list[i].ID < list[j].ID })
	for _, p := range list {
		m, merr := readManifest(p.Path, "")
		if merr != nil {
			p.manifest, p.broken = p.Seen, true
			p.warnings = append(p.warnings, merr.message)
			continue
		}
		p.manifest = m
		p.warnings = m.warn()
	}
	return list, nil
}

func savePlugins(registry string, list []*plugin) error {
	if err := os.MkdirAll(filepath.Dir(registry), 0o755); err != nil {
		return err
	}
	b, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(registry, b, 0o644)
}

func manifestPath(path string) (string, *apiError) {
	abs, err := filepath.Abs(path)
	if err == nil && path != "" {
		if fi, serr := os.Stat(abs); serr == nil && fi.IsDir() {
			abs = filepath.Join(abs, "herdr-plugin.toml")
		}
		abs, err = filepath.EvalSymlinks(abs)
	}
	if err != nil || path == "" {
		return "", fail("plugin_manifest_not_found", "No such file or directory (os error 2)")
	}
	return abs, nil
}

// readManifest reads and checks a manifest; version is the herdr that links it,
// "" does not check that.
func readManifest(path, version string) (manifest, *apiError) {
	var m manifest
	b, err := os.ReadFile(path)
	if err != nil {
		return m, fail("plugin_manifest_not_found", "No such file or directory (os error 2)")
	}
	meta, err := toml.Decode(string(b), &m)
	if err != nil {
		return m, fail("plugin_manifest_parse_failed", "TOML parse error: %v", err)
	}
	if err := m.checkWords(); err != nil {
		return m, err
	}
	if meta.IsDefined("platforms") && len(m.Platforms) == 0 {
		return m, fail("invalid_plugin_platform", "platforms must not be an empty array; omit the field to leave platforms undeclared")
	}
	for _, key := range []string{"id", "name", "version"} {
		if !meta.IsDefined(key) {
			return m, fail("plugin_manifest_parse_failed", "TOML parse error at line 1, column 1: missing field `%s`", key)
		}
	}
	return m, m.check(version)
}

func (m manifest) check(version string) *apiError {
	switch {
	case len(m.ID) > 120 || m.ID == "" || !only(m.ID, ".:_-"):
		return fail("invalid_plugin_id", "invalid plugin id")
	case strings.TrimSpace(m.Name) == "":
		return fail("invalid_plugin_name", "plugin name is required")
	case strings.TrimSpace(m.Version) == "":
		return fail("invalid_plugin_version", "plugin version is required")
	case m.MinHerdrVersion == "":
		return fail("invalid_plugin_min_herdr_version", "plugin min_herdr_version is required")
	case !regexp.MustCompile(`^\d+\.\d+\.\d+$`).MatchString(m.MinHerdrVersion):
		return fail("invalid_plugin_min_herdr_version", "plugin min_herdr_version must be a semantic version like 0.8.2")
	case version != "" && newer(m.MinHerdrVersion, version):
		return fail("plugin_requires_newer_herdr", "plugin requires Herdr %s or newer; current Herdr is %s", m.MinHerdrVersion, version)
	}
	return m.checkCommands()
}

// checkWords knows the words that herdr's parser refuses.
func (m manifest) checkWords() *apiError {
	for _, p := range m.Platforms {
		if p != "linux" && p != "macos" && p != "windows" {
			return fail("plugin_manifest_parse_failed", "TOML parse error: invalid_plugin_platform: unknown platform %q", p)
		}
	}
	for _, p := range m.Panes {
		switch p.Placement {
		case "", "overlay", "popup", "split", "tab", "zoomed":
		default:
			return fail("plugin_manifest_parse_failed", "TOML parse error: unknown variant `%s`", p.Placement)
		}
	}
	return nil
}

func (m manifest) checkCommands() *apiError {
	commands := append(append([]manifestHook(nil), m.Startup...), m.Events...)
	seen := map[string]bool{}
	for i, c := range append(append([]manifestCmd(nil), m.Actions...), m.Panes...) {
		kind := "action"
		if i >= len(m.Actions) {
			kind = "pane"
		}
		if c.ID == "" || !only(c.ID, ":_-") {
			return fail("invalid_plugin_"+kind+"_id", "invalid %s id", kind)
		}
		if seen[kind+c.ID] {
			return fail("duplicate_plugin_"+kind+"_id", "duplicate %s id '%s'", kind, c.ID)
		}
		seen[kind+c.ID] = true
		commands = append(commands, manifestHook{Command: c.Command})
	}
	for _, c := range commands {
		if len(c.Command) == 0 || slices.Contains(c.Command, "") {
			return fail("invalid_plugin_command", "command must contain non-empty argv strings")
		}
	}
	for _, p := range m.Panes {
		if (p.Width != nil || p.Height != nil) && p.Placement != "popup" {
			return fail("invalid_plugin_pane_size", "pane width and height are only supported when placement is popup")
		}
	}
	return nil
}

func newer(a, b string) bool {
	var x, y [3]int
	fmt.Sscanf(a, "%d.%d.%d", &x[0], &x[1], &x[2])
	fmt.Sscanf(b, "%d.%d.%d", &y[0], &y[1], &y[2])
	for i := range x {
		if x[i] != y[i] {
			return x[i] > y[i]
		}
	}
	return false
}

func (m manifest) warn() []string {
	var out []string
	if len(m.Platforms) == 0 {
		out = append(out, "manifest does not declare platforms; platform support unknown")
	}
	for _, e := range m.Events {
		hookable := globalKind(e.On) || e.On == statusEvent
		switch e.On {
		case "pane.updated", "workspace.metadata_updated", "layout.updated":
			hookable = false
		}
		if !hookable {
			out = append(out, "unknown event '"+e.On+"'")
		}
	}
	return out
}

func (p *plugin) info() obj {
	var o obj
	b, _ := json.Marshal(p.manifest)
	json.Unmarshal(b, &o)
	o["manifest_path"], o["plugin_root"], o["enabled"] = p.Path, p.root(), p.Enabled
	o["source"] = obj{"kind": "local"}
	if len(p.warnings) > 0 {
		o["warnings"] = p.warnings
	}
	return o
}
