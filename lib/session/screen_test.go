package session

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const line94 = "──────────────────────────────────────────────────────────────────────────────────────────────"

func framed(rows ...string) string {
	return "● Echo: x\n❯ what was said before\n\n" + line94 + "\n" + strings.Join(rows, "\n") + "\n" + line94 + "\n  ⏸ manual mode on"
}

func TestInputLine(t *testing.T) {
	for _, c := range []struct {
		name, screen string
		want         input
	}{
		{"empty", framed("❯\u00a0"), inputEmpty},
		{"empty, with the cursor's blank and CR", framed("❯\u00a0 \r"), inputEmpty},
		{"26: half a sentence", framed("❯\u00a0half a sentence"), inputText},
		{"26: the beginning of a command", framed("❯\u00a0/re"), inputText},
		{"a draft whose first line is empty", framed("❯\u00a0", "  second line"), inputText},
		{"26: shell mode, which has another sign", framed("!\u00a0"), noInput},
		{"13: the transcript view, which has no input line", "❯ hello\n● Echo: hello\n" + line94 + "\n  Showing detailed transcript", noInput},
		{"13: the rewind menu", "  ❯ (current)\n\n  Enter to continue · Esc to cancel", noInput},
		{"a shell", "dev@tower:~/src/app$ ", noInput},
		{"nothing", "", noInput},
		{"a sign in the first row", "❯\u00a0\n" + line94, noInput},
	} {
		if got := inputLine(c.screen); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

// Screens of the real program.
func TestCapturedScreens(t *testing.T) {
	for name, want := range map[string]input{
		"herdr-permission": noInput, "herdr-question": noInput, "herdr-trust-dialog": noInput, "exit-background-work": noInput,
		"slash-menu-remote-control": inputText, "remote-control-no-account": inputEmpty,
	} {
		b, err := os.ReadFile(filepath.Join("testdata", name+".visible.txt"))
		if err != nil {
			t.Fatal(err)
		}
		if got := inputLine(string(b)); got != want {
			t.Errorf("%s: %d, want %d", name, got, want)
		}
	}
}

func TestGhostInput(t *testing.T) {
	for _, c := range []struct {
		name, row string
		want      bool
	}{
		{"nothing but the cursor", "❯\u00a0\x1b[0m\x1b[7m \x1b[0m\r", true},
		{"a suggestion, the cursor on its first cell", "❯\u00a0\x1b[7mT\x1b[0m\x1b[2mry \"fix lint errors\"\x1b[0m", true},
		{"a suggestion in a colour", "❯\u00a0\x1b[7mT\x1b[27m\x1b[2;38;2;153;153;153mry it\x1b[22m", true},
		{"typed text", "❯\u00a0half typed\x1b[7m \x1b[0m", false},
		{"typed text before a suggestion", "❯\u00a0ha\x1b[7ml\x1b[0m\x1b[2mf typed\x1b[0m", false},
		{"typed text, the cursor in it", "❯\u00a0\x1b[7mh\x1b[0malf", false},
		{"a colour that has a 2 in it", "❯\u00a0\x1b[38;2;2;2;2mtyped\x1b[0m", false},
		{"an escape that never ends", "❯\u00a0\x1b[2", false},
	} {
		if got := ghostInput(line94 + "\n" + c.row + "\n" + line94); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
	if ghostInput("❯\u00a0\x1b[2mx") {
		t.Error("without its frame it is no input line")
	}
}

// Field report and finding 50: the banner is cut at the pane's edge; a link that
// touches it does not count.
func TestShownLinks(t *testing.T) {
	const url = "https://claude.ai/code/session_01ABCdef"
	row := banner + " · Continue here, on your phone, or at " + url
	for _, c := range []struct {
		name, screen, with, want string
	}{
		{"whole", line94 + line94 + "\n" + row, banner, url},
		{"followed by more", line94 + line94 + "\n" + row + " (new)", banner, url},
		{"in a dialog", line94 + line94 + "\n " + dialogText + " and at " + url + ".", dialogText, url},
		{"cut at the edge", row[:len(row)-3] + "\n" + strings.Repeat("x", len([]rune(row[:len(row)-3]))), banner, ""},
		{"the longest row itself", row, banner, ""},
		{"without its id", line94 + line94 + "\n" + banner + " at https://claude.ai/code/", banner, ""},
		{"another row's", line94 + line94 + "\nsee " + url, banner, ""},
		{"with an escape in it", line94 + line94 + "\n" + row + "\x1b]8;;http://evil\x07", banner, url},
	} {
		got := strings.Join(shownLinks(c.screen, c.with), " ")
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	if got := first([]string{"a", "b"}, []string{"a"}); got != "b" {
		t.Errorf("the new one: %q", got)
	}
}

func TestBridged(t *testing.T) {
	for bridge, want := range map[string]string{
		"cse_01AB": linkPrefix + "session_01AB", "session_01AB": linkPrefix + "session_01AB", "": "", "cse_": "", "cse_a/../b": "", "other_1": "",
	} {
		if got := bridged(bridge); got != want {
			t.Errorf("%q: %q, want %q", bridge, got, want)
		}
	}
}

func FuzzInputLine(f *testing.F) {
	f.Add(framed("❯\u00a0half"))
	f.Add("❯\n" + line94)
	f.Fuzz(func(t *testing.T, s string) {
		if inputLine(s) == inputEmpty && !strings.Contains(s, promptSign) {
			t.Error("an input line without its sign")
		}
		ghostInput(s)
		for _, l := range shownLinks(s, "") {
			if !strings.HasPrefix(l, linkPrefix) || strings.ContainsAny(l, " \x1b\n") {
				t.Errorf("link %q", l)
			}
		}
	})
}
