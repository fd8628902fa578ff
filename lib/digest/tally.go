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
}

// usage is what one reply used, as its last line so far says.
type usage struct {
	ID string `json:"id"`
	record.Tokens
}

// clone is a copy that shares nothing that changes.
func (t tally) clone() tally {
	t.Recent = slices.Clone(t.Recent)
	return t
}

// add takes in one line. A line of a subagent (older versions keep them in the
// same file) changes nothing: the digest is the person's session.
func (t *tally) add(l *line) {
	if l.isSidechain.isTrue() {
		return
	}
	kind := l.kind.text()
	switch kind {
	case "custom-title":
		t.CustomTitle = clean(l.customTitle.text(), textLen)
		return
	case "ai-title":
		t.AITitle = clean(l.aiTitle.text(), textLen)
		return
	case "user", "attachment":
		t.prompt(l)
	case "assistant":
		t.reply(l)
	}
	if s := l.recap(); s != "" {
		t.Recap = s
	}
	if kind == "user" || kind == "assistant" || kind == "system" {
		t.place(l)
	}
}

func (t *tally) prompt(l *line) {
	said, ok := l.prompt()
	if !ok {
		return
	}
	t.Turns++
	t.LastPrompt = clean(said, textLen)
	if t.Turns == 1 {
		t.FirstPrompt = t.LastPrompt
	}
}

// reply takes in one block of a reply of the model. Errors of the API stand
// there as replies, too; they are none, and what uses no tokens counts none.
func (t *tally) reply(l *line) {
	model := l.message.model.text()
	if model == synthetic || l.isAPIError.isTrue() {
		return
	}
	if m := clean(model, textLen); m != "" {
		t.Model = m
	}
	id := l.message.id.text()
	if len(id) > maxID {
		id = ""
	}
	t.count(id, l.message.usage)
	list, _ := blocks(l.message.content)
	for _, b := range list {
		if b.kind.text() == "text" {
			t.say(id, b.text.text())
		}
	}
}

// maxID bounds the ids of messages that are remembered; real ones have under 40 bytes.
const maxID = 200

// say makes s the last reply, or adds it when it is more of the same message.
func (t *tally) say(id, s string) {
	s = strings.TrimSpace(head(s))
	if s == "" || s == noContent {
		return
	}
	if id != "" && id == t.ReplyID {
		if t.ReplyFull {
			return
		}
		s = t.LastReply + "\n" + s
	}
	long := clean(s, textLen+1) // one more tells whether something is cut
	t.ReplyID, t.LastReply = id, clean(s, textLen)
	t.ReplyFull = long != t.LastReply
}

// count adds the usage of a reply once: its blocks repeat it, and the last one
// has it whole.
func (t *tally) count(id string, v raw) {
	if len(v) == 0 || v[0] != '{' {
		return
	}
	u := usage{ID: id}
	s := scanner{b: v}
	s.object(func(key []byte) {
		n := s.value().count()
		switch string(key) {
		case "input_tokens":
			u.In = n
		case "output_tokens":
			u.Out = n
		case "cache_read_input_tokens":
			u.CacheRead = n
		case "cache_creation_input_tokens":
			u.CacheWrite = n
		}
	})
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

// recap is the text of a line that sums the session up, if it is one: what
// Claude Code writes for a person who was away (its hint how to turn that off
// left out), the answer to /recap, and the summary after a compact. Of several
// the last one counts.
func (l *line) recap() string {
	s := ""
	switch kind := l.kind.text(); {
	case kind == "user" && l.isCompact.isTrue():
		s = summary(l.message.content)
	case kind != "system":
	case l.subtype.text() == "away_summary":
		s = strings.TrimSuffix(strings.TrimSpace(l.content.text()), "(turn off recaps in /config)")
	case l.subtype.text() == "local_command" && l.command.text() == "recap" && l.outcome.text() != "failed":
		if m := stdout.FindStringSubmatch(strings.TrimSpace(l.content.text())); m != nil {
			s = m[1]
		}
	}
	if slices.ContainsFunc(noRecap, func(no string) bool { return strings.HasPrefix(s, no) }) {
		return ""
	}
	return clean(s, recapLen)
}

// summary is the text of a compact's summary without the sentences around it
// that speak to the model.
func summary(content raw) string {
	list, _ := blocks(content)
	var parts []string
	for _, b := range list {
		if t := b.text.text(); b.kind.text() == "text" && t != "" {
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
