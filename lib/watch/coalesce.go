package watch

import (
	"sessionhub/lib/record"
)

// subject is what an item speaks of, for the question whether a later item
// makes it pointless.
type subject struct {
	kind    record.Kind
	herdr   string
	pane    string
	session string
}

// Superseded tells for each item whether a later one makes it pointless:
// later means the greater id. Of one pane only the latest state, upsert and
// close count, and a close makes earlier states pointless; of one herdr
// session only the latest snapshot. Of a named session only states are ever
// superseded, and only those without a note; its upserts are all kept, as one
// may carry the first prompt. Reports, titles, asks and ends are never
// superseded (contract §7). An item whose id came before is a copy, left by a
// crash, and is superseded by the first.
//
// It is a pure function: the filter `shwatch coalesce` and the watcher's pass
// are both this.
func Superseded(items []record.Item) []bool {
	latest := make(map[subject]string)
	for i := range items {
		for _, s := range supersedes(&items[i]) {
			if items[i].ID > latest[s] {
				latest[s] = items[i].ID
			}
		}
	}
	out := copies(items)
	for i := range items {
		if s, can := subjectOf(&items[i]); can && latest[s] > items[i].ID {
			out[i] = true
		}
	}
	return out
}

// copies marks items whose id came before. Ids that only grow need no look
// back, which is how nearly every queue is.
func copies(items []record.Item) []bool {
	out := make([]bool, len(items))
	growing := true
	for i := 1; i < len(items) && growing; i++ {
		growing = items[i].ID > items[i-1].ID
	}
	if growing {
		return out
	}
	seen := make(map[string]struct{}, len(items))
	for i := range items {
		_, out[i] = seen[items[i].ID]
		seen[items[i].ID] = struct{}{}
	}
	return out
}

// subjectOf is what an item can be superseded for; can is false for those
// that are always kept.
func subjectOf(it *record.Item) (s subject, can bool) {
	s.kind = it.Kind
	switch {
	case it.Pane != nil:
		s.herdr, s.pane = it.Pane.Herdr, it.Pane.PaneID
		can = it.Kind == record.KindState || it.Kind == record.KindClosed || it.Kind == record.KindUpsert
	case it.Kind == record.KindSnapshot:
		s.herdr = herdrSession(it)
		can = true
	case it.Kind == record.KindState:
		s.session = it.Session
		can = note(it) == ""
	}
	return s, can
}

// supersedes is what earlier items an item makes pointless.
func supersedes(it *record.Item) []subject {
	s, can := subjectOf(it)
	if it.Kind == record.KindState && it.Session != "" {
		can = true // a state with a note is kept, and replaces earlier ones
	}
	if !can {
		return nil
	}
	if it.Kind == record.KindClosed {
		state := s
		state.kind = record.KindState
		return []subject{s, state}
	}
	return []subject{s}
}

func herdrSession(it *record.Item) string {
	b, err := record.BodyAs[struct {
		HerdrSession string `json:"herdr_session"`
	}](*it)
	if err != nil {
		return it.ID // never equal to another's
	}
	return b.HerdrSession
}

func note(it *record.Item) string {
	b, err := record.BodyAs[record.State](*it)
	if err != nil {
		return "?" // kept: the hub says what is wrong with it
	}
	return b.Note
}
