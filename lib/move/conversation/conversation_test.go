package conversation

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"pgregory.net/rapid"

	"sessionhub/lib/claude"
	"sessionhub/lib/record"
)

const id = "0b5c0000-0000-4000-8000-000000000000"

// oldPlaces are those of a session on the machine where it comes from.
func oldPlaces() Places {
	return Places{OldTop: "/home/a/Code/app", NewTop: "/srv/b/app", OldSidecar: "/home/a/.claude/projects/-home-a-Code-app/" + id}
}

func put(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func get(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// tree is every path below a folder, with the content of files.
func tree(t *testing.T, root string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			b.WriteString(strings.TrimPrefix(path, root) + ": " + get(t, path) + "\n")
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// unpacked is a folder as a bundle is unpacked into.
func unpacked(t *testing.T) string {
	from := t.TempDir()
	put(t, filepath.Join(from, TranscriptName), `{"type":"user","cwd":"/home/a/Code/app"}
{"type":"file-history-delta","backup":{"realParentDir":"/home/a/Code/app"}}
{"type":"file-history-delta","backup":{"realParentDir":"/home/a/Code/app/sub"}}
{"type":"file-history-delta","backup":{"realParentDir":"/home/a/Code/apple"}}
{"text":"said \"realParentDir\":\"/home/a/Code/app\""}
{"type":"user","text":"saved to: /home/a/.claude/projects/-home-a-Code-app/`+id+`/tool-results/b1.txt\n"}
`)
	put(t, filepath.Join(from, SidecarName, "subagents", "agent-1.jsonl"), `{"backup":{"realParentDir":"/home/a/Code/app"}}`+"\n")
	put(t, filepath.Join(from, SidecarName, "tool-results", "b1.txt"), `"realParentDir":"/home/a/Code/app"`)
	put(t, filepath.Join(from, HistoryName, "971c76678323c3fd@v1"), "package main\n")
	return from
}

func TestWriteNamesThePlacesOfThisMachine(t *testing.T) {
	home, from := claude.Home(t.TempDir()), unpacked(t)
	w := Plan(home, id, "/srv/b/app/sub")
	notes := 0
	if err := w.Write(home, from, "/srv/b/app/sub", oldPlaces(), func() error { notes++; return nil }); err != nil {
		t.Fatal(err)
	}
	if notes != 2 {
		t.Errorf("noted %d times", notes)
	}
	project := filepath.Join(string(home), "projects", "-srv-b-app-sub")
	want := `{"type":"user","cwd":"/home/a/Code/app"}
{"type":"file-history-delta","backup":{"realParentDir":"/srv/b/app"}}
{"type":"file-history-delta","backup":{"realParentDir":"/srv/b/app/sub"}}
{"type":"file-history-delta","backup":{"realParentDir":"/home/a/Code/apple"}}
{"text":"said \"realParentDir\":\"/home/a/Code/app\""}
{"type":"user","text":"saved to: ` + project + "/" + id + `/tool-results/b1.txt\n"}
{"type":"relocated","sessionId":"` + id + `","relocatedCwd":"/srv/b/app/sub"}
`
	if got := get(t, filepath.Join(project, id+".jsonl")); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := get(t, filepath.Join(project, id, "subagents", "agent-1.jsonl")); !strings.Contains(got, "/srv/b/app") {
		t.Errorf("a subagent's lines: %s", got)
	}
	if got := get(t, filepath.Join(project, id, "tool-results", "b1.txt")); !strings.Contains(got, "/home/a") {
		t.Errorf("a result's text was changed: %s", got)
	}
	if got := get(t, filepath.Join(string(home), "file-history", id, "971c76678323c3fd@v1")); got != "package main\n" {
		t.Errorf("the history holds %q", got)
	}
	if st, err := os.Stat(w.Transcript); err != nil || st.Mode().Perm() != 0o600 || time.Since(st.ModTime()) > time.Minute {
		t.Errorf("the transcript's mode and time: %v %v", st, err)
	}
	if same, err := w.Untouched(); !same || err != nil {
		t.Errorf("untouched: %t %v", same, err)
	}
	if err := w.Remove(home); err != nil {
		t.Fatal(err)
	}
	if left := tree(t, string(home)); left != "" {
		t.Errorf("left: %s", left)
	}
	if err := w.Remove(home); err != nil {
		t.Errorf("removed twice: %v", err)
	}
}

// A last line that was cut stays a line of its own.
func TestWriteAfterATornLine(t *testing.T) {
	home, from := claude.Home(t.TempDir()), t.TempDir()
	put(t, filepath.Join(from, TranscriptName), `{"type":"us`)
	w := Plan(home, id, "/srv/b")
	if err := w.Write(home, from, "/srv/b", Places{}, func() error { return nil }); err != nil {
		t.Fatal(err)
	}
	if got := get(t, w.Transcript); !strings.HasPrefix(got, "{\"type\":\"us\n{\"type\":\"relocated\"") {
		t.Errorf("got %q", got)
	}
}

// A session that was gone on with is never removed.
func TestRemoveKeepsWhatWasGoneOnWith(t *testing.T) {
	home, from := claude.Home(t.TempDir()), unpacked(t)
	w := Plan(home, id, "/srv/b/app")
	if err := w.Write(home, from, "/srv/b/app", oldPlaces(), func() error { return nil }); err != nil {
		t.Fatal(err)
	}
	put(t, w.Transcript, get(t, w.Transcript)+`{"type":"user"}`+"\n")
	before := tree(t, string(home))
	if err := w.Remove(home); !errors.Is(err, ErrGoneOn) {
		t.Errorf("got %v", err)
	}
	if after := tree(t, string(home)); after != before {
		t.Errorf("changed:\n%s", after)
	}
}

// A home that knows the session is left alone, and nothing of it is removed.
func TestWriteRefusesASecondCopy(t *testing.T) {
	for name, path := range map[string]string{
		"a transcript elsewhere": "projects/-elsewhere/" + id + ".jsonl",
		"a folder beside none":   "projects/-srv-b-app/" + id + "/custom-title.json",
		"a file history":         "file-history/" + id + "/x@v1",
	} {
		t.Run(name, func(t *testing.T) {
			home, from := claude.Home(t.TempDir()), unpacked(t)
			put(t, filepath.Join(string(home), path), "theirs")
			before := tree(t, string(home))
			w := Plan(home, id, "/srv/b/app")
			if err := w.Write(home, from, "/srv/b/app", oldPlaces(), func() error { return nil }); err == nil || !strings.Contains(err.Error(), "of it already: ") {
				t.Errorf("got %v", err)
			}
			if err := w.Remove(home); err != nil {
				t.Error(err)
			}
			if after := tree(t, string(home)); after != before {
				t.Errorf("changed:\n%s", after)
			}
		})
	}
}

// What a crash leaves at any point, Remove takes back by what was noted.
func TestRemoveAfterACrash(t *testing.T) {
	boom := errors.New("crash")
	for _, at := range []int{1, 2} {
		home, from := claude.Home(t.TempDir()), unpacked(t)
		w := Plan(home, id, "/srv/b/app")
		n := 0
		err := w.Write(home, from, "/srv/b/app", oldPlaces(), func() error {
			if n++; n == at {
				return boom
			}
			return nil
		})
		if !errors.Is(err, boom) {
			t.Fatal(err)
		}
		put(t, filepath.Join(filepath.Dir(w.Transcript), "."+id+".123"), "half")
		if err := w.Remove(home); err != nil {
			t.Error(err)
		}
		if left := tree(t, string(home)); left != "" {
			t.Errorf("after the note %d: left %s", at, left)
		}
	}
}

// Streamed in pieces, the result is what replacing in the whole text gives.
func TestRewriteIsReplacing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOf(rapid.SampledFrom([]string{"aXb", "a", "aX", "Xb", "XX", "cd", "\n", strings.Repeat("z", chunk-2)})).Draw(t, "words")
		in := strings.Join(words, "")
		var out bytes.Buffer
		r := io.Reader(strings.NewReader(in))
		if rapid.Bool().Draw(t, "slow") {
			r = iotest.HalfReader(r)
		}
		if err := rewrite(&out, r, []swap{{[]byte("aXb"), []byte("<1>")}, {[]byte("cd"), []byte("longer than before")}}); err != nil {
			t.Fatal(err)
		}
		if want := strings.NewReplacer("aXb", "<1>", "cd", "longer than before").Replace(in); out.String() != want {
			t.Fatalf("got %d bytes, want %d", out.Len(), len(want))
		}
	})
}

func TestArchiveAndRestore(t *testing.T) {
	home, from := claude.Home(t.TempDir()), unpacked(t)
	w := Plan(home, id, "/srv/b/app")
	if err := w.Write(home, from, "/srv/b/app", oldPlaces(), func() error { return nil }); err != nil {
		t.Fatal(err)
	}
	before := tree(t, string(home))
	root := t.TempDir()
	dir := filepath.Join(root, "m1")
	a := Archived{Move: "m1", Session: id, Transcript: w.Transcript, To: "laptop", At: record.At(time.Now())}
	for range 2 { // the second finds it done
		if err := Archive(home, a, dir); err != nil {
			t.Fatal(err)
		}
	}
	if left := tree(t, string(home)); left != "" {
		t.Errorf("left: %s", left)
	}
	if list, err := Archives(root); err != nil || len(list) != 1 || list[0].To != "laptop" {
		t.Errorf("archives: %+v %v", list, err)
	}
	all := func(string) bool { return true }
	none := func(string) bool { return false }
	if err := errors.Join(Prune(root, time.Now().Add(KeepArchives-time.Hour), all), Prune(root, time.Now().Add(2*KeepArchives), none)); err != nil {
		t.Error(err)
	}
	if _, err := Restore(home, dir); err != nil {
		t.Fatal(err)
	}
	if after := tree(t, string(home)); after != before {
		t.Errorf("got\n%s\nwant\n%s", after, before)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the archive is still there: %v", err)
	}
	if err := Archive(home, a, dir); err != nil {
		t.Fatal(err)
	}
	if err := Prune(root, time.Now().Add(KeepArchives+time.Hour), all); err != nil {
		t.Error(err)
	}
	if left := tree(t, root); left != "" {
		t.Errorf("an old archive stays: %s", left)
	}
}

// After a failure the transcript is still in place, and the next try moves the
// rest.
func TestArchiveTranscriptLast(t *testing.T) {
	home, from := claude.Home(t.TempDir()), unpacked(t)
	w := Plan(home, id, "/srv/b/app")
	if err := w.Write(home, from, "/srv/b/app", oldPlaces(), func() error { return nil }); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "m1")
	put(t, filepath.Join(dir, HistoryName), "in the way")
	a := Archived{Move: "m1", Session: id, Transcript: w.Transcript, At: record.At(time.Now())}
	if err := Archive(home, a, dir); err == nil {
		t.Fatal("no error")
	}
	if _, err := os.Stat(w.Transcript); err != nil {
		t.Errorf("the transcript is gone: %v", err)
	}
	if err := os.Remove(filepath.Join(dir, HistoryName)); err != nil {
		t.Fatal(err)
	}
	if err := Archive(home, a, dir); err != nil {
		t.Error(err)
	}
	if left := tree(t, string(home)); left != "" {
		t.Errorf("left: %s", left)
	}
}

func TestEntries(t *testing.T) {
	home, from := claude.Home(t.TempDir()), unpacked(t)
	w := Plan(home, id, "/srv/b/app")
	if err := w.Write(home, from, "/srv/b/app", oldPlaces(), func() error { return nil }); err != nil {
		t.Fatal(err)
	}
	f, err := Find(home, id, "/srv/b/app")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(f.Sidecar, "link")); err != nil {
		t.Fatal(err)
	}
	list, left, err := f.Entries()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range list {
		names = append(names, e.Name)
	}
	if got := strings.Join(names, " "); got != "transcript.jsonl sidecar/subagents/agent-1.jsonl sidecar/tool-results/b1.txt file-history/971c76678323c3fd@v1" {
		t.Errorf("got %s", got)
	}
	if len(left) != 1 || left[0].Path != "sidecar/link" {
		t.Errorf("left %v", left)
	}
	if _, err := Find(home, "1b5c0000-0000-4000-8000-000000000000", ""); !errors.Is(err, ErrNone) {
		t.Errorf("got %v", err)
	}
}
