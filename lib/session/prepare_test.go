package session

import (
	"errors"
	"strings"
	"testing"
	"unicode"
)

func TestPrepare(t *testing.T) {
	for _, c := range []struct {
		name, in, want string // "" is refused
	}{
		{"a line", "go on", "go on"},
		{"several lines", "one\ntwo", "one\ntwo"},
		{"23: CR, CRLF and a final newline", "one\r\ntwo\rthree\r\n\n", "one\ntwo\nthree"},
		{"23: tabs", "a\tb", "a    b"},
		{"23: a line separator", "a\u2028b", "a\nb"},
		{"23: decomposed letters", "e\u0301", "é"},
		{"23: the end of a paste, and what would be typed after it", "safe\x1b[201~AFTER\rINJECTED", "safeAFTER\nINJECTED"},
		{"23: an arrow key and a bell", "a\x1b[Ab\x07c", "abc"},
		{"23: zero-width characters", "a\u200bb\u2060c\ufeffd\u00ade", "abcde"},
		{"emoji keep their joiners", "a 👩‍👩‍👧 b", "a 👩‍👩‍👧 b"},
		{"24: bidirectional controls", "a\u202eb\u2066c", "abc"},
		{"24: a final backslash", `C:\`, `C:\ `},
		{"25: a shell command", "!rm -rf x", " !rm -rf x"},
		{"25: a shell command behind blanks", "  !rm", "  !rm"},
		{"25: a shell command of several lines", "!a\nb", " !a\nb"},
		{"25: a path is text", "/usr/bin is full", "/usr/bin is full"},
		{"25: a sign alone is text", "# note", "# note"},
		{"a question mark", "? what", "? what"},
		{"a longer sentence with the word", "exit now", "exit now"},
		{"the word in capitals", "EXIT", "EXIT"},
		{"leading empty lines", "\n\nx", "x"},
		{"25: a slash command", "/clear", ""},
		{"25: behind blanks", "  /clear", ""},
		{"25: with a second line", "/nope\nsecond", ""},
		{"a plugin's command", "/my-plugin:do it", ""},
		{"25: the bare word exit", " exit\n", ""},
		{"the bare word quit", "quit", ""},
		{"an editor's end", ":q", ""},
		{"24: only blanks", "  \n\t ", ""},
		{"only what can't be seen", "\u200b\u202e\x1b[0m", ""},
		{"not UTF-8", "a\xff", "a\ufffd"},
	} {
		got, err := Prepare(c.in, Message)
		if c.want == "" {
			if !errors.Is(err, ErrUnfit) || strings.Contains(err.Error(), "clear") {
				t.Errorf("%s: %q, %v", c.name, got, err)
			}
			continue
		}
		if err != nil || got != c.want {
			t.Errorf("%s: %q, %v; want %q", c.name, got, err, c.want)
		}
	}
}

func TestPrepareCommand(t *testing.T) {
	for in, want := range map[string]string{
		"/clear": "/clear", " /compact now ": "/compact now", "hello": "", "/a\nb": "", "": "", "!ls": "", "/usr/bin": "",
	} {
		got, err := Prepare(in, Command)
		if want == "" && err == nil || got != want {
			t.Errorf("%q: %q, %v", in, got, err)
		}
	}
}

func FuzzPrepare(f *testing.F) {
	for _, s := range []string{"go on", "!x", "/clear", "exit", `a\`, "\u202e", "a\x1b[201~b", "\ufeff/clear", "\u200b!ls", "e\u0301xit", " \u200bexit"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := Prepare(s, Message)
		if err != nil {
			return
		}
		trimmed := strings.TrimSpace(got)
		switch {
		case trimmed == "":
			t.Errorf("%q became nothing: %q", s, got)
		case strings.HasPrefix(got, "!"), strings.HasSuffix(got, `\`), endWord(trimmed), commandWord.MatchString(trimmed):
			t.Errorf("%q is no message: %q", s, got)
		}
		for _, r := range got {
			if unicode.IsControl(r) && r != '\n' || unicode.Is(unicode.Bidi_Control, r) {
				t.Errorf("%q holds %U: %q", s, r, got)
			}
		}
		if again, err := Prepare(got, Message); err != nil || fold(again) != fold(got) {
			t.Errorf("twice: %q, %v; once: %q", again, err, got)
		}
	})
}

// What Claude Code makes of a text on its way into the transcript.
func TestFold(t *testing.T) {
	for _, c := range [][2]string{
		{"one\ntwo", "\n\n<pasted_content id=\"6ef3\">\none\ntwo\n</pasted_content id=\"6ef3\">\n"},
		{`abc\ `, `abc\`},
		{"a\u200cb", "ab"},
		{"x  y", "x y"},
	} {
		if fold(c[0]) != fold(c[1]) {
			t.Errorf("%q and %q differ", c[0], c[1])
		}
	}
	if fold("half a sentence from remote") == fold("from remote") {
		t.Error("a text behind a draft counts as the text")
	}
}

func TestCarries(t *testing.T) {
	for _, c := range []struct {
		name, line, text string
		want             bool
	}{
		{"typed", `{"type":"user","promptSource":"typed","message":{"content":"go on"}}`, "go on", true},
		{"in blocks", `{"type":"user","message":{"content":[{"type":"text","text":"go on"}]}}`, "go on", true},
		{"27: kept for the end of the turn", `{"type":"queue-operation","operation":"enqueue","content":"go on"}`, "go on", true},
		{"taken from there", `{"type":"queue-operation","operation":"dequeue","content":"go on"}`, "go on", false},
		{"26: behind a draft", `{"type":"user","message":{"content":"half a sentence go on"}}`, "go on", false},
		{"no person's", `{"type":"user","isMeta":true,"message":{"content":"go on"}}`, "go on", false},
		{"the model's", `{"type":"assistant","message":{"content":"go on"}}`, "go on", false},
		{"25: run as a shell command", `{"type":"user","message":{"content":"<bash-input>go on</bash-input>"}}`, "go on", false},
		{"a slash command", `{"type":"system","subtype":"local_command","content":"<command-name>/rename</command-name>\n <command-args>x</command-args>"}`, "/rename x", true},
		{"another slash command", `{"type":"user","message":{"content":"<command-name>/compact</command-name>"}}`, "/rename x", false},
		{"rubbish", `{"type":"user"`, "go on", false},
	} {
		if got := carries([]byte(c.line), fold(c.text)); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
