package digest

import "slices"

// line is what a line of a transcript says, as far as a digest wants it. The
// fields are named as in the line (shape seen with Claude Code 2.1.332).
type line struct {
	kind          raw // type
	subtype       raw
	timestamp     raw
	gitBranch     raw
	customTitle   raw
	aiTitle       raw
	content       raw // of a system line
	command       raw // commandRun.command
	outcome       raw // commandOutcome.kind
	isSidechain   raw
	isMeta        raw
	isCompact     raw // isCompactSummary
	isTranscript  raw // isVisibleInTranscriptOnly
	isVirtual     raw
	isAPIError    raw // isApiErrorMessage
	toolUseResult raw
	promptSource  raw
	turnOrigin    raw
	origin        raw // origin.kind
	message       message
	attachment    attachment
}

// message is the "message" of a user or assistant line.
type message struct{ id, model, content, usage raw }

// attachment is the "attachment" of a line of that type.
type attachment struct{ kind, prompt, commandMode, isMeta, origin raw }

// telling are the types of the lines that a digest is made of.
var telling = []string{"user", "assistant", "system", "attachment", "custom-title", "ai-title"}

// parse reads a line. ok is false when it says nothing to a digest: when it is
// no JSON object, of another type than those, a subagent's (older versions keep
// them in the same file), a result of a tool, or an attachment that is no
// prompt. Those are nearly all bytes of a transcript, and one of these facts
// stands near the start of most such lines: what follows it is not looked at.
// For that, of a key that stands there twice the first one counts. The values
// share b's memory.
func (l *line) parse(b []byte) (ok bool) {
	*l = line{}
	s := scanner{b: b}
	if s.space() != '{' {
		return false
	}
	var message, attached, origin, command, outcome bool // seen
	s.object(func(key []byte) {
		switch string(key) {
		case "message":
			first(&s, &message, func() { l.message.parse(&s) })
		case "attachment":
			first(&s, &attached, func() { l.attachment.parse(&s) })
		case "origin":
			first(&s, &origin, func() { l.origin = s.inner("kind") })
		case "commandRun":
			first(&s, &command, func() { l.command = s.inner("command") })
		case "commandOutcome":
			first(&s, &outcome, func() { l.outcome = s.inner("kind") })
		case "type":
			if s.take(&l.kind) && !slices.ContainsFunc(telling, l.kind.is) {
				s.fail()
			}
		case "isSidechain":
			if s.take(&l.isSidechain) && l.isSidechain.isTrue() {
				s.fail()
			}
		default:
			s.take(l.field(key))
		}
	})
	return s.end() && l.kind != nil
}

// field is where the value of a key belongs, nil if nowhere.
func (l *line) field(key []byte) *raw {
	switch string(key) {
	case "subtype":
		return &l.subtype
	case "timestamp":
		return &l.timestamp
	case "gitBranch":
		return &l.gitBranch
	case "customTitle":
		return &l.customTitle
	case "aiTitle":
		return &l.aiTitle
	case "content":
		return &l.content
	case "isMeta":
		return &l.isMeta
	case "isCompactSummary":
		return &l.isCompact
	case "isVisibleInTranscriptOnly":
		return &l.isTranscript
	case "isVirtual":
		return &l.isVirtual
	case "isApiErrorMessage":
		return &l.isAPIError
	case "toolUseResult":
		return &l.toolUseResult
	case "promptSource":
		return &l.promptSource
	case "turnOrigin":
		return &l.turnOrigin
	}
	return nil
}

// parse takes a message. It fails at one that begins with a tool's result.
func (m *message) parse(s *scanner) {
	s.members(func(key []byte) {
		switch string(key) {
		case "id":
			s.take(&m.id)
		case "model":
			s.take(&m.model)
		case "usage":
			s.take(&m.usage)
		case "content":
			if m.content == nil && s.space() == '[' {
				m.content = s.noResult()
			} else {
				s.take(&m.content)
			}
		default:
			s.value()
		}
	})
}

// noResult takes a list of blocks and fails when the first is a tool's result.
func (s *scanner) noResult() raw {
	start, n := s.i, 0
	s.array(func() {
		if n++; n > 1 {
			s.value()
			return
		}
		var kind raw
		s.members(func(key []byte) {
			if string(key) != "type" {
				s.value()
			} else if s.take(&kind) && kind.is("tool_result") {
				s.fail()
			}
		})
	})
	return raw(s.b[start:s.i])
}

// parse takes an attachment. It fails at one that is no prompt.
func (a *attachment) parse(s *scanner) {
	origin := false
	s.members(func(key []byte) {
		switch string(key) {
		case "type":
			if s.take(&a.kind) && !a.kind.is("queued_command") {
				s.fail()
			}
		case "prompt":
			s.take(&a.prompt)
		case "commandMode":
			s.take(&a.commandMode)
		case "isMeta":
			s.take(&a.isMeta)
		case "origin":
			first(s, &origin, func() { a.origin = s.inner("kind") })
		default:
			s.value()
		}
	})
	if a.kind == nil {
		s.fail()
	}
}

// take takes the next value into field, unless that has one. It reports
// whether it did.
func (s *scanner) take(field *raw) bool {
	v := s.value()
	if field == nil || *field != nil {
		return false
	}
	*field = v
	return !s.bad
}

// first calls take for the first of several values, and skips the others.
func first(s *scanner, seen *bool, take func()) {
	if *seen {
		s.value()
		return
	}
	*seen = true
	take()
}

// members walks over the next value if it is an object, and skips it if not.
func (s *scanner) members(member func(key []byte)) {
	if s.space() != '{' {
		s.value()
		return
	}
	s.object(member)
}

// inner takes the next value and returns the member of that name in it.
func (s *scanner) inner(name string) (v raw) {
	s.members(func(key []byte) {
		if string(key) == name {
			s.take(&v)
		} else {
			s.value()
		}
	})
	return v
}

// block is one part of a message's content.
type block struct{ kind, text raw }

// blocks are the parts of a content, which may be a string; ok is false when
// it is neither that nor a list.
func blocks(content raw) (list []block, ok bool) {
	if len(content) == 0 {
		return nil, false
	}
	switch content[0] {
	case '"':
		return []block{{kind: raw(`"text"`), text: content}}, true
	case '[':
	default:
		return nil, false
	}
	s := scanner{b: content}
	s.array(func() {
		var b block
		s.members(func(key []byte) {
			switch string(key) {
			case "type":
				s.take(&b.kind)
			case "text":
				s.take(&b.text)
			default:
				s.value()
			}
		})
		list = append(list, b)
	})
	return list, true
}
