package install

import (
	"context"
	"os"
	"path/filepath"
	"strings"
)

// books are the ledger while a target works on files that a person may change
// as well.
type books struct {
	by     string // the target
	ledger *ledger
}

func openBooks(data, by string) (*books, error) {
	l, err := readLedger(data)
	return &books{by: by, ledger: l}, err
}

// removeFile removes a file, or what was put in front of it. gone reports
// whether there is none any more.
func (b *books) removeFile(r *Run, step string, f File) (gone bool, err error) {
	w, ours := b.ledger.of(f.Path, b.by)
	if !ours {
		if f.Old != nil {
			r.Unchanged(step, "%s was not written by shinstall %s, and stays", f.Path, b.by)
		}
		return false, nil
	}
	b.ledger.forget(f.Path)
	rest, block := strings.CutPrefix(string(f.Old), w.Block)
	switch {
	case f.Old == nil:
		return true, nil
	case w.Block != "" && block:
		f.New = []byte(rest)
	case b.ledger.asWritten(f.Path, forbidAnswers(f.Old)) && !b.ledger.asWritten(f.Path, f.Old):
		r.Note(step, "%s has the line of shinstall hooks --answers, and stays with it: shinstall hooks %s --remove takes both away", f.Path, b.by)
		return false, nil
	case w.Block != "" || !b.ledger.asWritten(f.Path, f.Old):
		r.Note(step, "%s was changed since shinstall wrote it, and stays", f.Path)
		return false, nil
	}
	return f.New == nil, r.Write(step, f)
}

// prune removes sessionhub's folder of data when nothing but the ledger was in it,
// and nothing is in the ledger.
func (b *books) prune(r *Run) error {
	if len(b.ledger.now.Files) > 0 {
		return nil
	}
	return r.prune("folder", filepath.Dir(b.ledger.file.Path), b.ledger.file.Path)
}

// units are a job's files as they should be. One that a person made or changed
// stays, and the job is that person's to start: mine is false then.
func (b *books) units(r *Run, m Manager, job Job) (files []File, mine bool, err error) {
	if err := job.check(); err != nil {
		return nil, false, err
	}
	files, mine = m.Files(job), true
	for i := range files {
		f := &files[i]
		if f.Path, err = Resolve(f.Path); err != nil {
			return nil, false, err
		}
		if f.Old, err = Read(f.Path); err != nil {
			return nil, false, err
		}
		if f.Old != nil && !f.same() && !b.ledger.asWritten(f.Path, f.Old) {
			r.Note("unit", "%s is not as shinstall wrote it: it stays, and is yours to start; remove it to have it made anew", f.Path)
			mine = false
		}
	}
	return files, mine, nil
}

// writeUnits writes a job's files, which have the named programs run. fresh reports
// whether one was not as it should be.
func (b *books) writeUnits(r *Run, files []File, runs ...string) (fresh bool, err error) {
	for _, f := range files {
		if f.same() {
			continue
		}
		fresh = true
		if err := f.Writable(); err != nil && !r.DryRun {
			return false, err
		}
		b.ledger.note(f, b.by, "", runs...)
	}
	if err := b.ledger.save(r); err != nil {
		return false, err
	}
	for _, f := range files {
		if err := r.Write("unit", f); err != nil {
			return false, err
		}
	}
	return fresh, nil
}

// retire ends a job and removes its files, also where the manager that it was
// made for is not the one that is in reach now.
func (b *books) retire(ctx context.Context, r *Run, k Kind, m Manager, getenv func(string) string) error {
	for _, other := range managers(k, getenv) {
		reached := m != nil && m.Name() == other.Name()
		if reached {
			other = m
		}
		if err := b.retireAt(ctx, r, k, other, reached); err != nil {
			return err
		}
	}
	return nil
}

func (b *books) retireAt(ctx context.Context, r *Run, k Kind, m Manager, reached bool) error {
	var files []File
	for _, path := range m.Paths() {
		old, err := Read(path)
		if err != nil {
			return err
		}
		if old != nil {
			files = append(files, File{Path: path, Old: old})
		}
	}
	main := m.Paths()[0]
	switch {
	case len(files) == 0:
		if reached {
			r.Unchanged(k.step(), "there is none")
		}
		return nil
	case !reached:
		r.Note(k.step(), "%s is out of reach here: %s that it runs goes on until it is asked again", m.Name(), k.What)
	case files[0].Path == main:
		if err := m.Stop(ctx, r); err != nil {
			return err
		}
	}
	var going []string
	for _, f := range files {
		gone, err := b.removeFile(r, "unit", f)
		if err != nil {
			return err
		}
		if gone {
			going = append(going, f.Path)
		}
	}
	if len(going) == 0 {
		return nil
	}
	if err := told(ctx, r, k, m, reached); err != nil {
		return err
	}
	return r.pruneUp("folder", filepath.Dir(main), going...)
}

// told has a manager, or the links that it made, forget a job.
func told(ctx context.Context, r *Run, k Kind, m Manager, reached bool) error {
	if !reached {
		return unlinkWanted(r, m.Paths()[0])
	}
	if err := m.Removed(ctx, r); err != nil {
		return err
	}
	if !r.DryRun {
		r.Changed(k.step(), "%s knows %s no more", m.Name(), k.What)
	}
	return nil
}

// unlinkWanted removes the link by which systemd starts the unit, where systemd
// itself can't be asked to.
func unlinkWanted(r *Run, unit string) error {
	target := "default.target"
	if filepath.Ext(unit) == ".timer" {
		target = "timers.target"
	}
	link := filepath.Join(filepath.Dir(unit), target+".wants", filepath.Base(unit))
	if to, err := os.Readlink(link); err != nil || r.DryRun || to != unit {
		return nil
	}
	if err := os.Remove(link); err != nil {
		return err
	}
	return r.prune("folder", filepath.Dir(link))
}
