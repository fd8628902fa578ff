package conversation

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"sessionhub/lib/claude"
	"sessionhub/lib/record"
	"sessionhub/lib/state"
)

// Killed at any moment of archiving or of restoring, also between two file
// systems, where a file is in both places for a while: restoring again puts
// everything back.
func TestRestoreAfterACrash(t *testing.T) {
	for _, restoring := range []bool{false, true} {
		for n := 0; n <= 3; n++ {
			for _, both := range []bool{false, true} {
				t.Run(fmt.Sprintf("restoring %v, %d shifted, both %v", restoring, n, both), func(t *testing.T) {
					home, from := claude.Home(t.TempDir()), unpacked(t)
					w := Plan(home, id, "/srv/b/app")
					if err := w.Write(home, from, "/srv/b/app", oldPlaces(), func() error { return nil }); err != nil {
						t.Fatal(err)
					}
					before := tree(t, string(home))
					dir := filepath.Join(t.TempDir(), "m1")
					a := Archived{Move: "m1", Session: id, Transcript: w.Transcript, To: "laptop", At: record.At(time.Now())}
					moves := at(home, id, filepath.Dir(w.Transcript)).moves(dir)
					if restoring {
						if err := Archive(home, a, dir); err != nil {
							t.Fatal(err)
						}
						for i := range moves {
							moves[i] = shifting{moves[i].archived, moves[i].live}
						}
					} else if err := os.MkdirAll(dir, 0o700); err != nil {
						t.Fatal(err)
					}
					if err := state.ReplaceJSON(filepath.Join(dir, archiveFile), a); err != nil {
						t.Fatal(err)
					}
					for i, m := range moves[:n] {
						var err error
						if both && i == n-1 {
							err = copyTree(m.live, m.archived)
						} else {
							err = shift(m.live, m.archived)
						}
						if err != nil {
							t.Fatal(err)
						}
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
					if _, err := Restore(home, dir); !errors.Is(err, ErrNoArchive) {
						t.Errorf("again: %v", err)
					}
				})
			}
		}
	}
}

// What the session has in place of its archive is not written over.
func TestRestoreWritesNothingOver(t *testing.T) {
	for _, name := range []string{"transcript", "a file of the sidecar", "a copy for rewinding", "a transcript of another project"} {
		t.Run(name, func(t *testing.T) {
			home, from := claude.Home(t.TempDir()), unpacked(t)
			w := Plan(home, id, "/srv/b/app")
			if err := w.Write(home, from, "/srv/b/app", oldPlaces(), func() error { return nil }); err != nil {
				t.Fatal(err)
			}
			dir := filepath.Join(t.TempDir(), "m1")
			f := at(home, id, filepath.Dir(w.Transcript))
			mine := map[string]string{
				"transcript":                      f.Transcript,
				"a file of the sidecar":           filepath.Join(f.Sidecar, "subagents", "agent-1.jsonl"),
				"a copy for rewinding":            filepath.Join(f.History, "971c76678323c3fd@v1"),
				"a transcript of another project": filepath.Join(string(home), "projects", "-else", id+".jsonl"),
			}[name]
			if err := Archive(home, Archived{Move: "m1", Session: id, Transcript: w.Transcript, At: record.At(time.Now())}, dir); err != nil {
				t.Fatal(err)
			}
			put(t, mine, "mine")
			if _, err := Restore(home, dir); err == nil {
				t.Error("no error")
			}
			if b, err := os.ReadFile(mine); err != nil || string(b) != "mine" {
				t.Errorf("%q %v", b, err)
			}
			if err := os.Remove(mine); err != nil {
				t.Fatal(err)
			}
			os.Remove(filepath.Join(f.Sidecar, "subagents")) // as it was made for mine
			os.Remove(f.Sidecar)
			os.Remove(f.History)
			if _, err := Restore(home, dir); err != nil {
				t.Error(err)
			}
		})
	}
}
