package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"sessionhub/lib/record"
)

// Bundles lie beside the database, one file a move: DATABASE.bundles/ID.age,
// while the move is uploaded, unpacking or starting. What is still arriving has
// another ending.
const (
	bundleEnding = ".age"
	partEnding   = ".part"
)

func (s *Store) bundleDir() string { return s.path + ".bundles" }

func (s *Store) bundlePath(move string) string {
	return filepath.Join(s.bundleDir(), move+bundleEnding)
}

// removeFiles removes what nobody needs. What can't be removed now goes when
// the hub starts again (CleanBundles).
func removeFiles(paths []string) {
	for _, p := range paths {
		os.Remove(p)
	}
}

// Part is a bundle that arrives. Write to it, then Keep or Drop it.
type Part struct {
	store *Store
	file  *os.File
	sum   hash.Hash
	size  int64
}

// NewPart begins a bundle of a move.
func (s *Store) NewPart(move string) (*Part, error) {
	if err := record.CheckID("move", move); err != nil { // it becomes a file's name
		return nil, err
	}
	if err := os.MkdirAll(s.bundleDir(), 0o700); err != nil {
		return nil, fmt.Errorf("bundle: %w", full(err))
	}
	f, err := os.CreateTemp(s.bundleDir(), move+".*"+partEnding) // 0600
	if err != nil {
		return nil, fmt.Errorf("bundle: %w", full(err))
	}
	return &Part{store: s, file: f, sum: sha256.New()}, nil
}

func (p *Part) Write(b []byte) (int, error) {
	n, err := p.file.Write(b)
	p.sum.Write(b[:n])
	p.size += int64(n)
	return n, full(err)
}

// Bundle is what has arrived.
func (p *Part) Bundle() record.Bundle {
	return record.Bundle{Size: p.size, SHA256: hex.EncodeToString(p.sum.Sum(nil))}
}

// Drop forgets it, unless it was kept.
func (p *Part) Drop() {
	p.file.Close()
	os.Remove(p.file.Name())
}

// Keep makes it the bundle of a move, which is uploaded then (TakeBundle).
func (p *Part) Keep(ctx context.Context, machine, move string, now func() time.Time) (record.Move, error) {
	if err := errors.Join(p.file.Sync(), p.file.Close()); err != nil {
		return record.Move{}, fmt.Errorf("bundle: %w", full(err))
	}
	var m record.Move
	err := p.store.Write(ctx, func(tx *Tx) (err error) {
		m, err = takeBundle(tx, machine, move, p.Bundle(), func() error { return p.place(tx, move) }, now())
		return err
	})
	return m, err
}

// place gives the file its name, for good.
func (p *Part) place(tx *Tx, move string) error {
	path := p.store.bundlePath(move)
	tx.placed = append(tx.placed, path)
	if err := os.Rename(p.file.Name(), path); err != nil {
		return fmt.Errorf("bundle: %w", full(err))
	}
	d, err := os.Open(p.store.bundleDir())
	if err == nil {
		err = errors.Join(d.Sync(), d.Close())
	}
	if err != nil {
		return fmt.Errorf("bundle: %w", full(err))
	}
	return nil
}

// full tells a full disk from other faults.
func full(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return errors.Join(ErrFull, err)
	}
	return err
}

// CheckUpload tells whether a machine may upload a bundle of a move now.
// ErrUnknown for any machine but its source; MoveConflict when it is not
// packing. known: the hub has this very bundle already.
func (s *Store) CheckUpload(ctx context.Context, machine, move string, b record.Bundle, now time.Time) (m record.Move, known bool, err error) {
	row, err := findMove(s.reader(ctx), move)
	if err == nil {
		known, err = row.takes(machine, b, now)
	}
	return row.record(), known, err
}

func (m *move) takes(machine string, b record.Bundle, now time.Time) (known bool, err error) {
	switch {
	case machine != m.source:
		return false, ErrUnknown
	case m.sha == b.SHA256 && m.size == b.Size:
		return true, nil
	case m.sha != "":
		return false, m.conflict("the hub has another bundle of this move already")
	case m.state != record.MovePacking || m.overdue(now):
		return false, m.conflict("the move is %s: a bundle is taken while it is packing", m.state)
	}
	return false, nil
}

// takeBundle notes a bundle that is there whole, and asks the target to take
// it. The same one again changes nothing.
func takeBundle(tx *Tx, machine, id string, b record.Bundle, place func() error, now time.Time) (record.Move, error) {
	m, err := currentMove(tx, id, now)
	if err != nil {
		return record.Move{}, err
	}
	if known, err := m.takes(machine, b, now); known || err != nil {
		return m.record(), err
	}
	out, ok, err := one(tx, scanRequest, "SELECT "+requestColumns+" FROM requests WHERE move = ? AND action = ? AND ended_at = 0", m.id, string(record.ActionMoveOut))
	if err == nil && ok {
		err = end(tx, &out, record.Result{State: record.RequestDone}, now)
	}
	if err != nil {
		return record.Move{}, fmt.Errorf("bundle: %w", err)
	}
	if m.outAt == 0 { // whoever uploads has begun
		m.outAt = now.UnixMilli()
	}
	m.size, m.sha = b.Size, b.SHA256
	m.enter(record.MoveUploaded, now)
	if err := m.ask(tx, record.ActionMoveIn, m.target, now); err != nil {
		return record.Move{}, fmt.Errorf("bundle: %w", err)
	}
	if err := m.save(tx); err != nil {
		return record.Move{}, err
	}
	return m.record(), place()
}

// OpenBundle opens the bundle of a move for its target. ErrUnknown for any
// other machine; MoveConflict while the hub has none.
func (s *Store) OpenBundle(ctx context.Context, machine, move string) (*os.File, record.Bundle, error) {
	m, err := findMove(s.reader(ctx), move)
	if err != nil {
		return nil, record.Bundle{}, err
	}
	if machine != m.target {
		return nil, record.Bundle{}, ErrUnknown
	}
	f, err := os.Open(s.bundlePath(move))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, record.Bundle{}, m.conflict("the move is %s: the hub has no bundle of it", m.state)
	}
	if err != nil {
		return nil, record.Bundle{}, fmt.Errorf("bundle: %w", err)
	}
	return f, *m.bundle(), nil
}

// CleanBundles makes files and moves agree, before the hub serves: what an
// upload that was cut or a crash left is removed, and a move whose bundle is not
// here, as after a backup was restored, fails. A move that is starting is its
// target's to end.
func (s *Store) CleanBundles(ctx context.Context, now time.Time) error {
	return s.Write(ctx, func(tx *Tx) error {
		moves, err := all(tx, scanMove, "SELECT "+moveColumns+" FROM moves WHERE state IN ("+inFlight()+")")
		if err != nil {
			return fmt.Errorf("bundles: %w", err)
		}
		_, strays, err := s.compareBundles(moves)
		if err != nil {
			return err
		}
		removeFiles(strays)
		for i := range moves {
			m := &moves[i]
			if m.state == record.MoveStarting || s.hasBundle(m) {
				continue
			}
			if err := m.end(tx, record.MoveFailed, "the hub lost the bundle: was a backup restored?", now); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *Store) hasBundle(m *move) bool {
	fi, err := os.Stat(s.bundlePath(m.id))
	return err == nil && fi.Size() == m.size
}

// compareBundles looks for the files of moves, and for files of none.
func (s *Store) compareBundles(moves []move) (missing, strays []string, err error) {
	wanted := make(map[string]bool, len(moves))
	for i := range moves {
		m := &moves[i]
		wanted[m.id+bundleEnding] = true
		if m.state != record.MoveStarting && !s.hasBundle(m) {
			missing = append(missing, m.id)
		}
	}
	files, err := os.ReadDir(s.bundleDir())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("bundles: %w", err)
	}
	for _, f := range files {
		ours := strings.HasSuffix(f.Name(), bundleEnding) || strings.HasSuffix(f.Name(), partEnding)
		if ours && !wanted[f.Name()] {
			strays = append(strays, filepath.Join(s.bundleDir(), f.Name()))
		}
	}
	return missing, strays, nil
}

// BundleReport tells how files and moves agree. Strays are files of no use: they
// go when the hub starts. Missing are bundles that a move waits for, as after a
// backup was restored: it fails when the hub starts.
type BundleReport struct {
	Waiting, Missing, Strays int
}

// Bundles looks at the files of the bundles. Beside a hub that serves, one may
// go while it looks.
func (s *Store) Bundles(ctx context.Context) (r BundleReport, err error) {
	moves, err := s.movesInFlight(ctx)
	if err != nil {
		return r, err
	}
	missing, strays, err := s.compareBundles(moves)
	return BundleReport{Waiting: len(moves) - len(missing), Missing: len(missing), Strays: len(strays)}, err
}

func (s *Store) movesInFlight(ctx context.Context) ([]move, error) {
	moves, err := all(s.reader(ctx), scanMove, "SELECT "+moveColumns+" FROM moves WHERE state IN ("+inFlight()+")")
	if err != nil {
		err = fmt.Errorf("bundles: %w", classify(err))
	}
	return moves, err
}
