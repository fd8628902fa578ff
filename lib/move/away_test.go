package move

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sessionhub/lib/herdr"
	"sessionhub/lib/record"
	"sessionhub/lib/session"
)

// Somebody resumes the session on the source after it was ended, before its
// files are put away: the move is given up, as the session runs there again.
func TestResumedByHandBeforeTheUpload(t *testing.T) {
	for _, ended := range []bool{false, true} {
		c := &clock{}
		p, mv, tower, laptop := started(t, c)
		p.on(point{SourcePutAway, false}, func() {
			p.tower.resumes(p.id)
			p.tower.say(p.id, "one more thing")
			if ended {
				if e, err := p.tower.desk().End(t.Context(), p.id, false, func() error { return nil }); err != nil || !e.Gone {
					t.Fatalf("%+v %v", e, err)
				}
			}
		})
		mv = p.settles(c, mv)
		if mv.State != record.MoveFailed || !strings.Contains(mv.Detail, "gone on with") {
			t.Errorf("%+v", mv)
		}
		p.sound(mv, tower, laptop)
	}
}

// Somebody wants to resume the session on the source while it travels: Claude
// finds no conversation there, from before the upload on.
func TestResumedByHandAfterTheUpload(t *testing.T) {
	for _, at := range []point{{SourceUpload, false}, {TargetApply, false}, {TargetDone, false}} {
		c := &clock{}
		p, mv, tower, laptop := started(t, c)
		p.on(at, func() {
			made, err := p.tower.s.Client().CreateWorkspace(t.Context(), herdr.NewWorkspace{Cwd: p.tower.clone})
			if err != nil {
				t.Fatal(err)
			}
			p.tower.enters(made.RootPane.PaneID, "claude --resume "+p.id)
			p.until("claude says so", func() bool {
				return strings.Contains(p.tower.screen(made.RootPane.PaneID), "No conversation found with session ID")
			})
		})
		mv = p.settles(c, mv)
		if mv.State != record.MoveDone || len(mv.Notes) > 0 {
			t.Errorf("%+v", mv)
		}
		p.sound(mv, tower, laptop)
	}
}

// A Claude that was started just before the files went, and had read them: its
// new transcript gives the move up, and what it said is not written over.
func TestResumedByHandWhileItIsPutAway(t *testing.T) {
	c := &clock{}
	p, mv, _, _ := started(t, c)
	live := ""
	p.on(point{SourcePutAway, true}, func() {
		j, err := readJournal(p.tower.end.journalPath(mv.ID))
		if err != nil {
			t.Fatal(err)
		}
		live = j.Transcript
		if err := os.WriteFile(live, []byte("{}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	})
	mv = p.settles(c, mv)
	archived := filepath.Join(p.tower.end.archives(), mv.ID)
	if mv.State != record.MoveFailed || !strings.Contains(mv.Detail, "it has a new transcript") ||
		len(mv.Notes) != 1 || !strings.HasPrefix(mv.Notes[0], "restart failed: its files can't be put back from "+archived) {
		t.Errorf("%+v", mv)
	}
	if b, err := os.ReadFile(live); err != nil || string(b) != "{}\n" {
		t.Errorf("%q %v", b, err)
	}
	if err := os.Remove(live); err != nil {
		t.Fatal(err)
	}
	if _, err := p.tower.end.Restore(mv.ID, false); err != nil {
		t.Error(err)
	}
	if p.transcripts(p.id) != "tower" {
		t.Errorf("transcripts at %q", p.transcripts(p.id))
	}
}

// The source's journal is lost once the files were put away: if the move fails
// they come back all the same.
func TestTheJournalIsLostWhileItTravels(t *testing.T) {
	c := &clock{}
	p, mv, tower, laptop := started(t, c)
	p.on(point{TargetCheck, false}, func() {
		p.laptop.end.Roots = nil // it fails
		if err := os.RemoveAll(filepath.Join(string(p.tower.end.Dir), session.MovesDir)); err != nil {
			t.Error(err)
		}
	})
	mv = p.settles(c, mv)
	if mv.State != record.MoveFailed {
		t.Errorf("%+v", mv)
	}
	p.sound(mv, tower, laptop)
}

// What is on its way is brought back only by who insists.
func TestRestoringWhatIsOnItsWay(t *testing.T) {
	c := &clock{}
	p, mv, _, _ := started(t, c)
	p.on(point{TargetCheck, false}, func() {
		if _, err := p.tower.end.Restore(mv.ID, false); !errors.Is(err, ErrUnderWay) {
			t.Errorf("got %v", err)
		}
		if _, err := p.tower.end.Restore(mv.ID, true); err != nil {
			t.Error(err)
		}
		p.laptop.end.Roots = nil
	})
	mv = p.settles(c, mv)
	if mv.State != record.MoveFailed || p.runs(p.id) != "tower" {
		t.Errorf("%+v", mv)
	}
}

// A session whose files can't be archived does not leave.
func TestTheArchiveFails(t *testing.T) {
	p := newPair(t)
	id := p.tower.claude("hello")
	p.write(string(p.tower.end.Dir), "moved", "in the way")
	mv := p.move(id, record.MovePost{To: "laptop"})
	if mv.State != record.MoveFailed || !strings.HasPrefix(mv.Detail, "put away: ") || !strings.HasSuffix(mv.Detail, "; the session resumes here") || p.runs(id) != "tower" {
		t.Fatalf("%+v", mv)
	}
}

// One who insisted on having its files back has the session twice in the end,
// which is said where people look.
func TestRestoredMeanwhileAndGoneOnWith(t *testing.T) {
	c := &clock{}
	p, mv, _, _ := started(t, c)
	p.laptop.end.at = func(at Phase, done bool) {
		if at != TargetApply || !done {
			return
		}
		if _, err := p.tower.end.Restore(mv.ID, true); err != nil {
			t.Error(err)
		}
		p.tower.resumes(p.id)
	}
	for p.tower.work() || p.laptop.work() {
	}
	if mv = p.now(mv.ID); mv.State != record.MoveDone || len(mv.Notes) != 1 || !strings.HasPrefix(mv.Notes[0], "archive on tower failed: it runs here, ") ||
		!strings.HasSuffix(mv.Notes[0], "; remove the transcript there by hand") {
		t.Fatalf("%+v", mv)
	}
	box, err := p.person.Inbox(t.Context())
	if err != nil || len(box) != 1 || !strings.Contains(box[0].Text, "archive on tower failed") {
		t.Errorf("nobody is told: %+v %v", box, err)
	}
}
