package install

import (
	"os"
	"path/filepath"
	"strings"

	"sessionhub/lib/herdr"
)

// keyLines bind the plugin's actions to keys that herdr leaves free. A plugin
// can't ship a binding.
const keyLines = `[[keys.command]]
key = "prefix+u"
type = "plugin_action"
command = "sessionhub.resume"
description = "Resume a session"

[[keys.command]]
key = "prefix+i"
type = "plugin_action"
command = "sessionhub.inbox"
description = "What waits for you"
`

// SidebarLines show the inbox's count beside each workspace: the watcher
// reports the token, and the person's rows say where it is seen.
const SidebarLines = `[ui.sidebar.spaces]
rows = [["state_icon", "workspace", "$inbox"], ["branch", "git_status"]]
`

// HerdrConfig is the path of herdr's config.toml.
func HerdrConfig(getenv func(string) string) string {
	if path := getenv("HERDR_CONFIG_PATH"); path != "" {
		return path
	}
	return filepath.Join(filepath.Dir(herdr.SessionSocket("", getenv)), "config.toml")
}

// keys tell what a person may add to herdr's config.toml, as far as it is not
// there.
func (p *Plugin) keys(r *Run) {
	path := HerdrConfig(p.Getenv)
	b, _ := os.ReadFile(path) // one that can't be read has nothing of it
	have := string(b)
	if !strings.Contains(have, `"sessionhub.resume"`) && !strings.Contains(have, `"sessionhub.inbox"`) {
		r.tell(Step{Step: "keys", Outcome: Noted, Path: path, Lines: keyLines, Detail: "keys for the picker and the inbox, if you add this"})
	}
	if !strings.Contains(have, "$inbox") {
		r.tell(Step{Step: "sidebar", Outcome: Noted, Path: path, Lines: SidebarLines, Detail: "the inbox's count beside each workspace, if you add this (herdr server reload-config applies it)"})
	}
}
