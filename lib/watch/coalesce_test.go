package watch

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sessionhub/lib/record"
)

// item builds an item from "kind subject[ detail]", its id from the position
// given. Subjects: p1 (pane of herdr a), b/p1 (pane of herdr b), s1 (session).
func item(t interface{ Fatal(...any) }, id int, spec string) record.Item {
	f := strings.Fields(spec)
	it := record.Item{V: 1, ID: fmt.Sprintf("%04d", id), Kind: record.Kind(f[0]), Body: json.RawMessage(`{}`)}
	if len(f) > 1 {
		herdr, pane := "a", f[1]
		if h, p, ok := strings.Cut(f[1], "/"); ok {
			herdr, pane = h, p
		}
		if strings.HasPrefix(pane, "p") {
			it.Pane = &record.Pane{Herdr: herdr, PaneID: pane}
		} else {
			it.Session = pane
		}
	}
	var body any
	switch {
	case it.Kind == record.KindState:
		st := record.State{AgentState: record.Idle}
		if len(f) > 2 {
			st.Note = f[2]
		}
		body = st
	case it.Kind == record.KindSnapshot:
		it.Session = ""
		body = record.Snapshot{HerdrSession: f[1]}
	}
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		it.Body = b
	}
	return it
}

func TestSuperseded(t *testing.T) {
	for _, c := range []struct {
		name  string
		items []string
		kept  []int
	}{
		{"latest state of a pane", []string{"state p1", "state p1", "state p2"}, []int{1, 2}},
		{"panes of two herdrs", []string{"state a/p1", "state b/p1"}, []int{0, 1}},
		{"closed beats earlier state", []string{"state p1", "closed p1"}, []int{1}},
		{"state after closed is a new life", []string{"closed p1", "state p1"}, []int{0, 1}},
		{"closed and exited are one", []string{"closed p1", "closed p1"}, []int{1}},
		{"closed keeps the upsert", []string{"upsert p1", "closed p1"}, []int{0, 1}},
		{"latest pane upsert", []string{"upsert p1", "state p1", "upsert p1"}, []int{1, 2}},
		{"session upserts are all kept", []string{"upsert s1", "upsert s1"}, []int{0, 1}},
		{"session states", []string{"state s1", "state s2", "state s1"}, []int{1, 2}},
		{"a note is kept", []string{"state s1 limit", "state s1"}, []int{0, 1}},
		{"a note replaces", []string{"state s1", "state s1 limit"}, []int{1}},
		{"latest snapshot of a herdr session", []string{"snapshot default", "snapshot work", "snapshot default"}, []int{1, 2}},
		{"never", []string{"report s1", "report s1", "title s1", "title s1", "ended s1", "ended s1", "ask s1", "ask s1", "ask_ended s1", "ask_ended s1"},
			[]int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var items []record.Item
			for i, s := range c.items {
				items = append(items, item(t, i, s))
			}
			if got := keptOf(items); !slices.Equal(got, c.kept) {
				t.Errorf("kept %v, want %v", got, c.kept)
			}
		})
	}
}

func keptOf(items []record.Item) []int {
	var kept []int
	for i, s := range Superseded(items) {
		if !s {
			kept = append(kept, i)
		}
	}
	return kept
}

// Hooks overtake each other: what counts is the id, not the place in the file.
func TestLaterMeansTheGreaterID(t *testing.T) {
	items := []record.Item{item(t, 2, "state p1"), item(t, 1, "state p1")}
	if got := keptOf(items); !slices.Equal(got, []int{0}) {
		t.Errorf("kept %v, want the first", got)
	}
}

func TestCopiesOfACrashAreOne(t *testing.T) {
	items := []record.Item{item(t, 1, "report s1"), item(t, 1, "report s1")}
	if got := keptOf(items); !slices.Equal(got, []int{0}) {
		t.Errorf("kept %v, want the first", got)
	}
}

// Coalescing in two passes keeps what one pass keeps, so it does not matter
// where the take-over cuts the stream, and a second run changes nothing.
func TestCoalescingIsStable(t *testing.T) {
	kinds := []string{"state p1", "state p2", "state b/p1", "closed p1", "upsert p1", "upsert s1", "state s1", "state s1 why", "report s1", "snapshot default", "ended s1"}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 30).Draw(t, "n")
		var items []record.Item
		for i := range n {
			items = append(items, item(t, i, rapid.SampledFrom(kinds).Draw(t, "kind")))
		}
		ids := func(items []record.Item) string {
			var out []string
			for i, s := range Superseded(items) {
				if !s {
					out = append(out, items[i].ID)
				}
			}
			return strings.Join(out, " ")
		}
		keep := func(items []record.Item) (out []record.Item) {
			for i, s := range Superseded(items) {
				if !s {
					out = append(out, items[i])
				}
			}
			return out
		}
		once := ids(items)
		cut := rapid.IntRange(0, n).Draw(t, "cut")
		if twice := ids(append(keep(items[:cut]), keep(items[cut:])...)); twice != once {
			t.Errorf("one pass keeps %s, two keep %s", once, twice)
		}
	})
}
