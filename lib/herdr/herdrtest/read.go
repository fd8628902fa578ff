package herdrtest

import (
	"strings"

	"sessionhub/lib/herdr/herdrtest/screen"
)

type readParams struct {
	PaneID    string  `json:"pane_id" need:""`
	Source    string  `json:"source" need:"" enum:"visible,recent,recent_unwrapped,detection"`
	Lines     *uint32 `json:"lines"`
	Format    string  `json:"format" enum:"text,ansi"`
	StripANSI bool    `json:"strip_ansi"`
}

const (
	maxReadLines     = 1000
	defaultReadLines = 80
)

func (s *Server) readPane(p readParams) (obj, *apiError) {
	q, err := s.typable(p.PaneID)
	if err != nil {
		return nil, err
	}
	text, truncated := q.read(p)
	format := p.Format
	if format == "" {
		format = "text"
	}
	return obj{"type": "pane_read", "read": obj{
		"pane_id": q.id, "workspace_id": q.tab.ws.id, "tab_id": q.tab.id, "source": p.Source, "format": format,
		"text": text, "revision": 0, "truncated": truncated,
	}}, nil
}

// read takes the lowest rows, blank ones at the end of the screen included, and
// then drops those.
func (p *pane) read(r readParams) (text string, truncated bool) {
	var rows []screen.Row
	recent := strings.HasPrefix(r.Source, "recent")
	p.term.look(func(sc *screen.Screen) {
		if recent {
			rows = sc.All()
		} else {
			rows = sc.Visible()
		}
	})
	limit := len(rows)
	if recent {
		limit = defaultReadLines
	}
	if r.Lines != nil {
		limit = min(int(*r.Lines), maxReadLines)
	}
	if limit < len(rows) {
		rows, truncated = rows[len(rows)-limit:], true
	}
	for len(rows) > 0 && rows[len(rows)-1].Text == "" {
		rows = rows[:len(rows)-1]
	}
	return join(rows, r.Format == "ansi", r.Source == "recent_unwrapped"), truncated
}

func join(rows []screen.Row, ansi, unwrap bool) string {
	var b strings.Builder
	for i, row := range rows {
		if ansi {
			b.WriteString(row.Styled)
			if i < len(rows)-1 {
				b.WriteString("\r\n")
			}
			continue
		}
		b.WriteString(row.Text)
		if !(unwrap && row.Wrapped) {
			b.WriteString("\n")
		}
	}
	return b.String()
}

// screenText is what the agent detector sees.
func (p *pane) screenText() (text, title string) {
	if p.term == nil {
		return "", ""
	}
	text, _ = p.read(readParams{Source: "detection"})
	return text, p.term.title()
}

func (t *terminal) title() (title string) {
	t.look(func(sc *screen.Screen) { title = sc.Title() })
	return title
}
