package main

import (
	"strings"
	"testing"
)

func names(keys []key) string {
	var out []string
	for _, k := range keys {
		out = append(out, strings.TrimSuffix(k.name+":"+k.text, ":"))
	}
	return strings.Join(out, " ")
}

func TestKeys(t *testing.T) {
	for _, c := range []struct {
		name  string
		reads []string
		want  string
	}{
		{"a line", []string{"hello\r"}, "text:hello enter"},
		{"a paste", []string{"\x1b[200~a\nb\x1b[201~\r"}, "paste:a\nb enter"},
		{"a paste that is cut", []string{"\x1b[200~a", "b\x1b[20", "1~x"}, "paste:ab text:x"},
		{"escape alone", []string{"\x1b"}, "esc"},
		{"escape, then text", []string{"\x1b", "x"}, "esc text:x"},
		{"arrows of both kinds", []string{"\x1b[A\x1bOB"}, "up down"},
		{"a key that is not known", []string{"\x1b[27;5;13~x"}, "text:x"},
		{"controls", []string{"\x03\x04\x1a\x15\x7f\n\x07"}, "ctrl+c ctrl+d ctrl+z ctrl+u backspace newline"},
		{"a character that is cut", []string{"a\xe2", "\x9d\xaf"}, "text:a text:❯"},
		{"no UTF-8", []string{"\xff"}, "text:\xff"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var p keyParser
			var got []key
			for _, r := range c.reads {
				got = append(got, p.feed(r)...)
			}
			if names(got) != c.want {
				t.Errorf("got %q, want %q", names(got), c.want)
			}
		})
	}
}

func FuzzKeys(f *testing.F) {
	f.Add("\x1b[200~a\x1b[201~\x1b[A\xe2\x9d")
	f.Fuzz(func(t *testing.T, in string) {
		var p keyParser
		for i := range len(in) {
			p.feed(in[i : i+1])
		}
		if len(p.rest) > len(in) {
			t.Errorf("%q is left of %q", p.rest, in)
		}
	})
}

func TestScript(t *testing.T) {
	for _, c := range []struct{ text, tool, input string }{
		{"ask", "Bash", `{"command":"echo tested","description":"as asked"}`},
		{`ask echo "x"`, "Bash", `{"command":"echo \"x\"","description":"as asked"}`},
		{"bg 1500ms", background, `{"command":"sleep 1.5","description":"long","run_in_background":true}`},
		{"nested A", nested, `{"session":"A"}`},
		{`go [[tool Read {"f":1}]]`, "Read", `{"f":1}`},
	} {
		s := script(c.text)
		if len(s.Rounds) != 1 || s.Rounds[0][0].Name != c.tool || string(s.Rounds[0][0].Input) != c.input {
			t.Errorf("%s: %+v", c.text, s)
		}
	}
	for text, want := range map[string]string{"work 2s": "2s", "work": "1s", "work on it": "0s", "hello": "0s", "[[sleep 30]]": "30ms"} {
		if got := script(text).Sleep.String(); got != want {
			t.Errorf("%s: %s", text, got)
		}
	}
}
