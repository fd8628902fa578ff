package control

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"time"

	"sessionhub/lib/claude"
	"sessionhub/lib/claude/entry"
	"sessionhub/lib/jsonl"
	"sessionhub/lib/mailbox"
	"sessionhub/lib/record"
)

// goneWait is how long after Claude Code's end its transcript may grow.
const goneWait = time.Second

// arrives waits until a message that Claude Code was given stands in the
// transcript. While Claude Code works it may wait in there for the end of a turn,
// however long that takes: a person was a moment faster.
func (m *mail) arrives(ctx context.Context, mark mailbox.Mark) record.Result {
	m.proof.mark = mark
	var still time.Time // since when nothing more is to be expected
	for {
		if m.proof.arrived() {
			return record.Result{State: record.RequestDelivered, Detail: "through its mailbox"}
		}
		now := m.d.Now()
		switch limit, resting := m.resting(mark); {
		case !resting:
			still = time.Time{}
		case still.IsZero():
			still = now
		case now.Sub(still) >= limit && m.proof.anywhere():
			return record.Result{State: record.RequestDelivered, Detail: "through its mailbox"}
		case now.Sub(still) >= limit && !mark.Alive():
			return failed("given to Claude Code, which ended before it took it up")
		case now.Sub(still) >= limit:
			return failed("given to Claude Code, not seen to arrive")
		}
		if ctx.Err() != nil { // the next one looks again
			return record.Result{State: record.ResultBusy, Detail: "given to Claude Code; it takes it up when its turn ends"}
		}
		m.d.Desk.Pause(ctx, proofEvery)
	}
}

// resting reports whether the message should have arrived by now, and how long
// it may take until it is seen.
func (m *mail) resting(mark mailbox.Mark) (limit time.Duration, ok bool) {
	if !mark.Alive() {
		return goneWait, true
	}
	e, known := entry.Read(string(m.d.Desk.Home), mark.Claude)
	return proofWait, !known || e.Status == entry.Idle || e.Status == entry.Shell
}

// proof looks for a message in the transcripts of the session, and of the one
// that its Claude Code runs by now: it may have gone there before its turn came.
type proof struct {
	home         claude.Home
	session, cwd string
	id           string
	mark         mailbox.Mark
	read         map[string]int64 // how far each transcript was read
}

// skip passes over what stands there before the message was left.
func (p *proof) skip() {
	p.read = map[string]int64{}
	if path, ok := p.home.TranscriptNear(p.session, p.cwd); ok {
		if st, err := os.Stat(path); err == nil {
			p.read[path] = st.Size()
		}
	}
}

func (p *proof) arrived() bool {
	if p.read == nil {
		p.read = map[string]int64{}
	}
	sessions := []string{p.session}
	if e, ok := entry.Read(string(p.home), p.mark.Claude); ok && e.Session != p.session && record.CheckID("session", e.Session) == nil {
		sessions = append(sessions, e.Session)
	}
	for _, s := range sessions {
		if path, ok := p.home.TranscriptNear(s, p.cwd); ok && p.in(path) {
			return true
		}
	}
	return false
}

// clockSlack is how much earlier than the mark a file's time may be.
const clockSlack = 2 * time.Second

// anywhere looks in every transcript that was written since the message was
// given: a Claude Code that is gone does not tell which session it ran last.
func (p *proof) anywhere() bool {
	for _, s := range p.home.Transcribed("") {
		path, ok := p.home.Transcript(s)
		if !ok {
			continue
		}
		st, err := os.Stat(path)
		if err == nil && !st.ModTime().Before(p.mark.At.Add(-clockSlack)) && p.in(path) {
			return true
		}
	}
	return false
}

// maxWake bounds a line that is looked at: a message has 64 KiB at most, and JSON
// may double that.
const maxWake = 1 << 20

// in reads on in a transcript.
func (p *proof) in(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil || st.Size() <= p.read[path] {
		return false
	}
	from := p.read[path]
	r := jsonl.NewReader(io.NewSectionReader(f, from, st.Size()-from), maxWake)
	for {
		l, err := r.Next()
		if err != nil || l.Torn {
			return false
		}
		if woke(l.Bytes, p.id) {
			return true
		}
		p.read[path] = from + l.Offset + l.Size + 1
	}
}

// woke reports whether a line of a transcript is the prompt that a message made
// when it was given: the whole of it, in its frame. That it waits in a queue
// proves nothing, as that ends with Claude Code.
func woke(line []byte, id string) bool {
	if !bytes.Contains(line, []byte(mailbox.Begins(id))) || !bytes.Contains(line, []byte(mailbox.Ends(id))) {
		return false
	}
	var l struct {
		Type       string `json:"type"`
		Attachment struct {
			Type string `json:"type"`
		} `json:"attachment"`
		Origin struct {
			Kind string `json:"kind"`
		} `json:"origin"`
		Message struct {
			Content json.RawMessage `json:"content"`
		} `json:"message"`
	}
	if json.Unmarshal(line, &l) != nil {
		return false
	}
	switch l.Type {
	case "user":
		return l.Origin.Kind == "task-notification" || l.Origin.Kind == "" && !bytes.Contains(l.Message.Content, []byte(`"tool_result"`))
	case "attachment": // taken up between two rounds of a turn
		return l.Attachment.Type == "queued_command"
	}
	return false
}
