package install

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sessionhub/lib/jsonedit"
)

// Hooks writes entries for `shq hook …` into Claude Code's settings.json. The
// file is its user's: everything else in it stays to the byte, one that does
// not parse is not touched (field report A31), and beside it lies a copy of how
// it is without sessionhub.
type Hooks struct {
	Tools Tools
	Home  string // Claude Code's folder
	Rows  []Row
}

// BackupSuffix is what the name of the copy ends with.
const BackupSuffix = ".before-sessionhub"

// Name is "hooks".
func (h *Hooks) Name() string { return "hooks" }

func (h *Hooks) path() string { return filepath.Join(h.Home, "settings.json") }

// settingsFile is settings.json as it was found.
type settingsFile struct {
	path   string // as people know it
	real   string // with its links followed
	text   []byte // nil when there is none
	backup []byte // nil when there is none
}

func (h *Hooks) read() (s settingsFile, err error) {
	s.path = h.path()
	if s.real, err = Resolve(s.path); err != nil {
		return s, err
	}
	if s.text, err = Read(s.real); err != nil {
		return s, err
	}
	s.backup, err = Read(s.backupPath())
	return s, err
}

func (s settingsFile) backupPath() string { return s.path + BackupSuffix }

// change is a file whose content becomes another.
func (s settingsFile) change(text []byte) File {
	return File{Path: s.real, Old: s.text, New: text, Mode: 0o600}
}

// save is the backup whose content becomes another.
func (s settingsFile) save(text []byte) File {
	f := File{Path: s.backupPath(), Old: s.backup, New: text, Mode: 0o600, Copy: s.path}
	if st, err := os.Stat(s.real); err == nil { // it says no less than the original
		f.Mode = st.Mode().Perm()
	}
	return f
}

// refused says what is wrong with the settings, and that nothing was done.
func (s settingsFile) refused(err error) error {
	var syntax *jsonedit.SyntaxError
	if errors.As(err, &syntax) {
		return fmt.Errorf("%s, %w: Claude Code ignores all of a file like this; mend it by hand first (nothing was changed)", s.path, err)
	}
	return fmt.Errorf("%s: %w; mend it by hand first (nothing was changed)", s.path, err)
}

// writable says before anything is written that the settings can't be.
func (s settingsFile) writable(f File) error {
	err := f.Writable()
	if err == nil {
		return nil
	}
	if s.real != s.path {
		return fmt.Errorf("%s is a link to %s, which is not yours to write here: add the hooks where that file is made, shinstall hooks --dry-run shows them: %w", s.path, s.real, err)
	}
	return err
}

// Install adds the entries that are missing and mends those that are not as
// they should be.
func (h *Hooks) Install(_ context.Context, r *Run) error {
	if err := h.Tools.Check("shq"); err != nil {
		return err
	}
	s, err := h.read()
	if err != nil {
		return err
	}
	text, err := plant(s.text, h.Rows, h.Tools.Path("shq"))
	if err != nil {
		return s.refused(err)
	}
	f := s.change(text)
	if !f.same() {
		if err := h.write(r, s, f); err != nil {
			return err
		}
	} else {
		r.tell(Step{Step: "settings", Outcome: Unchanged, Path: s.path, Detail: h.count(text)})
	}
	h.notes(r, text)
	return nil
}

// write keeps the settings without sessionhub beside them, and then writes.
func (h *Hooks) write(r *Run, s settingsFile, f File) error {
	if !r.DryRun { // which shows what a person may have to write by hand
		if err := s.writable(f); err != nil {
			return err
		}
	}
	if s.text != nil {
		without, err := uproot(s.text, s.backup)
		if err != nil {
			return s.refused(err)
		}
		if b := s.save(without); without != nil && !b.same() {
			if err := r.Write("backup", b); err != nil {
				return err
			}
		}
	}
	if err := r.Write("settings", f); err != nil {
		return err
	}
	if !r.DryRun {
		r.Note("when", "%s; sessions that run take them up with their next event", h.count(f.New))
	}
	return nil
}

// Remove takes our entries out, and what held nothing else.
func (h *Hooks) Remove(_ context.Context, r *Run) error {
	s, err := h.read()
	if err != nil {
		return err
	}
	text, err := uproot(s.text, s.backup)
	if err != nil && s.text != nil {
		return s.refused(err)
	}
	f := s.change(text)
	if err := s.writable(f); err != nil && !f.same() && !r.DryRun {
		return err
	}
	if err := r.Write("settings", f); err != nil {
		return err
	}
	if s.backup != nil && s.text != nil {
		if err := r.Write("backup", s.save(nil)); err != nil {
			return err
		}
	}
	if s.text != nil && text == nil {
		return r.prune("folder", filepath.Dir(s.path), s.path)
	}
	return nil
}

// notes tell what keeps the hooks from running, or doubles them.
func (h *Hooks) notes(r *Run, text []byte) {
	d, err := parseSettings(text)
	if err != nil {
		return
	}
	if disabled(d) {
		r.Note("switched off", `"disableAllHooks" is true in %s: Claude Code runs no hook at all`, h.path())
	}
	if n := foreign(d, "sessionhub"); n > 0 {
		r.Note("foreign", "%s has %d of another program, `sessionhub hook …`, which tell of the same sessions: they are left as they are", h.path(), n)
	}
}

// disabled reports whether the settings switch all hooks off.
func disabled(d *jsonedit.Doc) bool {
	v, _ := d.Root.Member("disableAllHooks")
	return v.Kind == jsonedit.Bool && string(d.Text[v.Start:v.End]) == "true"
}

// count is how many of the rows are there, for people.
func (h *Hooks) count(text []byte) string {
	return fmt.Sprintf("%d of %d hooks are in place", h.have(text), len(h.Rows))
}

func (h *Hooks) have(text []byte) int {
	n := 0
	for _, r := range h.Rows { // as it should be is what planting leaves alone
		if one, err := plant(text, []Row{r}, h.Tools.Path("shq")); err == nil && text != nil && string(one) == string(text) {
			n++
		}
	}
	return n
}

// HooksFacts are what only the hooks have to tell.
type HooksFacts struct {
	Wanted    int      `json:"wanted"`
	Installed int      `json:"installed"`
	Programs  []string `json:"programs,omitempty"` // that entries of ours name
	Disabled  bool     `json:"disabled,omitempty"` // "disableAllHooks"
	Foreign   int      `json:"foreign,omitempty"`  // entries of `sessionhub hook …`
}

// Look tells which hooks are there.
func (h *Hooks) Look(context.Context) Part {
	p := Part{Part: h.Name(), State: Missing, Path: h.path(), Do: "shinstall hooks"}
	facts := HooksFacts{Wanted: len(h.Rows)}
	s, err := h.read()
	var d *jsonedit.Doc
	if err == nil {
		d, err = parseSettings(s.text)
	}
	if err != nil {
		p.State, p.Detail, p.Do = Unclear, err.Error(), "mend it by hand"
		p.Facts = facts
		return p
	}
	facts.Installed, facts.Foreign = h.have(s.text), foreign(d, "sessionhub")
	for _, o := range ours(d) {
		if !slices.Contains(facts.Programs, o.program) {
			facts.Programs = append(facts.Programs, o.program)
		}
	}
	facts.Disabled = disabled(d)
	p.Detail = fmt.Sprintf("%d of %d hooks", facts.Installed, facts.Wanted)
	if len(facts.Programs) > 0 {
		p.Detail += " run " + strings.Join(facts.Programs, ", ")
	}
	switch {
	case len(facts.Programs) == 0:
	case facts.Installed < facts.Wanted || len(facts.Programs) > 1:
		p.State = Stale
	case facts.Disabled:
		p.State, p.Do = Off, `"disableAllHooks" is true`
	default:
		p.State, p.Do = Ready, ""
	}
	p.Facts = facts
	return p
}
