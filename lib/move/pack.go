package move

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"sessionhub/lib/bundle"
	"sessionhub/lib/git"
	"sessionhub/lib/move/conversation"
	"sessionhub/lib/move/tree"
	"sessionhub/lib/record"
	"sessionhub/lib/seal"
)

// Packing is what is to go into a bundle.
type Packing struct {
	Move      string
	Session   string
	Cwd       string // where the session runs
	Recipient string // the key of the machine that it is for
	// Commits has commits that origin lacks travel in the bundle: there is no push.
	Commits bool
	// Claude is the version that wrote the transcript.
	Claude string
}

// Load is what was found to be packed.
type Load struct {
	Manifest record.Manifest // without entries
	Tree     *tree.Captured
	Files    conversation.Files
	Entries  []conversation.Entry
	Commits  string // the file with commits, "" without
	Size     int64  // of all of it, in bytes
}

// Plan finds what would travel, and changes nothing. into is a private empty
// folder for patches. It fails where something can't travel, or is too large.
func (e *End) Plan(ctx context.Context, p Packing, into string) (*Load, error) {
	files, err := conversation.Find(e.Home, p.Session, p.Cwd)
	if err != nil {
		return nil, in("build bundle", err)
	}
	c, err := tree.Source{MaxUntracked: e.MaxUntracked}.Capture(ctx, p.Cwd, into)
	if err != nil {
		return nil, in("read repo", err)
	}
	entries, left, err := files.Entries()
	if err != nil {
		return nil, in("build bundle", err)
	}
	l := &Load{Tree: c, Files: files, Entries: entries}
	if p.Commits {
		path := filepath.Join(into, "commits.bundle")
		some, err := c.Commits(ctx, path)
		if err != nil {
			return nil, in("read repo", err)
		}
		if some {
			l.Commits = path
		}
	}
	l.Manifest = record.Manifest{
		V: record.Version, Move: p.Move, Session: p.Session, From: e.Machine, At: record.At(e.Now()), Claude: p.Claude,
		Git: c.Git, Dir: git.Quote(c.Dir), Cwd: p.Cwd, Transcript: files.Transcript, NotCarried: append(left, c.NotCarried...),
	}
	if l.Size, err = l.size(); err != nil {
		return nil, in("build bundle", err)
	}
	if l.Size > e.Limit {
		return nil, inf("build bundle", "it has %d MiB, over the limit of %d: move large untracked files out of the way", l.Size>>20, e.Limit>>20)
	}
	return l, nil
}

// patches are the files of Git's making, by their names in a bundle.
func (l *Load) patches() []struct{ name, path string } {
	all := []struct{ name, path string }{{"commits.bundle", l.Commits}, {"staged.patch", l.Tree.Staged}, {"changes.patch", l.Tree.Changes}}
	some := all[:0]
	for _, p := range all {
		if p.path != "" {
			some = append(some, p)
		}
	}
	return some
}

func (l *Load) size() (int64, error) {
	var sum int64
	for _, e := range l.Entries {
		sum += e.Size
	}
	for _, p := range l.patches() {
		st, err := os.Stat(p.path)
		if err != nil {
			return 0, err
		}
		sum += st.Size()
	}
	for _, f := range l.Tree.Untracked {
		sum += f.Size
	}
	return sum, nil
}

// content are the files of the bundle in their order.
func (l *Load) content() []bundle.File {
	var list []bundle.File
	for _, e := range l.Entries {
		list = append(list, bundle.File{Name: e.Name, Mode: e.Mode, Open: opener(e.Path)})
	}
	for _, p := range l.patches() {
		list = append(list, bundle.File{Name: p.name, Mode: 0o600, Open: opener(p.path)})
	}
	for _, f := range l.Tree.Untracked {
		list = append(list, bundle.File{
			Name: tree.EntryName(f), Mode: fs.FileMode(f.Mode), Link: f.Link,
			Open: func() (io.ReadCloser, error) { return l.Tree.Open(f) },
		})
	}
	return list
}

func opener(path string) func() (io.ReadCloser, error) {
	return func() (io.ReadCloser, error) { return os.Open(path) }
}

// Write packs what was found, signed, for the recipient. scratch is a private
// folder: at the end the tree is looked at once more, as a bundle of two
// moments would be none.
func (e *End) Write(ctx context.Context, w io.Writer, l *Load, recipient, scratch string) (record.Manifest, error) {
	if err := e.keys(); err != nil {
		return l.Manifest, in("seal", err)
	}
	m := l.Manifest
	e.Keys.Bind(&m)
	m.Recipient = recipient
	m, err := bundle.Write(w, m, l.content(), e.Limit, e.Keys.Sign)
	if err != nil {
		return m, in("build bundle", err)
	}
	return m, in("read repo", l.Tree.Unchanged(ctx, scratch))
}

// try reads everything that was found, and is the error that packing it would
// end with. Files may still change: the session runs.
func (e *End) try(l *Load, recipient string) error {
	m, err := l.Describe()
	if errors.Is(err, fs.ErrNotExist) {
		return nil // gone meanwhile, as files of a running session go: packing lists anew
	}
	if err != nil {
		return err
	}
	e.Keys.Bind(&m)
	m.Recipient = recipient
	return bundle.CheckManifest(m)
}

// seal packs into a sealed file and describes it.
func (e *End) seal(ctx context.Context, l *Load, recipient, path, scratch string) (record.Manifest, *record.Bundle, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return record.Manifest{}, nil, in("seal", err)
	}
	sum, n := sha256.New(), &count{}
	sealed, err := seal.Seal(io.MultiWriter(f, sum, n), recipient)
	if err != nil {
		return record.Manifest{}, nil, errors.Join(in("seal", err), f.Close())
	}
	m, err := e.Write(ctx, sealed, l, recipient, scratch)
	if err == nil {
		err = in("seal", sealed.Close())
	}
	if err == nil {
		err = in("seal", f.Sync())
	}
	if err = errors.Join(err, in("seal", f.Close())); err != nil {
		return m, nil, err
	}
	return m, &record.Bundle{Size: n.n, SHA256: hex.EncodeToString(sum.Sum(nil))}, nil
}

// count counts what is written to it.
type count struct{ n int64 }

func (c *count) Write(p []byte) (int, error) {
	c.n += int64(len(p))
	return len(p), nil
}

// fresh makes a private folder anew.
func fresh(path string) error {
	if err := os.RemoveAll(path); err != nil {
		return err
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return fmt.Errorf("make %s: %w", path, err)
	}
	return nil
}
