package spawn_test

import (
	"testing"

	"sessionhub/lib/herdr"
	"sessionhub/lib/spawn"
)

// On every path a person finds the agent's name: on the workspace or the tab, on
// the pane, and as the pane's metadata token.
func TestAPaneIsNamed(t *testing.T) {
	for _, path := range []struct{ name, layout, lacks, workspace, tab string }{
		{"workspace", spawn.LayoutWorkspace, "", "second", "second"},
		{"workspace, an older herdr", spawn.LayoutWorkspace, "layout.apply", "second", "second"},
		{"split", spawn.LayoutSplit, "", "agents", "agents"},
		{"split, an older herdr", spawn.LayoutSplit, "layout.apply", "agents", "agents"},
	} {
		t.Run(path.name, func(t *testing.T) {
			p := newPlace(t, "herdr")
			p.env["FAKEHERDR_LACKS"] = path.lacks
			p.environ()
			var a spawn.Spawned
			for _, name := range []string{"first", "second"} {
				s := p.spec(name, "sh", "-c", "exec sleep 300")
				s.Layout = path.layout
				a = p.start(s)
			}
			c := &herdr.Client{Socket: herdr.SessionSocket("shspawn-s1", p.Getenv)}
			snap, err := c.Snapshot(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range snap.Workspaces {
				if w.WorkspaceID == a.WorkspaceID && w.Label != path.workspace {
					t.Errorf("its workspace is called %q", w.Label)
				}
			}
			for _, tab := range snap.Tabs {
				if tab.TabID == a.TabID && tab.Label != path.tab {
					t.Errorf("its tab is called %q", tab.Label)
				}
			}
			pane, err := c.Pane(t.Context(), a.PaneID)
			if err != nil || pane.Label != "second" || pane.Tokens["shspawn"] != "second" || pane.TerminalID != a.TerminalID {
				t.Errorf("its pane is %+v %v", pane, err)
			}
			for _, name := range []string{"first", "second"} {
				if err := p.Stop(t.Context(), "s1", name, true); err != nil {
					t.Error(err)
				}
			}
			p.clean()
		})
	}
}

// A pane that a person moved has another id, and its agent is found by its
// terminal.
func TestAPaneThatWasMoved(t *testing.T) {
	p := newPlace(t, "herdr")
	a, b := p.start(p.spec("a1", "sleep", "300")), p.start(p.spec("b1", "sleep", "300"))
	c := &herdr.Client{Socket: herdr.SessionSocket("shspawn-s1", p.Getenv)}
	moved, err := c.MovePane(t.Context(), herdr.Move{PaneID: a.PaneID, Destination: herdr.MoveDestination{Type: "tab", TabID: b.TabID, Split: "right"}})
	if err != nil || moved.Pane.PaneID == a.PaneID {
		t.Fatalf("%+v %v", moved, err)
	}
	list, err := p.List(t.Context(), "s1", "")
	if err != nil || len(list) != 2 || list[0].PaneID != moved.Pane.PaneID || list[0].PID != a.PID {
		t.Errorf("%+v %v", list, err)
	}
	if err := p.Stop(t.Context(), "s1", "a1", true); err != nil {
		t.Error(err)
	}
	if list, err := p.List(t.Context(), "s1", ""); err != nil || len(list) != 1 || list[0] != b {
		t.Errorf("%+v %v", list, err)
	}
	if err := p.Stop(t.Context(), "s1", "b1", true); err != nil {
		t.Error(err)
	}
	p.clean()
}
