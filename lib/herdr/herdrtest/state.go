package herdrtest

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

type state struct {
	server     *Server
	workspaces []*workspace
	focused    *workspace
	nextID     int
	terminals  int
	stateSeq   uint64 // last state_change_seq
	alias      map[string]*pane
	popup      *terminal
	changed    time.Time // last change that is saved
}

func newState(s *Server) *state {
	return &state{server: s, nextID: 1, alias: map[string]*pane{}}
}

type workspace struct {
	id       string
	label    string
	tabs     []*tab
	active   *tab
	nextTab  int
	nextPane int
	meta     metadata
}

type tab struct {
	id      string
	number  int
	label   *string // nil shows the position
	ws      *workspace
	panes   []*pane
	focused *pane
	root    *node
	zoomed  bool
}

type pane struct {
	id         string
	terminalID string
	tab        *tab
	label      string
	cwd        string // where it was started
	term       *terminal
	gone       bool
	revision   uint64
	title      string // terminal title seen last
	meta       metadata
	agent      agentState
	command    []string // of layout.apply
	plugin     *pluginPane
	// restoreError says since 0.9.2 why an agent could not be resumed.
	restoreError string
}

const idAlphabet = "123456789ABCDEFGHJKMNPQRSTVWXYZ0"

// idNumber writes n in herdr's 32-letter alphabet.
func idNumber(n int) string {
	var out string
	for n > 0 {
		n--
		out = string(idAlphabet[n%32]) + out
		n /= 32
	}
	return out
}

// numberOf is the inverse of idNumber; 0 for what is none.
func numberOf(s string) int {
	n := 0
	for _, r := range s {
		i := strings.IndexRune(idAlphabet, r)
		if i < 0 {
			return 0
		}
		n = n*32 + i + 1
	}
	return n
}

func (st *state) terminalID() string {
	st.terminals++
	return fmt.Sprintf("term_%x%x", time.Now().UnixMicro(), st.terminals)
}

func (st *state) touch() { st.changed = time.Now() }

func (st *state) allPanes() []*pane {
	var all []*pane
	for _, w := range st.workspaces {
		for _, t := range w.tabs {
			all = append(all, t.panes...)
		}
	}
	return all
}

func (st *state) pane(id string) *pane {
	for _, p := range st.allPanes() {
		if p.id == id {
			return p
		}
	}
	if p := st.alias[id]; p != nil && !p.gone {
		return p
	}
	return nil
}

func (st *state) tab(id string) *tab {
	for _, w := range st.workspaces {
		for _, t := range w.tabs {
			if t.id == id {
				return t
			}
		}
	}
	return nil
}

func (st *state) workspace(id string) *workspace {
	for i, w := range st.workspaces {
		if w.id == id || strconv.Itoa(i+1) == id {
			return w
		}
	}
	return nil
}

func (st *state) focusedTab() *tab {
	if st.focused == nil {
		return nil
	}
	return st.focused.active
}

func (st *state) focusedPane() *pane {
	if t := st.focusedTab(); t != nil {
		return t.focused
	}
	return nil
}

func (st *state) addWorkspace(label string) *workspace {
	w := &workspace{id: "w" + idNumber(st.nextID), label: label, nextTab: 1, nextPane: 1}
	st.nextID++
	st.workspaces = append(st.workspaces, w)
	st.touch()
	return w
}

func (st *state) addTab(w *workspace, label *string) *tab {
	t := &tab{id: w.id + ":t" + idNumber(w.nextTab), number: w.nextTab, label: label, ws: w}
	w.nextTab++
	w.tabs = append(w.tabs, t)
	if w.active == nil {
		w.active = t
	}
	st.touch()
	return t
}

func (st *state) newPane(w *workspace) *pane {
	p := &pane{id: w.id + ":p" + idNumber(w.nextPane), terminalID: st.terminalID()}
	w.nextPane++
	st.touch()
	return p
}

func (t *tab) add(p *pane) {
	p.tab = t
	t.panes = append(t.panes, p)
	if t.focused == nil {
		t.focused = p
	}
}

// arrange puts the panes into the order of the layout.
func (t *tab) arrange() {
	t.panes = t.panes[:0]
	t.root.place(rect{}, "root", func(n *node, _ rect, _ string) {
		if n.pane != nil {
			t.panes = append(t.panes, n.pane)
		}
	})
}

// remove takes a pane out, with its tab and workspace if it was their last.
func (st *state) remove(p *pane) (tabGone, workspaceGone bool) {
	t := p.tab
	p.gone = true
	t.panes = without(t.panes, p)
	t.root = t.root.remove(p)
	st.touch()
	if len(t.panes) > 0 {
		if t.focused == p {
			t.focused = t.panes[0]
		}
		return false, false
	}
	return true, st.removeTab(t)
}

func (st *state) removeTab(t *tab) (workspaceGone bool) {
	w := t.ws
	w.tabs = without(w.tabs, t)
	st.touch()
	if len(w.tabs) == 0 {
		st.removeWorkspace(w)
		return true
	}
	if w.active == t {
		w.active = w.tabs[0]
	}
	return false
}

func (st *state) removeWorkspace(w *workspace) {
	st.workspaces = without(st.workspaces, w)
	st.touch()
	if st.focused == w {
		st.focused = nil
		if len(st.workspaces) > 0 {
			st.focused = st.workspaces[0]
		}
	}
}

func without[T comparable](list []T, gone T) []T {
	var out []T
	for _, x := range list {
		if x != gone {
			out = append(out, x)
		}
	}
	return out
}

func (w *workspace) number(st *state) int {
	for i, x := range st.workspaces {
		if x == w {
			return i + 1
		}
	}
	return 0
}

func (t *tab) shownLabel() string {
	if t.label != nil {
		return *t.label
	}
	for i, x := range t.ws.tabs {
		if x == t {
			return strconv.Itoa(i + 1)
		}
	}
	return strconv.Itoa(t.number)
}
