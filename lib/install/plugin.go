package install

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"sessionhub/lib/herdr"
)

// Plugin links sessionhub's plugin into herdr: a manifest in a folder of its
// own, and herdr's registry naming that folder.
type Plugin struct {
	Tools   Tools
	Version string
	Data    string // sessionhub's folder below XDG_DATA_HOME
	Herdr   string // the program; "" looks at HERDR_BIN_PATH and on the PATH
	Getenv  func(string) string
	Watcher *Watcher
}

// ErrNoServer is wrapped by what only a running herdr server can do.
var ErrNoServer = errors.New("herdr's server does not run")

// Name is "plugin".
func (p *Plugin) Name() string { return "plugin" }

// Dir is the plugin's folder.
func (p *Plugin) Dir() string { return filepath.Join(p.Data, "herdr-plugin") }

func (p *Plugin) manifestPath() string { return filepath.Join(p.Dir(), "herdr-plugin.toml") }

// DataDir is sessionhub's folder for what it installs: below $XDG_DATA_HOME,
// else ~/.local/share.
func DataDir(getenv func(string) string) (string, error) {
	if d := getenv("XDG_DATA_HOME"); filepath.IsAbs(d) {
		return filepath.Join(d, "sessionhub"), nil
	}
	home := getenv("HOME")
	if home == "" {
		return "", errors.New("no data directory: neither XDG_DATA_HOME nor HOME is set")
	}
	return filepath.Join(home, ".local", "share", "sessionhub"), nil
}

// linking is one run of Install.
type linking struct {
	*Plugin
	cli    herdrCLI
	want   Manifest
	file   File
	have   *herdr.Plugin // as herdr lists it; nil when it does not
	server bool
}

// Install writes the manifest and links it, or links it anew when herdr knows
// another one; then it has the watcher taken over.
func (p *Plugin) Install(ctx context.Context, r *Run) error {
	l, err := p.prepare(ctx)
	if err != nil {
		return err
	}
	stale := l.stale()
	if err := r.Write("manifest", l.file); err != nil {
		return err
	}
	if !stale {
		r.Unchanged("link", "herdr %s has %s linked", l.cli.version, p.Dir())
	} else if err := l.link(ctx, r); err != nil {
		return err
	}
	if l.have != nil && !l.have.Enabled {
		r.Note("link", "the plugin is disabled, and stays so: herdr plugin enable %s switches it on", herdr.OwnPlugin)
	}
	on := l.have == nil || l.have.Enabled
	if err := p.Watcher.HandOver(ctx, r, stale, on); err != nil {
		return err
	}
	p.keys(r)
	return nil
}

// prepare looks at everything, so that what can't be done fails before
// anything is changed.
func (p *Plugin) prepare(ctx context.Context) (*linking, error) {
	if err := p.Tools.Check("shq", "shwatch", "shctl"); err != nil {
		return nil, err
	}
	l := &linking{Plugin: p, want: NewManifest(p.Tools, p.Version)}
	text, err := l.want.TOML()
	if err != nil {
		return nil, err
	}
	old, err := Read(p.manifestPath())
	if err != nil {
		return nil, err
	}
	l.file = File{Path: p.manifestPath(), Old: old, New: text, Mode: 0o644}
	if l.cli, err = p.cli(ctx); err != nil {
		return nil, err
	}
	if l.have, err = l.cli.find(ctx); err != nil {
		return nil, err
	}
	l.server = p.Watcher.serverRuns(ctx)
	if !l.file.same() {
		return l, l.file.Writable()
	}
	return l, nil
}

// stale reports whether herdr must be told anew.
func (l *linking) stale() bool {
	return l.have == nil || !l.file.same() || !l.linkedHere() || l.want.differs(*l.have) != ""
}

func (p *Plugin) ours(have herdr.Plugin) bool {
	return have.PluginRoot == p.Dir() || samePlace(have.PluginRoot, p.Dir())
}

func (l *linking) linkedHere() bool {
	return l.have.Source.Kind != herdr.SourceGitHub && l.ours(*l.have)
}

// link unlinks what is linked and links the new manifest (field report A49).
// When either fails the manifest is put back as it was, so that the next run
// sees the change again, and so is the link.
func (l *linking) link(ctx context.Context, r *Run) error {
	if l.have != nil && !l.linkedHere() {
		r.Note("link", "%s, and is replaced", came(*l.have))
	}
	ctx = context.WithoutCancel(ctx)             // half of it done would be worse
	disabled := l.have != nil && !l.have.Enabled // left out, it would be switched on again
	if l.have != nil && l.server {
		if err := l.cli.run(ctx, r, "unlink", "unlink", herdr.OwnPlugin); err != nil {
			return l.back(ctx, r, err, false)
		}
	}
	if err := l.cli.link(ctx, r, l.Dir(), disabled); err != nil {
		return l.back(ctx, r, err, l.have != nil && l.server)
	}
	if r.DryRun {
		return nil
	}
	now, err := l.cli.find(ctx)
	if err != nil {
		return err
	}
	if now == nil || !l.ours(*now) {
		return fmt.Errorf("herdr linked %s, but does not list it: restart herdr's server, and run this again", l.Dir())
	}
	if what := l.want.differs(*now); what != "" {
		return fmt.Errorf("herdr goes on with older %s of the plugin than %s has: restart herdr's server, and run this again", what, l.manifestPath())
	}
	r.Changed("link", "herdr %s has %s linked", l.cli.version, l.Dir())
	for _, w := range now.Warnings {
		r.Note("link", "herdr warns: %s", w)
	}
	return nil
}

// back undoes what was done before a failure, as far as it can.
func (l *linking) back(ctx context.Context, r *Run, cause error, unlinked bool) error {
	undo := File{Path: l.file.Path, Old: l.file.New, New: l.file.Old, Mode: l.file.Mode}
	if !undo.same() {
		if err := r.apply(undo); err != nil {
			return fmt.Errorf("%w; and put the manifest back: %w", cause, err)
		}
		r.Note("manifest", "%s is as it was", l.file.Path)
	}
	if !unlinked || l.file.Old == nil && l.linkedHere() {
		return cause
	}
	if err := l.cli.link(ctx, r, l.have.PluginRoot, !l.have.Enabled); err != nil {
		return fmt.Errorf("%w; and link %s again: %w", cause, l.have.PluginRoot, err)
	}
	r.Note("link", "%s is linked again", l.have.PluginRoot)
	return cause
}

// came says where a plugin of our id that is not this one came from.
func came(have herdr.Plugin) string {
	if have.Source.Kind == herdr.SourceGitHub {
		return fmt.Sprintf("a plugin %s was installed from GitHub (%s/%s; herdr leaves its files in %s)", herdr.OwnPlugin, have.Source.Owner, have.Source.Repo, have.Source.ManagedPath)
	}
	return fmt.Sprintf("a plugin %s was linked from %s", herdr.OwnPlugin, have.PluginRoot)
}

// Remove unlinks the plugin, ends the watcher and removes the manifest.
func (p *Plugin) Remove(ctx context.Context, r *Run) error {
	cli, err := p.cli(ctx)
	switch {
	case errors.Is(err, ErrProgram):
		r.Note("unlink", "%v; nothing was unlinked", err)
	case err != nil:
		return err
	default:
		if err := p.unlink(ctx, r, cli); err != nil {
			return err
		}
	}
	now, err := p.Watcher.Watch.Now()
	if err == nil {
		err = p.Watcher.stop(ctx, r, now)
	}
	if err != nil {
		return err
	}
	old, err := Read(p.manifestPath())
	if err != nil {
		return err
	}
	if err := r.Write("manifest", File{Path: p.manifestPath(), Old: old}); err != nil {
		return err
	}
	if err := r.prune("folder", p.Dir(), p.manifestPath()); err != nil {
		return err
	}
	return r.prune("folder", p.Data, p.Dir())
}

func (p *Plugin) unlink(ctx context.Context, r *Run, cli herdrCLI) error {
	have, err := cli.find(ctx)
	switch {
	case err != nil:
		return err
	case have == nil:
		r.Unchanged("unlink", "the plugin is not linked")
		return nil
	case have.Source.Kind == herdr.SourceGitHub || !p.ours(*have):
		r.Note("unlink", "%s: it is not ours, and stays", came(*have))
		return nil
	case !p.Watcher.serverRuns(ctx):
		return fmt.Errorf("%w, and only it can unlink a plugin: start herdr, and run shinstall plugin --remove again (nothing was removed)", ErrNoServer)
	}
	if err := cli.run(ctx, r, "unlink", "unlink", herdr.OwnPlugin); err != nil || r.DryRun {
		return err
	}
	r.Changed("unlink", "herdr %s knows the plugin no more", cli.version)
	return nil
}

// PluginFacts are what only the plugin has to tell.
type PluginFacts struct {
	Herdr        string   `json:"herdr,omitempty"` // the program
	HerdrVersion string   `json:"herdr_version,omitempty"`
	Server       bool     `json:"server"` // does one run
	Linked       string   `json:"linked,omitempty"`
	Enabled      bool     `json:"enabled"`
	Manifest     bool     `json:"manifest"` // is the file as this version writes it
	Warnings     []string `json:"warnings,omitempty"`
}

// Look tells how the plugin is linked.
func (p *Plugin) Look(ctx context.Context) Part {
	part := Part{Part: p.Name(), State: Missing, Path: p.manifestPath(), Do: "shinstall plugin"}
	facts := PluginFacts{Server: p.Watcher.serverRuns(ctx)}
	if err := p.look(ctx, &part, &facts); err != nil {
		part.State, part.Detail, part.Do = Unclear, err.Error(), ""
	}
	part.Facts = facts
	return part
}

func (p *Plugin) look(ctx context.Context, part *Part, facts *PluginFacts) error {
	want := NewManifest(p.Tools, p.Version)
	text, err := want.TOML()
	if err != nil {
		return err
	}
	old, err := Read(p.manifestPath())
	if err != nil {
		return err
	}
	facts.Manifest = string(old) == string(text)
	cli, err := p.cli(ctx)
	if err != nil {
		return err
	}
	facts.Herdr, facts.HerdrVersion = cli.program, cli.version
	have, err := cli.find(ctx)
	if err != nil || have == nil {
		return err
	}
	facts.Linked, facts.Enabled, facts.Warnings = have.PluginRoot, have.Enabled, have.Warnings
	p.judge(part, *have, facts.Manifest, want.differs(*have))
	return nil
}

// judge says how a plugin that herdr lists differs from what it should be.
func (p *Plugin) judge(part *Part, have herdr.Plugin, manifest bool, what string) {
	part.Version = have.Version
	switch {
	case have.Source.Kind == herdr.SourceGitHub || !p.ours(have):
		part.State, part.Detail = Stale, came(have)
	case !manifest:
		part.State, part.Detail = Stale, "the manifest is not as this version writes it"
	case what != "":
		part.State, part.Detail = Stale, "herdr goes on with older "+what
	case !have.Enabled:
		part.State, part.Detail, part.Do = Off, "disabled", "herdr plugin enable "+herdr.OwnPlugin
	default:
		part.State, part.Do = Ready, ""
	}
}
