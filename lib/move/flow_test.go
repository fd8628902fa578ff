package move

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"sessionhub/lib/git"
	"sessionhub/lib/record"
)

func gitOf(ctx context.Context, dir string) (*record.Git, bool) {
	h, ok := git.Read(ctx, dir)
	return &record.Git{Remote: h.Remote, Branch: h.Branch, Head: h.Commit}, ok
}

// dirty makes changes of every kind.
func (m *machine) dirty() {
	m.p.write(m.clone, "main.go", "package main // changed\n")
	m.p.write(m.clone, "staged.go", "package main // staged\n")
	m.p.git(m.clone, "add", "staged.go")
	m.p.write(m.clone, "notes/todo.txt", "untracked\n")
	m.p.write(m.clone, ".env", "SECRET=1\n")
}

// A session with a conversation and uncommitted work goes to the other machine,
// where the directory has another path, and comes back, and goes again.
func TestAMoveThereAndBack(t *testing.T) {
	p := newPair(t)
	id := p.tower.claude("remember the number 4711")
	p.tower.dirty()
	before := p.tower.status()
	mv := p.move(id, record.MovePost{To: "laptop"})
	if mv.State != record.MoveDone || !strings.Contains(mv.Detail, "it goes on in "+p.laptop.clone) || !strings.Contains(mv.Detail, "not carried: .env") {
		t.Fatalf("%+v\ntower %+v\nlaptop %+v", mv, p.tower.steps, p.laptop.steps)
	}
	if at := p.runs(id); at != "laptop" || p.transcripts(id) != "laptop" {
		t.Fatalf("it runs at %q, transcripts at %q", at, p.transcripts(id))
	}
	if got := p.laptop.status(); got != strings.Replace(before, "? .env\n", "", 1) {
		t.Errorf("the laptop's status:\n%s\nwant\n%s", got, before)
	}
	path, _ := p.laptop.end.Home.Transcript(id)
	if want := filepath.Join(p.laptop.end.Home.Project(p.laptop.clone), id+".jsonl"); path != want {
		t.Errorf("A37: the transcript is %s, want %s", path, want)
	}
	p.laptop.say(id, "go on here")
	b, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(b), "4711") || !strings.Contains(string(b), "go on here") {
		t.Errorf("the transcript holds %s %v", b, err)
	}
	if s, err := p.person.Session(t.Context(), id); err != nil || s.Machine != "laptop" {
		t.Errorf("the hub has it on %s, %v", s.Machine, err)
	}
	list, err := p.tower.end.Archives()
	if err != nil || len(list) != 1 || list[0].Session != id || list[0].To != "laptop" {
		t.Errorf("archives: %+v %v", list, err)
	}

	// Back: the tower's clone still has the changes. As long as they are what the
	// session left there they are in nobody's way.
	p.write(p.tower.clone, "main.go", "package main // changed by somebody\n")
	if mv = p.move(id, record.MovePost{To: "tower"}); mv.State != record.MoveFailed || !strings.HasPrefix(mv.Detail, "check clone: ") || p.runs(id) != "laptop" {
		t.Fatalf("%+v, it runs at %s", mv, p.runs(id))
	}
	p.write(p.tower.clone, "main.go", "package main // changed\n")
	p.write(p.laptop.clone, "notes/todo.txt", "gone on with\n")
	if mv = p.move(id, record.MovePost{To: "tower"}); mv.State != record.MoveDone {
		t.Fatalf("%+v\ntower %+v\nlaptop %+v", mv, p.tower.steps, p.laptop.steps)
	}
	if at := p.runs(id); at != "tower" || p.transcripts(id) != "tower" {
		t.Fatalf("it runs at %q, transcripts at %q", at, p.transcripts(id))
	}
	if got := p.tower.status(); got != before {
		t.Errorf("the tower's status:\n%s\nwant\n%s", got, before)
	}
	if b, err := os.ReadFile(filepath.Join(p.tower.clone, "notes/todo.txt")); err != nil || string(b) != "gone on with\n" {
		t.Errorf("todo.txt is %q, %v", b, err)
	}
	p.tower.say(id, "and once more")
	if mv = p.move(id, record.MovePost{To: "laptop"}); mv.State != record.MoveDone {
		t.Fatalf("%+v\ntower %+v\nlaptop %+v", mv, p.tower.steps, p.laptop.steps)
	}
	for _, m := range []*machine{p.tower, p.laptop} {
		if left := m.leftovers(); len(left) > 0 {
			t.Errorf("%s keeps %v", m.name, left)
		}
	}
}

// What can't go on there is found out before the session is touched.
func TestAMoveIsRefusedWhileTheSessionRuns(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(p *pair, id string)
		want string
	}{
		{"another version of Claude", func(p *pair, _ string) {
			p.laptop.end.Claude = func(context.Context) (string, error) { return "1.0.0", nil }
		}, "and laptop has 1.0.0: bring them to the same"},
		{"no clone", func(p *pair, _ string) { p.laptop.end.Roots = []string{t.TempDir()} }, "find clone: "},
		{"a dirty clone", func(p *pair, _ string) { p.write(p.laptop.clone, "main.go", "theirs\n") }, "check clone: "},
		{"a folder that is not trusted", func(p *pair, _ string) {
			if err := os.WriteFile(filepath.Join(p.laptop.s.Home(), ".claude.json"), []byte("{}"), 0o600); err != nil {
				t.Fatal(err)
			}
		}, "is not trusted by Claude Code here"},
		{"a transcript that is there", func(p *pair, id string) {
			p.write(filepath.Join(string(p.laptop.end.Home), "projects", "-x"), id+".jsonl", "{}\n")
		}, "transcript: this machine has a transcript of it already"},
		{"a half sentence", func(p *pair, _ string) {
			if err := p.tower.s.Client().SendText(t.Context(), "w1:p1", "half a sentence"); err != nil {
				t.Fatal(err)
			}
		}, "check pane: text stands in its input line"},
		{"a merge under way", func(p *pair, _ string) {
			p.write(p.tower.clone, ".git/MERGE_HEAD", p.git(p.tower.clone, "rev-parse", "HEAD")+"\n")
		}, "read repo: "},
		{"no remote to push to", func(p *pair, _ string) {
			p.write(p.tower.clone, "two.go", "package main\n")
			p.git(p.tower.clone, "add", "two.go")
			p.git(p.tower.clone, "commit", "-q", "-m", "two")
			if err := os.Rename(p.remote, p.remote+".away"); err != nil {
				t.Fatal(err)
			}
		}, "push: "},
		{"a key that changed", func(p *pair, _ string) {
			if err := p.tower.end.Pins.Trust("laptop", p.tower.end.Keys.Public); err != nil {
				t.Fatal(err)
			}
		}, "keys: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPair(t)
			id := p.tower.claude("hello")
			c.do(p, id)
			mv := p.move(id, record.MovePost{To: "laptop"})
			if mv.State != record.MoveFailed || !strings.Contains(mv.Detail, c.want) {
				t.Errorf("%s %s, want %s", mv.State, mv.Detail, c.want)
			}
			if at := p.runs(id); at != "tower" {
				t.Errorf("it runs at %q", at)
			}
			if left := p.tower.leftovers(); len(left) > 0 {
				t.Errorf("the tower keeps %v", left)
			}
		})
	}
}

// Claude can't start there: the clone and Claude's home are put back, and the
// session is taken up again in its old pane.
func TestClaudeDoesNotStartThere(t *testing.T) {
	p := newPair(t)
	id := p.tower.claude("hello")
	p.tower.dirty()
	before, there := p.tower.status(), p.laptop.status()
	p.laptop.end.at = func(phase Phase, done bool) {
		if phase != TargetStart || done {
			return
		}
		// The folder became a file's, so the workspace can't be opened there.
		if err := os.Rename(p.laptop.clone, p.laptop.clone+".away"); err != nil {
			t.Error(err)
		}
	}
	p.laptop.desk().Timing.Detect, p.laptop.desk().Timing.Ready = time.Second, time.Second
	mv := p.ask(id, record.MovePost{To: "laptop"})
	p.tower.work()  // nothing: the laptop is asked first
	p.laptop.work() // check
	p.tower.work()  // out
	p.laptop.end.Tell = func(s Step) {
		p.laptop.steps = append(p.laptop.steps, s)
		if s.Step == "start" && !s.OK {
			if err := os.Rename(p.laptop.clone+".away", p.laptop.clone); err != nil {
				t.Error(err)
			}
		}
	}
	p.drive()
	mv = p.now(mv.ID)
	if mv.State != record.MoveFailed || !strings.HasPrefix(mv.Detail, "start: ") || !strings.HasSuffix(mv.Detail, "; the clone is back on main") {
		t.Fatalf("%+v", mv)
	}
	if p.runs(id) != "tower" || p.transcripts(id) != "tower" || p.tower.status() != before || p.laptop.status() != there {
		t.Errorf("it runs at %s, transcripts at %s\n%s\n%s", p.runs(id), p.transcripts(id), p.tower.status(), p.laptop.status())
	}
	p.tower.say(id, "still here")
	if at := p.tower.desk().Gate(t.Context(), id).PaneID; at != "w1:p1" {
		t.Errorf("it was taken up in %s, not in its old pane", at)
	}
}

// A clone in which somebody works gets a work tree of its own beside it, where
// the person allowed that.
func TestAMoveIntoAWorktree(t *testing.T) {
	p := newPair(t)
	id := p.tower.claude("hello")
	p.git(p.tower.clone, "checkout", "-q", "-b", "feature")
	p.write(p.tower.clone, "feature.go", "package main\n")
	p.laptop.claude()
	p.write(p.laptop.clone, "main.go", "theirs\n")
	there := p.laptop.status()
	mv := p.move(id, record.MovePost{To: "laptop"})
	if mv.State != record.MoveFailed || !strings.Contains(mv.Detail, "check clone: ") {
		t.Fatalf("%+v", mv)
	}
	mv = p.move(id, record.MovePost{To: "laptop", Worktree: true})
	if mv.State != record.MoveDone || !strings.Contains(mv.Detail, p.laptop.clone+"-feature-") {
		t.Fatalf("%+v\n%+v", mv, p.laptop.steps)
	}
	if p.laptop.status() != there {
		t.Errorf("the clone changed:\n%s", p.laptop.status())
	}
	if p.runs(id) != "laptop" {
		t.Errorf("it runs at %s", p.runs(id))
	}
}

// A move can be taken back until the hub has its bundle; the session stays or
// comes back.
func TestAMoveIsCancelled(t *testing.T) {
	for _, at := range []point{{SourceCheck, true}, {SourceEnd, false}, {SourceEnd, true}, {SourceUpload, false}} {
		t.Run(string(at.phase), func(t *testing.T) {
			c := &clock{}
			p, mv, tower, laptop := started(t, c)
			p.on(at, func() {
				if _, err := p.person.CancelMove(t.Context(), mv.ID); err != nil {
					t.Error(err)
				}
			})
			mv = p.settles(c, mv)
			if mv.State != record.MoveCancelled || p.runs(p.id) != "tower" || p.tower.status() != tower || p.laptop.status() != laptop {
				t.Errorf("%+v, it runs at %s", mv, p.runs(p.id))
			}
		})
	}
}

// Background work is named and not ended; where that is allowed, it is.
func TestAMoveWithBackgroundWork(t *testing.T) {
	p := newPair(t)
	id := p.tower.claude("hello")
	p.tower.enters("w1:p1", "bg 10m")
	p.until("it has background work", func() bool {
		return strings.Contains(p.tower.desk().Endable(t.Context(), id, false).Why, "background work")
	})
	mv := p.move(id, record.MovePost{To: "laptop"})
	if mv.State != record.MoveFailed || !strings.Contains(mv.Detail, "check pane: background work runs in it") || p.runs(id) != "tower" {
		t.Fatalf("%+v", mv)
	}
	mv = p.move(id, record.MovePost{To: "laptop", StopBackground: true})
	if mv.State != record.MoveDone || p.runs(id) != "laptop" {
		t.Fatalf("%+v, it runs at %s", mv, p.runs(id))
	}
}

// fullDisk is a hub whose bundles don't fit.
type fullDisk struct{ Hub }

func (f fullDisk) DownloadBundle(_ context.Context, _ string, _ record.Bundle, w io.Writer) error {
	if _, err := w.Write([]byte("age-encryption.org/v1\n")); err != nil {
		return err
	}
	return &os.PathError{Op: "write", Path: "bundle.age", Err: syscall.ENOSPC}
}

// The target's disk is full: nothing of the bundle stays there, and the session
// goes on where it ran.
func TestTheDiskIsFullThere(t *testing.T) {
	p := newPair(t)
	id := p.tower.claude("hello")
	p.tower.dirty()
	before, there := p.tower.status(), p.laptop.status()
	p.laptop.end.Hub = fullDisk{p.laptop.end.Hub}
	mv := p.move(id, record.MovePost{To: "laptop"})
	if mv.State != record.MoveFailed || !strings.Contains(mv.Detail, "download: write bundle.age: no space left on device") {
		t.Fatalf("%+v", mv)
	}
	if p.runs(id) != "tower" || p.tower.status() != before || p.laptop.status() != there || len(p.laptop.leftovers()) > 0 {
		t.Errorf("it runs at %s; laptop keeps %v", p.runs(id), p.laptop.leftovers())
	}
}
