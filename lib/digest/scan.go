package digest

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math/bits"
	"strconv"
	"unicode/utf8"
)

// maxDepth is how deep a value may nest, as in encoding/json.
const maxDepth = 10000

// raw is a JSON value as it stands in a line; nil where there is none.
type raw []byte

// text is a string's text, "" of any other value.
func (v raw) text() string {
	if len(v) < 2 || v[0] != '"' {
		return ""
	}
	if inner := v[1 : len(v)-1]; bytes.IndexByte(inner, '\\') < 0 && utf8.Valid(inner) {
		return string(inner)
	}
	var s string
	if json.Unmarshal(v, &s) != nil {
		return ""
	}
	return s
}

// is reports whether v is a string with that text.
func (v raw) is(word string) bool {
	if len(v) == len(word)+2 && string(v[1:len(v)-1]) == word {
		return v[0] == '"'
	}
	return bytes.IndexByte(v, '\\') >= 0 && v.text() == word
}

// isTrue reports the literal true.
func (v raw) isTrue() bool { return string(v) == "true" }

// maxCount is more than any count of tokens can be; what is over it is
// nonsense, and would let a sum overflow.
const maxCount = 1 << 40

// count is a number's value; 0 of anything that can't be a count.
func (v raw) count() int64 {
	n, err := strconv.ParseInt(string(v), 10, 64)
	if err != nil || n < 0 || n > maxCount {
		return 0
	}
	return n
}

// scanner walks over one JSON value without building it. It accepts exactly
// what encoding/json accepts: a key or a quote inside a string can't fool it,
// and a torn or foreign line is told from a whole one. A line's bytes are
// looked at once, eight at a time inside strings, which most bytes are.
type scanner struct {
	b     []byte
	i     int
	depth int
	bad   bool
}

func (s *scanner) fail() {
	s.bad, s.i = true, len(s.b)
}

// space skips white space and returns the next byte, 0 at the end.
func (s *scanner) space() byte {
	for ; s.i < len(s.b); s.i++ {
		switch c := s.b[s.i]; c {
		case ' ', '\t', '\r', '\n':
		default:
			return c
		}
	}
	return 0
}

// end reports whether everything was right and nothing follows.
func (s *scanner) end() bool {
	s.space()
	return !s.bad && s.i == len(s.b)
}

// value skips the next value and returns it.
func (s *scanner) value() raw {
	c := s.space()
	start := s.i
	switch c {
	case '"':
		s.str()
	case '{':
		s.object(nil)
	case '[':
		s.array(nil)
	case 't':
		s.literal("true")
	case 'f':
		s.literal("false")
	case 'n':
		s.literal("null")
	default:
		s.number()
	}
	if s.bad {
		return nil
	}
	return raw(s.b[start:s.i])
}

// object walks over an object, whose brace is next. member is called with
// each key, its escapes resolved, and must take one value. A nil member skips
// them.
func (s *scanner) object(member func(key []byte)) {
	s.open()
	if s.space() == '}' {
		s.close()
		return
	}
	for !s.bad {
		if s.space() != '"' {
			s.fail()
			return
		}
		key, escaped := s.str()
		if s.space() != ':' {
			s.fail()
			return
		}
		s.i++
		switch {
		case s.bad:
		case member == nil:
			s.value()
		case escaped:
			member([]byte(key.text()))
		default:
			member(key[1 : len(key)-1])
		}
		if !s.more('}') {
			return
		}
	}
}

// array walks over an array, whose bracket is next, as object does.
func (s *scanner) array(element func()) {
	s.open()
	if s.space() == ']' {
		s.close()
		return
	}
	for !s.bad {
		if element == nil {
			s.value()
		} else {
			element()
		}
		if !s.more(']') {
			return
		}
	}
}

func (s *scanner) open() {
	s.i++
	if s.depth++; s.depth > maxDepth {
		s.fail()
	}
}

func (s *scanner) close() {
	s.i++
	s.depth--
}

// more takes the comma before a next member, or the end.
func (s *scanner) more(end byte) bool {
	switch s.space() {
	case ',':
		s.i++
		return true
	case end:
		s.close()
	default:
		s.fail()
	}
	return false
}

// str takes a string, whose quote is next.
func (s *scanner) str() (v raw, escaped bool) {
	for i := s.i + 1; ; {
		i = plainEnd(s.b, i)
		switch {
		case i == len(s.b) || s.b[i] < ' ':
			s.fail()
			return nil, false
		case s.b[i] == '"':
			v, s.i = raw(s.b[s.i:i+1]), i+1
			return v, escaped
		}
		n := escapeLen(s.b[i:])
		if n == 0 {
			s.fail()
			return nil, false
		}
		i, escaped = i+n, true
	}
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// plainEnd is where the first quote, backslash or control character at or
// after i stands, else the length of b. A byte is less than n when subtracting
// n borrows, and is another when their difference is less than one; borrows
// spoil only what is above the first hit.
func plainEnd(b []byte, i int) int {
	for ; i+8 <= len(b); i += 8 {
		w := binary.LittleEndian.Uint64(b[i:])
		quote, back := w^('"'*ones), w^('\\'*ones)
		hit := ((w - ' '*ones) &^ w) | ((quote - ones) &^ quote) | ((back - ones) &^ back)
		if hit &= highs; hit != 0 {
			return i + bits.TrailingZeros64(hit)/8
		}
	}
	for ; i < len(b); i++ {
		if c := b[i]; c == '"' || c == '\\' || c < ' ' {
			break
		}
	}
	return i
}

// escapeLen is the length of the escape that b starts with, 0 if it is none.
func escapeLen(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if len(b) < 6 {
			return 0
		}
		for _, c := range b[2:6] {
			if !(c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F') {
				return 0
			}
		}
		return 6
	}
	return 0
}

func (s *scanner) literal(word string) {
	if len(s.b)-s.i < len(word) || string(s.b[s.i:s.i+len(word)]) != word {
		s.fail()
		return
	}
	s.i += len(word)
}

// number takes -?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?
func (s *scanner) number() {
	if s.peek() == '-' {
		s.i++
	}
	if s.peek() == '0' {
		s.i++
	} else if !s.digits() {
		return
	}
	if s.peek() == '.' {
		s.i++
		if !s.digits() {
			return
		}
	}
	if c := s.peek(); c == 'e' || c == 'E' {
		s.i++
		if c := s.peek(); c == '+' || c == '-' {
			s.i++
		}
		s.digits()
	}
}

func (s *scanner) peek() byte {
	if s.i < len(s.b) {
		return s.b[s.i]
	}
	return 0
}

// digits takes one digit or more.
func (s *scanner) digits() bool {
	start := s.i
	for s.i < len(s.b) && s.b[s.i] >= '0' && s.b[s.i] <= '9' {
		s.i++
	}
	if s.i == start {
		s.fail()
		return false
	}
	return true
}
