package claude

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestProjectFolder(t *testing.T) {
	for _, c := range []struct{ name, dir, want string }{
		// As the real program named them.
		{"signs", "/tmp/fh/Ab.c_d e~@(f", "-tmp-fh-Ab-c-d-e---f"},
		{"an emoji is two units", "/tmp/fh/ö😀日本", "-tmp-fh------"},
		{"200 units", "/tmp/fh/" + strings.Repeat("z", 192), "-tmp-fh-" + strings.Repeat("z", 192)},
		{"201 units", "/tmp/fh/" + strings.Repeat("z", 193), "-tmp-fh-" + strings.Repeat("z", 192) + "-e27t78"},
		// By the rule.
		{"a home", "/home/dev/src/app", "-home-dev-src-app"},
		{"a decomposed letter", "/e\u0301", "-e-"},
		{"cut in the middle of an emoji", strings.Repeat("/", 199) + "😀", strings.Repeat("-", 200) + "-" + folderHash(units(strings.Repeat("/", 199)+"😀"))},
		{"empty", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := ProjectFolder(c.dir); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// The hash is of 32 bits with a sign, and its smallest value has no opposite.
func TestFolderHash(t *testing.T) {
	for _, c := range []struct {
		in   string
		want string
	}{
		{"", "0"},
		{"a", "2p"},                      // 97
		{"polygenelubricants", "zik0zk"}, // -2147483648
		{"/tmp/fh/" + strings.Repeat("z", 193), "e27t78"},
	} {
		if got := folderHash(units(c.in)); got != c.want {
			t.Errorf("%q: %s, want %s", c.in, got, c.want)
		}
	}
}

// Of two files with one id Claude Code writes to the one in the folder of its
// working directory. Where that has none, the one that grew last is meant.
func TestTranscriptNear(t *testing.T) {
	h := Home(t.TempDir())
	now := time.Now()
	for i, dir := range []string{"/a", "/b", "/d"} {
		path := filepath.Join(h.Project(dir), "A.jsonl")
		if err := os.MkdirAll(h.Project(dir), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		age := []time.Duration{2, 1, 3}[i] * time.Hour
		if err := os.Chtimes(path, time.Time{}, now.Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ cwd, want string }{{"/a", "/a"}, {"/b", "/b"}, {"/c", "/b"}, {"", "/b"}} {
		got, ok := h.TranscriptNear("A", c.cwd)
		if want := filepath.Join(h.Project(c.want), "A.jsonl"); !ok || got != want {
			t.Errorf("from %q: %q, %v", c.cwd, got, ok)
		}
	}
	if _, ok := h.TranscriptNear("B", "/a"); ok {
		t.Error("a transcript that is not there was found")
	}
}

func TestTranscribed(t *testing.T) {
	h := Home(t.TempDir())
	if got := h.Transcribed(""); len(got) != 0 {
		t.Errorf("without a home: %q", got)
	}
	for _, name := range []string{"-a/0b5c.jsonl", "-b/0b5c.jsonl", "-b/0b5d.jsonl", "-b/0b5d/subagents/0b5e.jsonl", "-b/agent-17.jsonl", "-b/notes.txt", "-b/.jsonl", "0b5f.jsonl"} {
		path := filepath.Join(string(h), "projects", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for prefix, want := range map[string]string{"": "0b5c 0b5d", "0b5": "0b5c 0b5d", "0b5d": "0b5d", "x": "", "agent": ""} {
		if got := strings.Join(h.Transcribed(prefix), " "); got != want {
			t.Errorf("%q: %s, want %s", prefix, got, want)
		}
	}
}
