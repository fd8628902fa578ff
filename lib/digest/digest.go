// Package digest says in short what a transcript of Claude Code holds: title,
// first and last prompt, last reply, recap, turns, model, tokens and branch.
// The first digest of a transcript reads all of it, once and without building
// what no digest needs; later ones read what was appended (field report A58).
package digest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"

	"sessionhub/lib/claude"
	"sessionhub/lib/record"
	"sessionhub/lib/state"
	"sessionhub/lib/text"
)

// Ref names a session to digest.
type Ref struct {
	Session   string
	Cwd       string // where it runs, "" if unknown: of two files with its id that folder's is written to
	TitleHint string // for a session without a title
}

// ErrNoTranscript says that a session has no transcript: its file appears with
// the first prompt. An id without a file is none to tell the hub of (field
// report A18).
var ErrNoTranscript = errors.New("no transcript")

// Digester makes the digests of a machine's sessions. Its methods may be
// called at once from several goroutines, Digest not for one session.
type Digester struct {
	Dir  state.Dir   // where digests.json is kept
	Home claude.Home // whose transcripts are read

	mu    sync.Mutex
	good  map[string]memory // by path: accepted, as in digests.json
	ahead map[string]ahead  // by path: read further, not accepted yet
	tries int               // attempts so far
}

// ahead is what was read since the last good digest, so that a digest that the
// hub refused, or that was cut short, costs no second reading.
type ahead struct {
	memory
	whole bool // the file was read to its end
	try   int  // the attempt's number
}

// Changed returns those whose transcript is another, by size or modification
// time, than at their last good digest. Those that were tried before and were
// not good come last, in turns, so that they hold up no others. Sessions
// without a transcript are left out.
func (d *Digester) Changed(refs []Ref) []Ref {
	type candidate struct {
		Ref
		try int
	}
	var list []candidate
	d.mu.Lock()
	defer d.mu.Unlock()
	d.load()
	for _, r := range refs {
		path, ok := d.Home.TranscriptNear(r.Session, r.Cwd)
		if !ok {
			continue
		}
		st, err := os.Stat(path)
		if err != nil {
			continue
		}
		if good, ok := d.good[path]; ok && good.same(st) {
			continue
		}
		list = append(list, candidate{r, d.ahead[path].try})
	}
	slices.SortStableFunc(list, func(a, b candidate) int { return cmp.Compare(a.try, b.try) })
	changed := make([]Ref, len(list))
	for i := range list {
		changed[i] = list[i].Ref
	}
	return changed
}

// Digest makes a session's digest from what its transcript has now. When the
// context ends it stops within one read of 256 KiB, and the next call goes on
// there.
func (d *Digester) Digest(ctx context.Context, r Ref) (record.Digest, error) {
	path, ok := d.Home.TranscriptNear(r.Session, r.Cwd)
	if !ok {
		return record.Digest{}, fmt.Errorf("%w of %s in %s: it appears with the first prompt", ErrNoTranscript, text.Line(r.Session), d.Home)
	}
	d.mu.Lock()
	d.load()
	old, ok := d.ahead[path]
	if !ok {
		old.memory = d.good[path]
	}
	d.tries++
	try := d.tries
	d.mu.Unlock()

	m, err := step(ctx, path, old.memory)

	d.mu.Lock()
	d.ahead[path] = ahead{memory: m, whole: err == nil, try: try}
	d.mu.Unlock()
	if err != nil {
		return record.Digest{}, err
	}
	return m.digest(r.TitleHint), nil
}

// Good remembers that the hub has the last digests of these sessions, also
// over a restart. An error means that only this process remembers.
func (d *Digester) Good(refs ...Ref) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.load()
	for _, r := range refs {
		path, ok := d.Home.TranscriptNear(r.Session, r.Cwd)
		if a := d.ahead[path]; ok && a.whole {
			d.good[path] = a.memory
			delete(d.ahead, path)
		}
	}
	return d.save()
}

// File digests one transcript, whole. hint is the title if it has none.
func File(ctx context.Context, path, hint string) (record.Digest, error) {
	m, err := step(ctx, path, memory{})
	if err != nil {
		return record.Digest{}, err
	}
	return m.digest(hint), nil
}
