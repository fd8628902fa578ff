package digest

import (
	"regexp"
	"slices"
	"strings"

	"sessionhub/lib/record"
)

// synthetic is the model that Claude Code names for what it says itself, such
// as an API error or "No response requested.".
const synthetic = "<synthetic>"

// noContent is what Claude Code writes where a reply has no text.
const noContent = "(no content)"

// recentReplies is how many replies are remembered to know their further
// blocks by. A reply's blocks stand close together, with results of tools
// between them, and another reply's only where lines were written out of turn.
const recentReplies = 8

// tally is what the lines read so far add up to. It is small whatever the size
// of the transcript, and kept in digests.json.
type tally struct {
	CustomTitle string        `json:"custom_title,omitempty"`
	AITitle     string        `json:"ai_title,omitempty"`
	FirstPrompt string        `json:"first_prompt,omitempty"`
	LastPrompt  string        `json:"last_prompt,omitempty"`
	LastReply   string        `json:"last_reply,omitempty"`
	ReplyID     string        `json:"reply_id,omitempty"`   // the message of LastReply
	ReplyFull   bool          `json:"reply_full,omitempty"` // no more of it is shown
	Recap       string        `json:"recap,omitempty"`
	Turns       int           `json:"turns,omitempty"`
	Model       string        `json:"model,omitempty"`
	GitBranch   string        `json:"git_branch,omitempty"`
	At          record.Time   `json:"at,omitzero"`
	Tokens      record.Tokens `json:"tokens"`
	Recent      []usage       `json:"recent,omitempty"` // oldest first; counted in Tokens
	Skipped     int           `json:"skipped_lines,omitempty"`

	prompted string // becomes LastPrompt when all is read
	replied  raw    // becomes LastReply
}

// usage is what one reply used, as its last line so far says.
type usage struct {
	ID string `json:"id"`
	record.Tokens
}

// clone is a copy that shares nothing that changes.
func (t tally) clone() tally {
	t.Recent, t.replied = slices.Clone(t.Recent), slices.Clone(t.replied)
	return t
}

// add takes in one line. Texts are cleaned later, by settle.
func (t *tally) add(l *line) {
	switch {
	case l.kind.is("custom-title"):
		t.CustomTitle = clean(l.customTitle.text(), textLen)
		return
	case l.kind.is("ai-title"):
		t.AITitle = clean(l.aiTitle.text(), textLen)
		return
	case l.kind.is("assistant"):
		t.reply(l)
	default:
		t.prompt(l)
		t.sumUp(l)
	}
	if !l.kind.is("attachment") { // it may be told later than it was made
		t.place(l)
	}
}

// settle cleans the texts that stand last. Those that others replaced never
// are: cleaning costs more than all else.
func (t *tally) settle() {
	if t.prompted != "" {
		t.LastPrompt, t.prompted = clean(t.prompted, textLen), ""
	}
	if len(t.replied) > 0 {
		t.setReply(replyText(t.replied))
		t.replied = t.replied[:0]
	}
}

func (t *tally) prompt(l *line) {
	said, ok := l.prompt()
	if !ok {
		return
	}
	t.Turns++
	t.prompted = said
	if t.Turns == 1 {
		t.FirstPrompt = clean(said, textLen)
	}
}

// reply takes in one block of a reply of the model. Errors of the API stand
// there as replies, too; they are none, and what uses no tokens counts none.
func (t *tally) reply(l *line) {
	if l.message.model.is(synthetic) || l.isAPIError.isTrue() {
		return
	}
	if !l.message.model.is(t.Model) {
		if m := clean(l.message.model.text(), textLen); m != "" {
			t.Model = m
		}
	}
	id := l.message.id.text()
	if len(id) > maxID {
		id = ""
	}
	t.count(id, l.message.usage)
	list, _ := blocks(l.message.content)
	for _, b := range list {
		if b.kind.is("text") {
			t.say(id, b.text)
		}
	}
}

// maxID bounds the ids of messages that are remembered; real ones have under
// 40 bytes.
const maxID = 200

// say makes v the last reply, or adds it when it is more of the same message.
func (t *tally) say(id string, v raw) {
	if v.blank() {
		return
	}
	if id == "" || id != t.ReplyID {
		t.ReplyID, t.replied = id, append(t.replied[:0], v...)
		return
	}
	if t.settle(); !t.ReplyFull {
		t.setReply(t.LastReply + "\n" + replyText(v))
	}
}

func replyText(v raw) string { return strings.TrimSpace(head(v.text())) }

func (t *tally) setReply(s string) {
	long := clean(s, textLen+1) // one more tells whether something is cut
	t.LastReply = clean(s, textLen)
	t.ReplyFull = long != t.LastReply
}

// blank reports a reply that says nothing. Nearly all say something, which
// their first character shows.
func (v raw) blank() bool {
	if len(v) > 1 && v[0] == '"' && v[1] > ' ' && v[1] <= '~' && !strings.ContainsRune(`"\(`, rune(v[1])) {
		return false
	}
	s := replyText(v)
	return s == "" || s == noContent
}

// count adds the usage of a reply once: its blocks repeat it, and the last one
// has it whole.
func (t *tally) count(id string, v raw) {
	if len(v) == 0 || v[0] != '{' {
		return
	}
	var in, out, read, write raw
	s := scanner{b: v}
	s.object(func(key []byte) {
		switch string(key) {
		case "input_tokens":
			s.take(&in)
		case "output_tokens":
			s.take(&out)
		case "cache_read_input_tokens":
			s.take(&read)
		case "cache_creation_input_tokens":
			s.take(&write)
		default:
			s.value()
		}
	})
	u := usage{ID: id, Tokens: record.Tokens{In: in.count(), Out: out.count(), CacheRead: read.count(), CacheWrite: write.count()}}
	if i := slices.IndexFunc(t.Recent, func(r usage) bool { return r.ID == id && id != "" }); i >= 0 {
		t.sum(t.Recent[i].Tokens, -1)
		t.Recent[i] = u
	} else if id != "" {
		t.Recent = append(t.Recent, u)
		if len(t.Recent) > recentReplies {
			t.Recent = slices.Delete(t.Recent, 0, 1)
		}
	}
	t.sum(u.Tokens, 1)
}

func (t *tally) sum(u record.Tokens, sign int64) {
	t.Tokens.In += sign * u.In
	t.Tokens.Out += sign * u.Out
	t.Tokens.CacheRead += sign * u.CacheRead
	t.Tokens.CacheWrite += sign * u.CacheWrite
}

// place takes the branch and the time of a message. "HEAD" is what Claude Code
// says outside a repository, and with a detached head: no branch.
func (t *tally) place(l *line) {
	if l.gitBranch != nil {
		t.GitBranch = clean(l.gitBranch.text(), textLen)
		if t.GitBranch == "HEAD" {
			t.GitBranch = ""
		}
	}
	if at, err := record.ParseTime(l.timestamp.text()); err == nil {
		t.At = at
	}
}

// Recaps that are none: what /recap says instead of one.
var noRecap = []string{"Nothing to recap yet", "Recap cancelled.", "Couldn't generate a recap.", "/recap only runs when"}

var (
	reminder = regexp.MustCompile(`(?s)<system-reminder>.*?</system-reminder>`)
	stdout   = regexp.MustCompile(`(?s)^<local-command-stdout>(.*)</local-command-stdout>$`)
)

// sumUp takes in a line that sums the session up: what Claude Code writes for a
// person who was away (its hint how to turn that off left out), the answer to
// /recap, and the summary after a compact. Of several the last one counts.
func (t *tally) sumUp(l *line) {
	s := ""
	switch {
	case l.kind.is("user") && l.isCompact.isTrue():
		s = summary(l.message.content)
	case !l.kind.is("system"):
	case l.subtype.is("away_summary"):
		s = strings.TrimSuffix(strings.TrimSpace(l.content.text()), "(turn off recaps in /config)")
	case l.subtype.is("local_command") && l.command.is("recap") && !l.outcome.is("failed"):
		if m := stdout.FindStringSubmatch(strings.TrimSpace(l.content.text())); m != nil {
			s = m[1]
		}
	}
	if slices.ContainsFunc(noRecap, func(no string) bool { return strings.HasPrefix(s, no) }) {
		return
	}
	if s = clean(s, recapLen); s != "" {
		t.Recap = s
	}
}

// summary is the text of a compact's summary without the sentences around it
// that speak to the model.
func summary(content raw) string {
	list, _ := blocks(content)
	var parts []string
	for _, b := range list {
		if t := b.text.text(); b.kind.is("text") && t != "" {
			parts = append(parts, t)
		}
	}
	s := strings.TrimSpace(strings.Join(parts, "\n"))
	if strings.HasPrefix(s, "This session is being continued from a previous conversation") {
		if _, rest, ok := strings.Cut(s, "\n\n"); ok {
			s = rest
		}
	}
	s = strings.TrimSpace(reminder.ReplaceAllString(head(s), ""))
	return strings.TrimSpace(strings.TrimPrefix(s, "Summary:"))
}
