package shell

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

func TestQuote(t *testing.T) {
	for word, want := range map[string]string{
		"/home/dev/.local/bin/shq": "/home/dev/.local/bin/shq",
		"":                         "''",
		"/a b/shq":                 "'/a b/shq'",
		"it's":                     `'it'\''s'`,
		"/home/müller/shq":         "'/home/müller/shq'",
		"$HOME":                    "'$HOME'",
		"~/x":                      "'~/x'",
	} {
		if got := Quote(word); got != want {
			t.Errorf("%q: got %s, want %s", word, got, want)
		}
	}
}

func TestWords(t *testing.T) {
	for _, c := range []struct {
		line string
		want []string
	}{
		{"shq hook stop", []string{"shq", "hook", "stop"}},
		{"  '/a b/shq'  hook\tstop ", []string{"/a b/shq", "hook", "stop"}},
		{`"/a b/shq" ho\ok st""op`, []string{"/a b/shq", "hook", "stop"}},
		{`"a\"b\$\x"`, []string{`a"b$\x`}},
		{`'it'\''s' ''`, []string{"it's", ""}},
		{"", nil},
	} {
		got, ok := Words(c.line)
		if !ok || !slices.Equal(got, c.want) {
			t.Errorf("%q: got %q, %v", c.line, got, ok)
		}
	}
	for _, line := range []string{
		"shq hook stop; rm x", "shq hook stop | tee", "$SHQ hook stop", `"$SHQ" hook`, "shq hook `x`", "shq hook # stop",
		"~/shq hook stop", "shq hook stop &", "'open", `"open`, `end\`, "a\nb", "shq hook *",
	} {
		if got, ok := Words(line); ok {
			t.Errorf("%q was read as %q", line, got)
		}
	}
}

// roundTrip has a real sh print the quoted words, each with a byte after it
// that no word holds.
func roundTrip(t *testing.T, words []string) {
	t.Helper()
	line := "printf '%s\\001'"
	for _, w := range words {
		line += " " + Quote(w)
	}
	out, err := exec.Command("sh", "-c", line).Output()
	if err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	if got := strings.Join(words, "\x01") + "\x01"; string(out) != got {
		t.Fatalf("%q came out as %q", got, out)
	}
}

// Spaces split, empty arguments vanish and $PWD expands where words are joined
// without quoting.
func TestA23RoundTripThroughSh(t *testing.T) {
	roundTrip(t, []string{"a b", "", "$PWD", "`id`", "it's", "\\", "a\nb", "*", "~", "!x", "ünï", "\"", "-n", "#", "\t", "a;b", "'\\''"})
}

func FuzzQuote(f *testing.F) {
	for _, w := range []string{"a b", "it's", "$x", "\\'", "\xff\xfe", "a\nb"} {
		f.Add(w)
	}
	f.Fuzz(func(t *testing.T, word string) {
		if strings.ContainsAny(word, "\x00\x01") {
			return
		}
		if got, ok := Words(Quote(word)); !ok || len(got) != 1 || got[0] != word {
			t.Fatalf("%q was read back as %q, %v", word, got, ok)
		}
		roundTrip(t, []string{word})
	})
}
