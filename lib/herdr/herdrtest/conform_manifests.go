package herdrtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sessionhub/lib/herdr"
)

// manifests are refused, or linked with a warning.
func (x *suite) manifests(t *testing.T) {
	head := "id = \"m\"\nname = \"M\"\nversion = \"1\"\nmin_herdr_version = \"0.8.0\"\n"
	linux := head + "platforms = [\"linux\", \"macos\"]\n"
	action := func(id, command string) string {
		return "[[actions]]\nid = \"" + id + "\"\ntitle = \"A\"\ncommand = " + command + "\n"
	}
	for name, c := range map[string]struct{ manifest, want string }{
		"broken":           {"id = \"x", "plugin_manifest_parse_failed"},
		"no id":            {"name = \"x\"\n", "plugin_manifest_parse_failed"},
		"no min":           {"id = \"m\"\nname = \"M\"\nversion = \"1\"\n", "invalid_plugin_min_herdr_version"},
		"bad id":           {strings.Replace(linux, "\"m\"", "\"a b\"", 1), "invalid_plugin_id"},
		"empty name":       {strings.Replace(linux, "\"M\"", "\"\"", 1), "invalid_plugin_name"},
		"pre-release":      {strings.Replace(linux, "0.8.0", "0.8.0-rc.1", 1), "invalid_plugin_min_herdr_version"},
		"too new":          {strings.Replace(linux, "0.8.0", "99.0.0", 1), "plugin_requires_newer_herdr"},
		"no platform left": {head + "platforms = []\n", "invalid_plugin_platform"},
		"unknown platform": {head + "platforms = [\"beos\"]\n", "plugin_manifest_parse_failed"},
		"empty command":    {linux + action("a", "[]"), "invalid_plugin_command"},
		"string command":   {linux + action("a", "\"x y\""), "plugin_manifest_parse_failed"},
		"twice":            {linux + action("a", "[\"x\"]") + action("a", "[\"x\"]"), "duplicate_plugin_action_id"},
		"dotted action":    {linux + action("a.b", "[\"x\"]"), "invalid_plugin_action_id"},
		"bad placement":    {linux + strings.Replace(action("a", "[\"x\"]"), "actions", "panes", 1) + "placement = \"floating\"\n", "plugin_manifest_parse_failed"},
		"size of a split":  {linux + strings.Replace(action("a", "[\"x\"]"), "actions", "panes", 1) + "placement = \"split\"\nwidth = 10\n", "invalid_plugin_pane_size"},
		"no platforms":     {head, "manifest does not declare platforms; platform support unknown"},
		"unknown event":    {linux + "[[events]]\non = \"pane_exited\"\ncommand = [\"x\"]\n", "unknown event 'pane_exited'"},
		"unknown keys":     {linux + "colour = \"red\"\n[[gadgets]]\nx = 1\n", ""},
	} {
		dir, err := os.MkdirTemp(x.Home, "m")
		x.try(t, err)
		x.try(t, os.WriteFile(filepath.Join(dir, "herdr-plugin.toml"), []byte(c.manifest), 0o644))
		p, err := x.c.LinkPlugin(x.ctx, herdr.Link{Path: dir, Enabled: true})
		switch {
		case err == nil && strings.Join(p.Warnings, "; ") != c.want, err != nil && !herdr.IsCode(err, c.want):
			t.Errorf("%s: %v, warnings %q, want %q", name, err, p.Warnings, c.want)
		}
	}
	_, err := x.c.UnlinkPlugin(x.ctx, "m")
	x.try(t, err)
}
