package digest

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"sessionhub/lib/jsonl"
	"sessionhub/lib/record"
)

// maxLine is the longest line that is read. A line with a large image has
// more: it is passed over, counted, and never held (field report A57).
const maxLine = 1 << 20

// markLen is how many bytes before the offset are looked at to tell whether
// the file is still the one that was read.
const markLen = 64

// memory is how far a transcript has been read, and what was found.
type memory struct {
	Session string    `json:"session"`
	Size    int64     `json:"size"`  // of the file, when it was read
	MTime   time.Time `json:"mtime"` // of the file then
	Inode   uint64    `json:"inode"`
	Offset  int64     `json:"offset"`          // behind the last whole line
	Mark    string    `json:"mark,omitempty"`  // hash of the markLen bytes before it
	Inside  bool      `json:"inside,omitzero"` // the offset is within a line that is too long
	Tally   tally     `json:"tally"`

	now  tally // Tally and an unfinished last line, when that is whole JSON
	read int64 // bytes read by the last step
}

// same reports whether the file is as it was when it was read.
func (m *memory) same(st os.FileInfo) bool {
	return m.Size == st.Size() && m.MTime.Equal(st.ModTime()) && m.Inode == inode(st)
}

func inode(st os.FileInfo) uint64 {
	if sys, ok := st.Sys().(*syscall.Stat_t); ok {
		return sys.Ino
	}
	return 0
}

// source reads a file until its context ends, and counts.
type source struct {
	ctx  context.Context
	file io.ReaderAt
	read int64
}

func (s *source) ReadAt(p []byte, off int64) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := s.file.ReadAt(p, off)
	s.read += int64(n)
	return n, err
}

// mark is the hash of the bytes before an offset.
func (s *source) mark(offset int64) (string, error) {
	b := make([]byte, min(offset, markLen))
	if _, err := s.ReadAt(b, offset-int64(len(b))); err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	h := fnv.New64a()
	h.Write(b)
	return strconv.FormatUint(h.Sum64(), 36), nil
}

// step reads what a transcript has got since old, which may be empty; all of
// it, when it is not the file that old speaks of: another inode, shorter than
// what was read, or other bytes before the offset. It reads up to the size
// that the file has at the start. When the context ends, the memory returned
// with the error goes as far as was read, and the next step goes on from there.
func step(ctx context.Context, path string, old memory) (memory, error) {
	m, err := readOn(ctx, path, old)
	if err != nil {
		return m, fmt.Errorf("read %s: %w", filepath.Base(path), err)
	}
	return m, nil
}

func readOn(ctx context.Context, path string, old memory) (memory, error) {
	st, err := os.Stat(path)
	if err != nil {
		return old, bare(err)
	}
	if !st.Mode().IsRegular() { // a pipe would hang
		return old, errors.New("it is not a regular file")
	}
	f, err := os.Open(path)
	if err != nil {
		return old, bare(err)
	}
	defer f.Close()
	if st, err = f.Stat(); err != nil {
		return old, err
	}
	src := &source{ctx: ctx, file: f}
	m := old
	if m.Inode != inode(st) || m.Offset < 0 || m.Offset > st.Size() || !m.fits(src) {
		m = memory{}
	}
	m.Session = strings.TrimSuffix(filepath.Base(path), ".jsonl")
	m.Size, m.MTime, m.Inode = st.Size(), st.ModTime().UTC(), inode(st)
	m.Tally = m.Tally.clone() // old stays as it is
	err = m.lines(io.NewSectionReader(src, m.Offset, m.Size-m.Offset))
	src.ctx = context.WithoutCancel(ctx) // what was read must not be read again
	mark, merr := src.mark(m.Offset)
	if merr != nil {
		return old, merr
	}
	m.Mark, m.read = mark, src.read
	return m, err
}

// bare is an error of the file system without the path, which the caller names.
func bare(err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

func (m *memory) fits(src *source) bool {
	if m.Offset == 0 {
		return true
	}
	mark, err := src.mark(m.Offset)
	return err == nil && mark == m.Mark
}

// lines takes in the lines of r, which begins at the offset. A last line
// without its newline counts when it is whole, but is read again.
func (m *memory) lines(r io.Reader) error {
	lr := jsonl.NewReader(r, maxLine)
	start := m.Offset
	for {
		b, err := lr.Next()
		if err != nil {
			m.Tally.settle()
			m.now = m.Tally
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		var l line
		short := !b.Long && !m.Inside
		ok := short && l.parse(b.Bytes)
		if short && b.Torn {
			m.Tally.settle()
			m.now = m.Tally.clone()
			if ok {
				m.now.add(&l)
				m.now.settle()
			}
			return nil
		}
		if ok {
			m.Tally.add(&l)
		}
		if b.Long && !m.Inside {
			m.Tally.Skipped++
		}
		m.Offset = start + b.Offset + b.Size
		if m.Inside = b.Torn; !b.Torn {
			m.Offset++ // its newline
		}
	}
}

// digest is what the memory says. hint is the title of a session that has none.
func (m *memory) digest(hint string) record.Digest {
	t := &m.now
	title := t.CustomTitle
	for _, other := range []string{t.AITitle, clean(hint, textLen)} {
		if title == "" {
			title = other
		}
	}
	at := t.At
	if at.IsZero() {
		at = record.At(m.MTime)
		if _, err := record.ParseTime(at.String()); err != nil { // a clock that never was set
			at = record.At(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC))
		}
	}
	return record.Digest{
		Session: m.Session, Title: title, FirstPrompt: t.FirstPrompt, LastPrompt: t.LastPrompt, LastReply: t.LastReply, Recap: t.Recap,
		Turns: t.Turns, Model: t.Model, Tokens: t.Tokens, GitBranch: t.GitBranch, UpdatedAt: at, Size: m.Size, SkippedLines: t.Skipped,
	}
}
