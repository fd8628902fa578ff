package doctor

import (
	"context"
	"path/filepath"
	"strings"

	"sessionhub/lib/claude"
	"sessionhub/lib/config"
	"sessionhub/lib/state"
)

// Getenv reads an environment.
type Getenv func(string) string

// EnvironOf is Getenv for a list of NAME=value.
func EnvironOf(list []string) Getenv {
	return func(key string) string {
		for _, kv := range list {
			if v, ok := strings.CutPrefix(kv, key+"="); ok {
				return v
			}
		}
		return ""
	}
}

// View is an environment and whose it is. Daemons have that of their own start,
// not a shell's, so the same home may look different to them.
type View struct {
	Whose  string // "herdr's server"
	Getenv Getenv // nil when it can't be read
}

// places are where a view says that things are.
func (v View) places() (names, paths []string) {
	dir, err := state.Default(v.Getenv)
	if err != nil {
		dir = "nowhere"
	}
	home, ok := claude.DefaultHome(v.Getenv)
	if !ok {
		home = "nowhere"
	}
	return []string{"the state directory", "config.toml", "Claude Code's folder"},
		[]string{filepath.Clean(string(dir)), filepath.Clean(config.Path(v.Getenv)), string(home)}
}

// environment compares where the daemons look with where who asks looks.
func (d *Doctor) environment(context.Context, Known) Finding {
	names, own := d.Own.places()
	var seen, blind []string
	for _, v := range d.Daemons {
		if v.Getenv == nil {
			blind = append(blind, v.Whose)
			continue
		}
		seen = append(seen, v.Whose)
		_, theirs := v.places()
		for i := range own {
			if own[i] == theirs[i] {
				continue
			}
			return broken("set the same XDG_*, SESSIONHUB_STATE_DIR, SESSIONHUB_CONFIG and CLAUDE_CONFIG_DIR where herdr is started as in your shell, and restart herdr's server",
				"%s takes %s for %s, and you here %s", v.Whose, theirs[i], names[i], own[i])
		}
	}
	if len(seen) == 0 {
		return untested("the environment of %s can't be read here", strings.Join(blind, " and "))
	}
	if len(seen) == 1 {
		return fine("%s looks where you do", seen[0])
	}
	return fine("%s look where you do", strings.Join(seen, " and "))
}

// path looks for the programs that the daemons run by name.
func (d *Doctor) path(context.Context, Known) Finding {
	for _, v := range d.Daemons {
		if v.Getenv == nil {
			continue
		}
		var missing []string
		for _, name := range []string{"claude", "git"} {
			if !onPath(v.Getenv("PATH"), name) {
				missing = append(missing, name)
			}
		}
		if len(missing) > 0 {
			return broken("start herdr with a PATH that has it, as from your login shell, and restart its server",
				"%s does not find %s on its PATH, %s", v.Whose, strings.Join(missing, " and "), v.Getenv("PATH"))
		}
		return fine("%s finds claude and git", v.Whose)
	}
	return untested("the environment of herdr's server can't be read here")
}

func onPath(path, name string) bool {
	for _, dir := range filepath.SplitList(path) {
		if filepath.IsAbs(dir) && executable(filepath.Join(dir, name)) == nil {
			return true
		}
	}
	return false
}
