package move

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sessionhub/lib/herdr"
	"sessionhub/lib/record"
	"sessionhub/lib/session"
)

// resumes has a person resume the session by hand, in a new pane.
func (m *machine) resumes(id string) {
	m.p.t.Helper()
	made, err := m.s.Client().CreateWorkspace(m.p.t.Context(), herdr.NewWorkspace{Cwd: m.clone})
	if err != nil {
		m.p.t.Fatal(err)
	}
	m.enters(made.RootPane.PaneID, "claude --resume "+id)
	m.p.until("it runs again", func() bool { return m.idle(id) })
}

// The finish comes twice: what is archived stays so, and nobody is alarmed.
func TestTheFinishComesTwice(t *testing.T) {
	p := newPair(t)
	id := p.tower.claude("hello")
	var finish record.Claim
	mv := p.ask(id, record.MovePost{To: "laptop"})
	for {
		c, ok, err := p.tower.hub.NextClaim(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		if ok {
			res, err := p.tower.carryOut(c)
			if err != nil {
				t.Fatal(err)
			}
			if c.Action == record.ActionMoveFinish {
				finish = c
				break // its result is lost
			}
			res.ID, res.V = c.ID, record.Version
			p.tower.hub.PostResult(t.Context(), res)
		}
		p.laptop.work()
	}
	res, err := p.tower.end.Finish(t.Context(), finish)
	if err != nil || res.State != record.RequestDone || res.Detail != "" {
		t.Errorf("%+v %v", res, err)
	}
	if mv = p.now(mv.ID); mv.State != record.MoveDone || len(mv.Notes) > 0 {
		t.Errorf("%+v", mv)
	}
	list, err := p.tower.end.Archives()
	if err != nil || len(list) != 1 {
		t.Errorf("%+v %v", list, err)
	}
}

// A file that can't be packed is found while the session runs.
func TestWhatCantBePackedIsFoundBefore(t *testing.T) {
	for name, do := range map[string]func(p *pair, id string){
		"a name that no bundle has": func(p *pair, id string) {
			path, _ := p.tower.end.Home.Transcript(id)
			p.write(strings.TrimSuffix(path, ".jsonl"), `tool-results/a\b.txt`, "x")
		},
		"a control character in one": func(p *pair, id string) {
			path, _ := p.tower.end.Home.Transcript(id)
			p.write(strings.TrimSuffix(path, ".jsonl"), `tool-results/a`+"\x01"+`b.txt`, "x")
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t)
			id := p.tower.claude("hello")
			do(p, id)
			mv := p.move(id, record.MovePost{To: "laptop"})
			if mv.State != record.MoveFailed || !strings.HasPrefix(mv.Detail, "build bundle: ") || strings.Contains(mv.Detail, "resumes here") {
				t.Errorf("%+v", mv)
			}
			if p.runs(id) != "tower" {
				t.Errorf("it runs at %q", p.runs(id))
			}
		})
	}
}

// A restart that a crash cut short is not made a second time while the first
// Claude is not known yet.
func TestARestartIsNotMadeTwice(t *testing.T) {
	c := &clock{}
	p, mv, _, _ := started(t, c)
	starts := 0
	p.tower.end.Desk = &slow{Desk: p.tower.desk(), starts: &starts}
	p.on(point{TargetCheck, false}, func() {
		p.laptop.end.Roots = nil // it fails
	})
	mv = p.settles(c, mv)
	if mv.State != record.MoveFailed || starts != 1 || p.runs(p.id) != "tower" {
		t.Errorf("%+v, %d starts, it runs at %q", mv, starts, p.runs(p.id))
	}
}

// slow is a desk whose first start is killed before Claude is known.
type slow struct {
	*session.Desk
	starts *int
	blind  int // looks that see nothing yet
	deaf   int // 1: the next look gets no answer; 2: it got none
}

func (s *slow) Relaunch(ctx context.Context, socket, pane string, l session.Launch, before func() error) (session.Launched, error) {
	*s.starts++
	at, err := s.Desk.Relaunch(ctx, socket, pane, l, before)
	if *s.starts == 1 && s.deaf == 0 {
		s.blind = 3
		panic(killed{})
	}
	return at, err
}

func (s *slow) Running(ctx context.Context, id string) (string, error) {
	switch {
	case s.blind > 0:
		s.blind--
		return "", nil
	case s.deaf == 1:
		s.deaf = 2
		return "", errors.New("herdr does not answer")
	}
	return s.Desk.Running(ctx, id)
}

// A journal of a later version, or with a phase that is not known, is left as
// it is, and keeps nobody else's move from being gone on with.
func TestAJournalOfALaterVersion(t *testing.T) {
	p := newPair(t)
	dir := filepath.Join(string(p.tower.end.Dir), session.MovesDir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	put := func(id string, j map[string]any) string {
		path := filepath.Join(dir, id+".json")
		b, err := json.Marshal(j)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	claim := map[string]any{"id": "x"}
	later := put("a", map[string]any{"v": 2, "id": "a", "session": "s", "role": "source", "phase": "ascend", "claim": claim, "leaving": true})
	odd := put("b", map[string]any{"v": 1, "id": "b", "session": "s", "role": "source", "phase": "ascend", "claim": claim, "leaving": true})
	oddIn := put("c", map[string]any{"v": 1, "id": "c", "session": "s", "role": "target", "phase": "ascend", "claim": claim, "leaving": true})
	torn := filepath.Join(dir, "d.json")
	if err := os.WriteFile(torn, []byte(`{"v":1,"id":"d"`), 0o600); err != nil {
		t.Fatal(err)
	}
	whole := put("e", map[string]any{"v": 1, "id": "e", "session": "s", "role": "source", "phase": "check", "claim": claim})
	_, err := p.tower.end.Recover(t.Context(), p.tower.out())
	for _, want := range []string{"a.json", "b.json", "c.json", "d.json"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("recover says nothing of %s: %v", want, err)
		}
	}
	for _, path := range []string{later, odd, oddIn, torn} {
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(whole); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the whole one was not gone on with: %v", err)
	}
}

// herdr does not answer while the session is to be archived, or taken up again:
// that is tried again, and not given up.
func TestHerdrDoesNotAnswerInTheEnd(t *testing.T) {
	for _, at := range []Phase{FinishArchive, FinishRestart, SourceRestart} {
		t.Run(string(at), func(t *testing.T) {
			c := &clock{}
			p, mv, tower, laptop := started(t, c)
			deaf := &slow{Desk: p.tower.desk(), starts: new(int)}
			p.tower.end.Desk = deaf
			switch at {
			case FinishRestart:
				p.on(point{TargetCheck, false}, func() { p.laptop.end.Roots = nil })
			case SourceRestart:
				p.on(point{SourcePack, false}, func() { p.write(p.tower.clone, ".git/MERGE_HEAD", p.git(p.tower.clone, "rev-parse", "HEAD")+"\n") })
			}
			look := p.tower.end.at
			p.tower.end.at = func(phase Phase, done bool) {
				if look != nil {
					look(phase, done)
				}
				if phase == at && !done && deaf.deaf == 0 {
					deaf.deaf = 1
				}
				if phase == SourceGiveUp && !done {
					os.Remove(filepath.Join(p.tower.clone, ".git/MERGE_HEAD"))
				}
			}
			mv = p.settles(c, mv)
			p.sound(mv, tower, laptop)
			if deaf.deaf != 2 || len(mv.Notes) > 0 {
				t.Errorf("%+v, it was deaf %d", mv, deaf.deaf)
			}
		})
	}
}

// The session went elsewhere (/cd) since the hub heard of its directory: what
// travels is where it works, and another repository is asked for first.
func TestTheDirectoryChangedMeanwhile(t *testing.T) {
	p := newPair(t)
	id := p.tower.claude("hello")
	sub := filepath.Join(p.tower.clone, "sub")
	p.write(sub, "here.txt", "untracked\n")
	other := filepath.Join(filepath.Dir(p.tower.clone), "other")
	p.git("", "init", "-q", "-b", "main", other)
	p.git(other, "remote", "add", "origin", p.remote+".other")
	p.git(other, "commit", "-q", "--allow-empty", "-m", "one")
	there := &elsewhere{Desk: p.tower.desk(), cwd: other}
	p.tower.end.Desk = there
	mv := p.move(id, record.MovePost{To: "laptop"})
	if mv.State != record.MoveFailed || !strings.HasPrefix(mv.Detail, "read repo: it works in another repository now") {
		t.Errorf("%+v", mv)
	}
	there.cwd = sub
	if mv = p.move(id, record.MovePost{To: "laptop"}); mv.State != record.MoveDone || !strings.Contains(mv.Detail, "it goes on in "+filepath.Join(p.laptop.clone, "sub")) {
		t.Errorf("%+v", mv)
	}
}

// elsewhere is a desk that knows of a later directory than the hub.
type elsewhere struct {
	*session.Desk
	cwd string
}

func (e *elsewhere) Endable(ctx context.Context, id string, stop bool) session.Gate {
	g := e.Desk.Endable(ctx, id, stop)
	g.Cwd = e.cwd
	return g
}

// The target's state folder is lost once the session was started there.
func TestTheJournalIsLostAfterTheStart(t *testing.T) {
	c := &clock{}
	p, mv, tower, laptop := started(t, c)
	p.on(point{TargetDone, false}, func() {
		if err := os.RemoveAll(filepath.Join(string(p.laptop.end.Dir), session.MovesDir)); err != nil {
			t.Error(err)
		}
		panic(killed{})
	})
	mv = p.settles(c, mv)
	if mv.State != record.MoveDone {
		t.Errorf("%+v", mv)
	}
	p.sound(mv, tower, laptop)
}

// Somebody resumes on the target what a killed process had brought in: it is
// not taken away from below it.
func TestResumedByHandOnTheTarget(t *testing.T) {
	c := &clock{}
	p, mv, _, _ := started(t, c)
	p.on(point{TargetApply, true}, func() {
		p.laptop.resumes(p.id)
		panic(killed{})
	})
	for p.tower.worked(c) || p.laptop.worked(c) {
		if mv = p.now(mv.ID); mv.State.Ended() {
			break
		}
	}
	if mv.State != record.MoveFailed || !strings.Contains(mv.Detail, "the session runs here") || !strings.Contains(p.transcripts(p.id), "laptop") {
		t.Errorf("%+v, transcripts at %q", mv, p.transcripts(p.id))
	}
}

// Somebody resumes the session on the target before the move does: there it is.
func TestResumedByHandBeforeTheStart(t *testing.T) {
	c := &clock{}
	p, mv, _, _ := started(t, c)
	p.on(point{TargetClaim, false}, func() { p.laptop.resumes(p.id) })
	mv = p.settles(c, mv)
	if mv.State != record.MoveDone || !strings.HasPrefix(mv.Detail, "it was resumed by hand, and runs in pane ") || p.runs(p.id) != "laptop" {
		t.Errorf("%+v, it runs at %q", mv, p.runs(p.id))
	}
}
