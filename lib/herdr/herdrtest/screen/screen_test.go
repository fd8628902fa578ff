package screen

import (
	"strings"
	"testing"
)

func visible(s *Screen) string {
	var b strings.Builder
	for _, r := range s.Visible() {
		b.WriteString(r.Text + "|")
	}
	return b.String()
}

func TestWrite(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"lines":             {"one\r\ntwo", "one|two||"},
		"wrap":              {"12345678901", "1234567890|1||"},
		"wrap waits":        {"1234567890\r\nx", "1234567890|x||"},
		"scroll":            {"a\r\nb\r\nc\r\nd", "b|c|d|"},
		"overwrite":         {"abc\rX", "Xbc|||"},
		"backspace erase":   {"abc\b \b", "ab|||"},
		"cursor":            {"\x1b[2;3Hx\x1b[1Ay", "   y|  x||"},
		"erase line":        {"abc\x1b[1G\x1b[K", "|||"},
		"erase screen":      {"abc\r\ndef\x1b[2J\x1b[Hx", "x|||"},
		"insert, delete":    {"abcd\x1b[2G\x1b[1P\x1b[2@", "a  cd|||"},
		"insert line":       {"a\r\nb\x1b[1;1H\x1b[L", "|a|b|"},
		"delete line":       {"a\r\nb\r\nc\x1b[1;1H\x1b[M", "b|c||"},
		"region":            {"a\r\nb\r\nc\x1b[1;2r\x1b[2;1H\n", "b||c|"},
		"wide":              {"日本x", "日本x|||"},
		"wide wraps":        {"123456789日", "123456789|日||"},
		"combining":         {"e\u0301x", "e\u0301x|||"},
		"title is no text":  {"\x1b]0;T\x07a\x1b]2;U\x1b\\b", "ab|||"},
		"strings vanish":    {"\x1bPq\x1b\\a\x1b_x\x07b", "ab|||"},
		"alternate":         {"a\x1b[?1049hXYZ\x1b[?1049lb", "ab|||"},
		"tab":               {"a\tb", "a       b|||"},
		"absurd numbers":    {"\x1b[99999999999;7Hz", "      z|||"},
		"bad utf-8":         {"a\xffb", "a\ufffdb|||"},
		"controls in a CSI": {"ab\x1b[\r1Cx", "ax|||"},
	} {
		t.Run(name, func(t *testing.T) {
			whole := New(10, 3)
			whole.Write([]byte(c.in))
			if got := visible(whole); got != c.want {
				t.Errorf("whole: %q, want %q", got, c.want)
			}
			bytewise := New(10, 3)
			for i := range len(c.in) {
				bytewise.Write([]byte{c.in[i]})
			}
			if got := visible(bytewise); got != c.want {
				t.Errorf("byte by byte: %q, want %q", got, c.want)
			}
		})
	}
}

func TestModes(t *testing.T) {
	s := New(10, 3)
	var replies string
	s.Reply = func(b []byte) { replies += string(b) }
	s.Write([]byte("\x1b]0;✳ Fix\x07\x1b[?2004h\x1b[?1000hab\x1b[6n"))
	if s.Title() != "✳ Fix" || !s.BracketedPaste() || !s.Mouse() || replies != "\x1b[1;3R" {
		t.Errorf("title %q, paste %v, mouse %v, replies %q", s.Title(), s.BracketedPaste(), s.Mouse(), replies)
	}
	s.Write([]byte("\x1b[?2004l\x1b[?1049h"))
	if s.BracketedPaste() || !s.Alternate() {
		t.Errorf("paste %v, alternate %v", s.BracketedPaste(), s.Alternate())
	}
}

func TestAllKeepsWhatScrolledOff(t *testing.T) {
	s := New(5, 2)
	s.Write([]byte("a\r\nlonger1\r\nb"))
	var got []string
	for _, r := range s.All() {
		got = append(got, r.Text)
	}
	if want := "a longe r1 b"; strings.Join(got, " ") != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if !s.All()[1].Wrapped {
		t.Error("the wrapped row is not marked")
	}
}

func TestStyled(t *testing.T) {
	s := New(10, 1)
	s.Write([]byte("\x1b[1;31mred\x1b[0m x"))
	if got, want := s.Visible()[0].Styled, "\x1b[0m\x1b[1;31mred\x1b[0m x"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func FuzzWrite(f *testing.F) {
	f.Add("\x1b[2;3H日\x1b[?1049h\x1b[5r\x1b[L")
	f.Fuzz(func(t *testing.T, in string) {
		s := New(7, 3)
		s.Write([]byte(in))
		if rows := s.All(); len(rows) < 3 {
			t.Errorf("%d rows", len(rows))
		}
	})
}
