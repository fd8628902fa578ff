package digest

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

// parse reads a line. ok is false when it is no JSON object. Of a key that
// stands there twice the last one counts, as in encoding/json. The values
// share b's memory.
func (l *line) parse(b []byte) (ok bool) {
	*l = line{}
	s := scanner{b: b}
	if s.space() != '{' {
		return false
	}
	s.object(func(key []byte) {
		switch string(key) {
		case "message":
			l.message.parse(&s)
		case "attachment":
			l.attachment.parse(&s)
		case "origin":
			l.origin = s.inner("kind")
		case "commandRun":
			l.command = s.inner("command")
		case "commandOutcome":
			l.outcome = s.inner("kind")
		default:
			v := s.value()
			if field := l.field(key); field != nil {
				*field = v
			}
		}
	})
	return s.end()
}

func (l *line) field(key []byte) *raw {
	switch string(key) {
	case "type":
		return &l.kind
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
	case "isSidechain":
		return &l.isSidechain
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

func (m *message) parse(s *scanner) {
	*m = message{}
	s.members(func(key []byte) {
		v := s.value()
		switch string(key) {
		case "id":
			m.id = v
		case "model":
			m.model = v
		case "content":
			m.content = v
		case "usage":
			m.usage = v
		}
	})
}

func (a *attachment) parse(s *scanner) {
	*a = attachment{}
	s.members(func(key []byte) {
		if string(key) == "origin" {
			a.origin = s.inner("kind")
			return
		}
		v := s.value()
		switch string(key) {
		case "type":
			a.kind = v
		case "prompt":
			a.prompt = v
		case "commandMode":
			a.commandMode = v
		case "isMeta":
			a.isMeta = v
		}
	})
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
		if got := s.value(); string(key) == name {
			v = got
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
			v := s.value()
			switch string(key) {
			case "type":
				b.kind = v
			case "text":
				b.text = v
			}
		})
		list = append(list, b)
	})
	return list, true
}
