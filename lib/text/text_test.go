package text

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// Field report A56: control characters in titles and directories reached a
// terminal and a shell, and a stripper broke UTF-8 titles.
func TestA56LineIsSafe(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"plain", "Fix the parser", "Fix the parser"},
		{"spaces", "  a   b ", "a b"},
		{"colour", "\x1b[31mred\x1b[0m", "red"},
		{"title sequence", "a\x1b]0;evil\x07b", "ab"},
		{"title sequence ended by ST", "a\x1b]0;evil\x1b\\b", "ab"},
		{"unfinished sequence", "a\x1b[31", "a"},
		{"lone escape", "a\x1b", "a"},
		{"C1 CSI", "a\u009b31mb", "ab"},
		{"newline forges a line", "ok\nshq: add: failed", "ok shq: add: failed"},
		{"carriage return", "ok\rbad", "ok bad"},
		{"backspace and delete", "ab\b\x7f", "ab"},
		{"bidi override", "abc\u202egnp.exe", "abcgnp.exe"},
		{"umlauts and emoji stay", "grün 👩‍💻 日本", "grün 👩‍💻 日本"},
		{"invalid UTF-8", "a\xffb", "a\ufffdb"},
		{"line separator", "a\u2028b", "a b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Line(c.in); got != c.want {
				t.Errorf("Line(%q) = %q, want %q", c.in, got, c.want)
			}
		})
	}
}

func TestBlockKeepsLines(t *testing.T) {
	if got := Block("a\x1b[1m\n\tb\r\n"); got != "a\n\tb \n" {
		t.Errorf("got %q", got)
	}
}

func TestCutAtGraphemes(t *testing.T) {
	for _, c := range []struct {
		in   string
		n    int
		want string
	}{
		{"short", 10, "short"},
		{"exactly", 7, "exactly"},
		{"too long", 4, "too…"},
		{"👩‍💻👩‍💻👩‍💻", 2, "👩‍💻…"},
		{"e\u0301e\u0301", 1, "…"},
		{"x", 0, ""},
	} {
		if got := Cut(c.in, c.n); got != c.want {
			t.Errorf("Cut(%q, %d) = %q, want %q", c.in, c.n, got, c.want)
		}
	}
}

func TestFitCountsCells(t *testing.T) {
	for _, s := range []string{"", "abc", "日本語", "👩‍💻 works", "a much longer title than fits"} {
		if got := Fit(s, 8); Width(got) != 8 {
			t.Errorf("Fit(%q, 8) = %q is %d cells wide", s, got, Width(got))
		}
	}
}

func TestRemoteHasNoSecrets(t *testing.T) {
	for in, want := range map[string]string{
		"https://user:secret@example.org/a/b.git": "https://example.org/a/b.git",
		"https://example.org/a?token=x":           "https://example.org/a",
		"git@example.org:a/b.git":                 "example.org:a/b.git",
		"ssh://git@example.org/a":                 "ssh://example.org/a",
		"/srv/git/a@b:c":                          "/srv/git/a@b:c",
		"../upstream":                             "../upstream",
	} {
		if got := Remote(in); got != want {
			t.Errorf("Remote(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzLine(f *testing.F) {
	f.Add("a\x1b]0;x\x07\u009b1mb\n")
	f.Fuzz(func(t *testing.T, s string) {
		got := Line(s)
		if !utf8.ValidString(got) || strings.ContainsFunc(got, unicode.IsControl) {
			t.Errorf("Line(%q) = %q", s, got)
		}
		if again := Line(got); again != got {
			t.Errorf("Line is not stable: %q, then %q", got, again)
		}
		if Width(Fit(got, 9)) != 9 {
			t.Errorf("Fit(%q) is %d cells wide", got, Width(Fit(got, 9)))
		}
	})
}

// What a terminal would heed is shown, not taken away: who decides about a
// command must see that it is there.
func TestVisible(t *testing.T) {
	for in, want := range map[string]string{
		"rm -rf x":         "rm -rf x",
		"a\nb\tc":          "a\nb\tc",
		"a\x1b[8mb":        "a<U+001B>[8mb",
		"a\rb":             "a<U+000D>b",
		"x\u202ey":         "x<U+202E>y",
		"r\u200bm":         "r<U+200B>m",
		"\u009b1m":         "<U+009B>1m",
		"\xff":             "<0xFF>",
		"日本é":              "日本é",
		"a\U000e0041b\x00": "a<U+E0041>b<U+0000>",
	} {
		if got := Visible(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}
