package session

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"regexp"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"sessionhub/lib/herdr"
	"sessionhub/lib/jsonl"
)

// Said is what became of a text that was typed.
type Said struct {
	Gate  Gate  // when nothing was typed
	Typed bool  // herdr took it: it may be anywhere now
	Seen  bool  // it was seen to arrive
	Err   error // of herdr, when it is not known whether it was typed
}

// Say types a prepared text into a session's pane, through the gate, and waits
// until the session's transcript shows that it arrived (finding 21: herdr's own
// answer proves nothing). before is called once, right before the text is given
// to herdr: what can't be undone begins there. An error of it stops everything.
func (d *Desk) Say(ctx context.Context, session, text string, before func() error) (Said, error) {
	g := d.Gate(ctx, session)
	if g.Answer != Open {
		return Said{Gate: g}, nil
	}
	seen := d.watch(g.place)
	s, err := d.give(ctx, g, text, before)
	if err != nil || !s.Typed {
		return s, err
	}
	s.Seen = d.until(ctx, d.Timing.Arrive, func(ctx context.Context) bool {
		return seen.arrived(text) || strings.HasPrefix(text, "/") && d.left(ctx, g.place)
	})
	return s, nil
}

// give hands a text to herdr, for a pane whose gate is open.
func (d *Desk) give(ctx context.Context, g Gate, text string, before func() error) (Said, error) {
	if err := before(); err != nil {
		return Said{}, err
	}
	_, err := g.place.herdr.PromptAgent(ctx, herdr.Prompt{Target: g.PaneID, Text: text})
	if nothing, why := notTyped(err); nothing {
		return Said{Gate: why}, nil
	}
	return Said{Gate: g, Typed: true, Err: err}, nil
}

// left reports whether a session has left its pane, as /clear, /resume and /exit
// make it: their traces are in another transcript.
func (d *Desk) left(ctx context.Context, p place) bool {
	w := d.find(ctx, p.found.Session)
	return len(w.in) == 0 && w.failed == nil && w.maybe == ""
}

// notTyped reports whether an error of herdr means that it typed nothing.
func notTyped(err error) (bool, Gate) {
	switch {
	case err == nil:
		return false, Gate{}
	case herdr.IsCode(err, herdr.CodeAgentBlocked):
		return true, busy(Blocked, "it waits on a prompt in the pane")
	case herdr.IsCode(err, herdr.CodeAgentNotReady), herdr.IsCode(err, herdr.CodeAgentNotFound):
		return true, busy(Unsure, "herdr: %v", err)
	}
	var un *herdr.UnreachableError
	if errors.As(err, &un) && un.Gone() {
		return true, busy(Unsure, "herdr does not answer: %v", err)
	}
	return false, Gate{}
}

// arrival watches the end of a transcript for a text.
type arrival struct {
	find func() (path string, ok bool)
	path string
	from int64
}

// watch notes where a session's transcript ends now. A session without a
// prompt has none yet.
func (d *Desk) watch(p place) *arrival {
	a := &arrival{find: func() (string, bool) { return d.Home.TranscriptNear(p.found.Session, p.found.Cwd) }}
	if path, ok := a.find(); ok {
		if st, err := os.Stat(path); err == nil {
			a.path, a.from = path, st.Size()
		}
	}
	return a
}

// maxLine bounds a line of a transcript that is looked at: a message has 64 KiB
// at most, and JSON may double that.
const maxLine = 1 << 20

// arrived reports whether the transcript holds the text in a line that was
// written since: a prompt, or one that Claude Code keeps for the end of the
// turn (finding 27).
func (a *arrival) arrived(text string) bool {
	path, ok := a.find()
	if !ok {
		return false
	}
	if path != a.path { // it has just appeared, or was moved by /cd
		a.path, a.from = path, 0
	}
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil || st.Size() <= a.from {
		return false
	}
	r := jsonl.NewReader(io.NewSectionReader(f, a.from, st.Size()-a.from), maxLine)
	want := fold(text)
	for {
		l, err := r.Next()
		if err != nil || l.Torn {
			return false
		}
		if carries(l.Bytes, want) {
			return true
		}
	}
}

// carries reports whether a line of a transcript is a person's prompt with the
// folded text.
func carries(line []byte, want string) bool {
	var l struct {
		Type      string `json:"type"`
		IsMeta    bool   `json:"isMeta"`
		Operation string `json:"operation"`
		Content   string `json:"content"`
		Message   struct {
			Content json.RawMessage `json:"content"`
		} `json:"message"`
	}
	if json.Unmarshal(line, &l) != nil {
		return false
	}
	switch {
	case l.Type == "queue-operation" && l.Operation == "enqueue":
		return fold(l.Content) == want
	case l.Type == "user" && !l.IsMeta:
		for _, s := range texts(l.Message.Content) {
			if fold(s) == want || runs(s, want) {
				return true
			}
		}
	case l.Type == "system":
		return runs(l.Content, want)
	}
	return false
}

// runs reports whether a line tells that a slash command ran.
func runs(content, want string) bool {
	name, _, _ := strings.Cut(want, " ")
	return strings.HasPrefix(name, "/") && strings.Contains(content, "<command-name>"+name+"</command-name>")
}

// texts are the texts of a message's content: a string, or blocks.
func texts(content json.RawMessage) []string {
	var s string
	if json.Unmarshal(content, &s) == nil {
		return []string{s}
	}
	var blocks []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(content, &blocks) != nil {
		return nil
	}
	var list []string
	for _, b := range blocks {
		list = append(list, b.Text)
	}
	return list
}

// wrapper is what Claude Code puts around a pasted text (finding 23).
var wrapper = regexp.MustCompile(`</?pasted_content id="[^"]*">`)

// fold is a text without what Claude Code adds or takes away on its way into
// the transcript: the wrapper of a paste, invisible characters, and how blanks
// and line ends stand.
func fold(s string) string {
	s = wrapper.ReplaceAllString(s, "")
	s = norm.NFC.String(strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Variation_Selector, r) {
			return -1
		}
		return r
	}, s))
	return strings.Join(strings.Fields(s), " ")
}
