package watch

import (
	"context"
	"errors"
	"testing"
	"time"

	"sessionhub/lib/herdr"
	"sessionhub/lib/herdr/herdrtest"
	"sessionhub/lib/hub/hubtest"
	"sessionhub/lib/hub/store"
	"sessionhub/lib/record"
	"sessionhub/lib/state"
)

func TestInboxText(t *testing.T) {
	for _, c := range []struct {
		n    record.InboxCounts
		want string
	}{
		{record.InboxCounts{}, ""},
		{record.InboxCounts{Total: 3}, "3"},
		{record.InboxCounts{Total: 3, Blocked: 1}, "3 · 1 blocked"},
	} {
		if got := inboxText(c.n); got != c.want {
			t.Errorf("%+v: %q, want %q", c.n, got, c.want)
		}
	}
}

// bar is a sidebar that notes what it is told.
type bar struct {
	told []string
	err  error
}

func (b *bar) ReportWorkspaceMetadata(_ context.Context, m herdr.WorkspaceMetadata) error {
	text := "cleared"
	if v := m.Tokens[inboxToken]; v != nil {
		text = *v
	}
	b.told = append(b.told, m.WorkspaceID+"="+text)
	return b.err
}

func (b *bar) take() []string {
	told := b.told
	b.told = nil
	return told
}

func TestTheSidebarIsToldWhatIsNew(t *testing.T) {
	b := &bar{}
	s := sidebar{connect: func(string) Sidebar { return b }}
	of := seen{socket: "/a", workspaces: []string{"w1", "w2"}}
	show := func(text string, want ...string) {
		t.Helper()
		err := s.show(t.Context(), of, text)
		if got := b.take(); len(got) != len(want) || len(got) > 0 && got[0] != want[0] {
			t.Errorf("%q: told %q, want %q (%v)", text, got, want, err)
		}
	}
	show("") // nothing is shown yet, and nothing is to be
	show("1", "w1=1", "w2=1")
	show("1")
	of.workspaces = append(of.workspaces, "w3")
	show("1", "w3=1")
	b.err = errors.New("busy")
	show("2", "w1=2", "w2=2", "w3=2")
	b.err = nil
	show("2", "w1=2", "w2=2", "w3=2") // what was refused is tried again
	show("", "w1=cleared", "w2=cleared", "w3=cleared")
	show("4", "w1=4", "w2=4", "w3=4")
	of.identity = herdr.Identity{Inode: 7} // another server: it has forgotten them
	show("4", "w1=4", "w2=4", "w3=4")
}

// The whole way: an entry of the hub's inbox is in the sidebar of a herdr after
// the next heartbeat, and the standing rules are in their file.
func TestErrandsFollowAHeartbeat(t *testing.T) {
	hub, dir := hubtest.Start(t), newDir(t)
	h := herdrtest.Start(t)
	made, err := h.Client().CreateWorkspace(t.Context(), herdr.NewWorkspace{Cwd: h.Home()})
	if err != nil {
		t.Fatal(err)
	}
	err = hub.Store().Write(t.Context(), func(tx *store.Tx) error {
		if err := store.SetInstructions(tx, record.Instructions{Version: "v1", Text: "be kind", FetchedAt: record.At(time.Now())}); err != nil {
			return err
		}
		return store.Heartbeat(tx, "tower", &record.Snapshot{V: 1, At: record.At(time.Now()), Machine: "tower", HerdrSession: "elsewhere",
			Sessions: []record.LiveSession{{Session: "A", Agent: "claude", PaneID: "w9:p1", AgentState: record.Blocked}}}, time.Now())
	})
	if err != nil {
		t.Fatal(err)
	}
	running(t, hub, dir, func(w *Watcher) {
		w.Sockets = []string{h.Client().Socket}
		w.Looker = &PresenceLooker{ClaudeHome: t.TempDir(), Getenv: func(string) string { return "" }}
	})
	waitFor(t, 20*time.Second, "the count is in the sidebar", func() bool {
		list, err := h.Client().Workspaces(t.Context())
		if err != nil {
			return false
		}
		for _, w := range list {
			if w.WorkspaceID == made.Workspace.WorkspaceID {
				return w.Tokens[inboxToken] == "1 · 1 blocked"
			}
		}
		return false
	})
	waitFor(t, 20*time.Second, "the rules are here", func() bool {
		var in record.Instructions
		return state.ReadJSON(dir.Instructions(), &in) == nil && in.Text == "be kind" && in.Version == "v1"
	})
}

func TestRefreshRules(t *testing.T) {
	dir := newDir(t)
	hub := &rules{in: record.Instructions{Version: "1", Text: "one"}}
	refresh := func(wantChanged bool, wantText string) {
		t.Helper()
		_, changed, err := RefreshRules(t.Context(), hub, dir)
		var in record.Instructions
		if rerr := state.ReadJSON(dir.Instructions(), &in); rerr != nil {
			t.Fatal(rerr)
		}
		if changed != wantChanged || in.Text != wantText {
			t.Errorf("changed %v, text %q, %v", changed, in.Text, err)
		}
	}
	refresh(true, "one")
	refresh(false, "one")
	hub.err = errors.New("down")
	refresh(false, "one") // the old copy stays
	hub.err, hub.in = nil, record.Instructions{Version: "2", Text: ""}
	refresh(true, "")
	if err := state.Replace(dir.Instructions(), []byte("{torn")); err != nil {
		t.Fatal(err)
	}
	refresh(true, "") // a damaged copy is replaced
}

// rules is a hub that has standing rules.
type rules struct {
	in  record.Instructions
	err error
}

func (r *rules) Instructions(_ context.Context, known string) (record.Instructions, bool, error) {
	return r.in, r.err == nil && known != r.in.Version, r.err
}
