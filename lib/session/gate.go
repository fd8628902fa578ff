package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"sessionhub/lib/claude"
	"sessionhub/lib/claude/transcript"
	"sessionhub/lib/herdr"
	"sessionhub/lib/presence"
	"sessionhub/lib/record"
)

// Answer is the gate's.
type Answer int

// The answers of the gate.
const (
	Refused Answer = iota // never, as things are
	Busy                  // not now
	Open                  // now
)

// Reason says in which way the gate is closed, for deeds that decide by it.
type Reason int

// The reasons.
const (
	NoReason     Reason = iota
	Absent              // no pane runs it
	Elsewhere           // it runs where nothing can be typed
	Twice               // it runs in several panes
	Background          // its pane only shows it: it runs in the background
	Unsure              // herdr, or the session's pane, is not understood now
	Working             // a turn is under way
	Blocked             // a prompt waits for a person
	Dialog              // a dialog, a search, a picker or another view is open
	Draft               // text stands in its input line
	NotAPrompt          // its screen does not show an input line
	JustPrompted        // somebody's prompt is on its way
	Continued           // it goes on elsewhere, under another id
)

// Gate is whether text may be typed into a session's pane now, and which pane
// that is.
type Gate struct {
	Answer Answer
	Reason Reason
	Why    string // for people, one line
	Socket string
	PaneID string
	Cwd    string // of the session

	place place
}

func refuse(r Reason, format string, args ...any) Gate {
	return Gate{Answer: Refused, Reason: r, Why: fmt.Sprintf(format, args...)}
}

func busy(r Reason, format string, args ...any) Gate {
	return Gate{Answer: Busy, Reason: r, Why: fmt.Sprintf(format, args...)}
}

// Gate decides whether text may be typed into a session's pane now. Every deed
// that types asks it first: herdr alone is wrong about that in many ways
// (findings 2, 5, 12 to 18, 26 to 29, 44 of the Claude captures; field reports
// A20 and A22). It looks twice: what a person typed a moment before the first
// look is not drawn yet. What remains is the time between the second look and
// herdr's paste, and what is typed in it.
func (d *Desk) Gate(ctx context.Context, session string) Gate {
	g := d.look(ctx, session)
	if g.Answer != Open {
		return g
	}
	d.Pause(ctx, d.Timing.Still)
	return d.look(ctx, session)
}

// AwaitGate waits until a session that was just started can be typed into, up to
// Timing.Ready, or until it is plain that a person must look at it.
func (d *Desk) AwaitGate(ctx context.Context, session string) Gate {
	var g Gate
	d.until(ctx, d.Timing.Ready, func(ctx context.Context) bool {
		g = d.Gate(ctx, session)
		switch g.Reason {
		case Blocked, Dialog, Draft:
			return true
		}
		return g.Answer != Busy
	})
	return g
}

// look is one look of the gate.
func (d *Desk) look(ctx context.Context, session string) Gate {
	w := d.find(ctx, session)
	g := present(w)
	if g.Answer != Open {
		return g
	}
	p := w.in[0]
	if g = atRest(p.found); g.Answer == Open {
		g = d.calm(p.found)
	}
	if g.Answer == Open {
		g = d.atPrompt(ctx, p)
	}
	g.place, g.Socket, g.PaneID, g.Cwd = p, p.socket, p.found.PaneID, p.found.Cwd
	return g
}

// present: the session runs in exactly one pane, in front, as a person's.
func present(w whereabouts) Gate {
	switch {
	case len(w.in) > 1 || len(w.in) == 1 && len(w.in[0].found.OtherPanes) > 0:
		return refuse(Twice, "it runs in more than one pane: end all but one")
	case len(w.in) == 1 && w.in[0].found.Attached:
		return refuse(Background, "it runs in the background, and its pane only shows it")
	case len(w.in) == 1:
		return Gate{Answer: Open}
	case w.outside != nil:
		return refuse(Elsewhere, "it runs outside herdr (process %d), where nothing can be typed", w.outside.PID)
	case w.failed != nil:
		return busy(Unsure, "herdr does not answer: %v", w.failed)
	case w.maybe != "":
		return busy(Unsure, "a Claude in pane %s can't be named yet", w.maybe)
	}
	return refuse(Absent, "no pane runs it")
}

// atRest: it is at its prompt, as far as herdr and the registry say.
func atRest(s presence.Session) Gate {
	switch {
	case s.Suspended:
		return busy(Unsure, "its process is suspended")
	case s.AgentState == record.Blocked:
		return busy(Blocked, "it waits on a prompt in the pane")
	case s.Status == claude.StatusWaiting:
		return busy(Dialog, "a dialog is open in the pane")
	case s.AgentState == record.Working:
		return busy(Working, "it is at work")
	case s.AgentState == record.Idle, s.AgentState == record.Done:
		return Gate{Answer: Open}
	}
	return busy(Unsure, "its state is not known yet")
}

// calm: it goes on under its own id, and no prompt is on its way. Where the
// registry tells the status the second is known at once; without it herdr lags
// behind a prompt, which the transcript then shows.
func (d *Desk) calm(s presence.Session) Gate {
	path, ok := d.Home.TranscriptNear(s.Session, s.Cwd)
	if !ok {
		return Gate{Answer: Open} // it had no prompt yet
	}
	if next, err := transcript.ContinuedIn(path); err == nil && next != "" {
		return refuse(Continued, "it goes on in the background, as %s", next)
	}
	if s.Status != "" {
		return Gate{Answer: Open}
	}
	st, err := os.Stat(path)
	if err == nil && d.Now().Sub(st.ModTime()) < d.Timing.Settled {
		return busy(JustPrompted, "its transcript was written a moment ago")
	}
	return Gate{Answer: Open}
}

// atPrompt: its screen shows an input line, and nothing is in it.
func (d *Desk) atPrompt(ctx context.Context, p place) Gate {
	ctx, cancel := context.WithTimeout(ctx, d.Timing.Screen)
	defer cancel()
	pane, err := p.herdr.Pane(ctx, p.found.PaneID)
	if err != nil {
		return paneFailed(err)
	}
	if pane.PaneID != p.found.PaneID {
		return busy(Unsure, "its pane was just moved") // finding 10
	}
	if agentsView(pane.TerminalTitleStripped) {
		return busy(Dialog, "the list of background sessions is open in the pane")
	}
	text, err := p.herdr.Read(ctx, herdr.ReadParams{PaneID: p.found.PaneID, Source: herdr.ReadVisible})
	if err != nil {
		return paneFailed(err)
	}
	switch inputLine(text.Text) {
	case inputEmpty:
		return Gate{Answer: Open}
	case inputText:
		if strings.HasPrefix(pane.TerminalTitle, restSign) && d.onlyGhost(ctx, p) {
			return Gate{Answer: Open}
		}
		return busy(Draft, "text stands in its input line")
	}
	return busy(NotAPrompt, "its screen shows no input line")
}

// restSign begins the title of a session that rests. The list of background
// sessions, whose input line starts another session (finding 29) and is drawn
// with a dim hint, too, has another title.
const restSign = "✳"

// agentsView reports whether a title is that of Claude Code's list of
// background sessions (finding 4).
func agentsView(title string) bool {
	return title == "claude agents" || strings.HasSuffix(title, "· claude agents")
}

// onlyGhost reports whether the text in the input line is Claude Code's own: a
// suggestion, drawn dim.
func (d *Desk) onlyGhost(ctx context.Context, p place) bool {
	s, err := p.herdr.Read(ctx, herdr.ReadParams{PaneID: p.found.PaneID, Source: herdr.ReadVisible, Format: "ansi"})
	return err == nil && ghostInput(s.Text)
}

func paneFailed(err error) Gate {
	if herdr.IsCode(err, herdr.CodePaneNotFound) || errors.Is(err, context.DeadlineExceeded) {
		return busy(Unsure, "its pane can't be read now: %v", err)
	}
	return busy(Unsure, "herdr: %v", err)
}
