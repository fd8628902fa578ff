package herdrtest

import "fmt"

// node is a pane or a split of a tab's area.
type node struct {
	pane          *pane
	direction     string // right or down
	ratio         float64
	first, second *node
}

type rect struct{ x, y, w, h int }

func (r rect) obj() obj { return obj{"x": r.x, "y": r.y, "width": r.w, "height": r.h} }

func leaf(p *pane) *node { return &node{pane: p} }

// split puts p beside or below old.
func (n *node) split(old, p *pane, direction string, ratio float64) *node {
	switch {
	case n == nil:
		return leaf(p)
	case n.pane == old:
		return &node{direction: direction, ratio: ratio, first: n, second: leaf(p)}
	case n.pane == nil:
		n.first, n.second = n.first.splitInside(old, p, direction, ratio), n.second.splitInside(old, p, direction, ratio)
	}
	return n
}

func (n *node) splitInside(old, p *pane, direction string, ratio float64) *node {
	if !n.holds(old) {
		return n
	}
	return n.split(old, p, direction, ratio)
}

func (n *node) holds(p *pane) bool {
	return n != nil && (n.pane == p && p != nil || n.pane == nil && (n.first.holds(p) || n.second.holds(p)))
}

func (n *node) remove(p *pane) *node {
	switch {
	case n == nil || n.pane == p:
		return nil
	case n.pane != nil:
		return n
	}
	n.first, n.second = n.first.remove(p), n.second.remove(p)
	if n.first == nil {
		return n.second
	}
	if n.second == nil {
		return n.first
	}
	return n
}

// layoutOf describes a tab's layout.
func (st *state) layoutOf(t *tab) obj {
	cfg := st.server.cfg
	area := rect{26, 1, cfg.Cols, cfg.Rows}
	l := obj{
		"workspace_id": t.ws.id, "tab_id": t.id, "zoomed": t.zoomed, "area": area.obj(),
		"focused_pane_id": t.focused.id,
	}
	panes, splits := []any{}, []any{}
	t.root.place(area, "root", func(n *node, r rect, path string) {
		if n.pane != nil {
			panes = append(panes, obj{"pane_id": n.pane.id, "focused": n.pane == t.focused, "rect": r.obj()})
			return
		}
		splits = append(splits, obj{
			"id": fmt.Sprintf("split_%d_%s", len(splits), path), "direction": n.direction, "ratio": n.ratio, "rect": r.obj(),
		})
	})
	l["panes"], l["splits"] = panes, splits
	return l
}

func (n *node) place(r rect, path string, visit func(*node, rect, string)) {
	if n == nil {
		return
	}
	visit(n, r, path)
	if n.pane != nil {
		return
	}
	a, b := r, r
	if n.direction == "right" {
		a.w = int(float64(r.w)*n.ratio + 0.5)
		b.x, b.w = r.x+a.w, r.w-a.w
	} else {
		a.h = int(float64(r.h)*n.ratio + 0.5)
		b.y, b.h = r.y+a.h, r.h-a.h
	}
	if path == "root" {
		path = ""
	}
	n.first.place(a, path+"0", visit)
	n.second.place(b, path+"1", visit)
}
