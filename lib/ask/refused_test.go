package ask

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"sessionhub/lib/config"
	"sessionhub/lib/record"
)

// Answers that must not count: nothing is printed, the hook waits on, and a
// right one counts after them.
func TestAnswersThatDoNotCount(t *testing.T) {
	t.Parallel()
	one := 7
	for _, c := range []struct {
		name, why string
		forge     func(s *scene, f *File)
	}{
		{"another hash", "another input", func(s *scene, f *File) {
			a := reply(f, record.Allow)
			a.InputSHA256 = strings.Repeat("0", 64)
			s.give(a)
		}},
		{"another ask", "another ask", func(s *scene, f *File) {
			a := reply(f, record.Allow)
			a.Ask = "other"
			b, err := json.Marshal(Given{V: 1, Answer: a})
			if err != nil {
				s.t.Fatal(err)
			}
			s.forged(f, string(b), 0o600)
		}},
		{"readable for others", "not 0600", func(s *scene, f *File) { s.forged(f, s.right(f), 0o644) }},
		{"nonsense", "makes no sense", func(s *scene, f *File) { s.forged(f, "{", 0o600) }},
		{"no version", "another ask", func(s *scene, f *File) { s.forged(f, "{}", 0o600) }},
		{"a link", "", func(s *scene, f *File) {
			target := filepath.Join(s.home, "answer")
			if err := os.WriteFile(target, []byte(s.right(f)), 0o600); err != nil {
				s.t.Fatal(err)
			}
			if err := os.Symlink(target, answerPath(s.dir, f.Ask)); err != nil {
				s.t.Fatal(err)
			}
		}},
		{"a folder", "no regular file", func(s *scene, f *File) {
			if err := os.Mkdir(answerPath(s.dir, f.Ask), 0o700); err != nil {
				s.t.Fatal(err)
			}
		}},
		{"another user's", "another user's", func(s *scene, f *File) {
			if os.Geteuid() != 0 {
				s.t.Skip("only root can make another's file")
			}
			tmp := filepath.Join(Folder(s.dir), ".forged")
			if err := errors.Join(os.WriteFile(tmp, []byte(s.right(f)), 0o600), os.Chown(tmp, 65534, 65534), os.Rename(tmp, answerPath(s.dir, f.Ask))); err != nil {
				s.t.Fatal(err)
			}
		}},
		{"a suggestion that is none", "suggestions", func(s *scene, f *File) {
			a := reply(f, record.Allow)
			a.Always = &one
			s.give(a)
		}},
		{"answers to no question", "no question", func(s *scene, f *File) {
			a := reply(f, record.Allow)
			a.Answers = map[string]record.Texts{"x": {"y"}}
			s.give(a)
		}},
		{"remote_answer is off by now", "remote_answer", func(s *scene, f *File) {
			s.mu.Lock()
			s.conf.RemoteAnswer = false
			s.mu.Unlock()
			s.give(reply(f, record.Allow))
		}},
		{"a rule forbids it by now", "remote_answer_never has Bash(rm *)", func(s *scene, f *File) {
			s.mu.Lock()
			s.conf.RemoteAnswerNever = []string{"Bash(rm *)"}
			s.mu.Unlock()
			s.give(reply(f, record.Allow))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, "Bash", bash)
			f := s.asked()
			c.forge(s, f)
			s.until("it is refused", func() bool {
				s.mu.Lock()
				defer s.mu.Unlock()
				return len(s.logs) > 0 && strings.Contains(s.logs[0], c.why)
			})
			s.until("it is taken away", func() bool { _, err := os.Lstat(answerPath(s.dir, f.Ask)); return err != nil })
			if s.printed() != "" {
				t.Fatalf("printed %s", s.printed())
			}
			s.mu.Lock()
			s.conf = config.Config{RemoteAnswer: true}
			s.mu.Unlock()
			s.give(reply(f, record.Allow))
			s.ended(record.HowAnswered, allowed)
		})
	}
}

// forged puts a file in the place of an answer at once, as a rename does.
func (s *scene) forged(f *File, content string, mode os.FileMode) {
	s.t.Helper()
	tmp := filepath.Join(Folder(s.dir), ".forged")
	if err := errors.Join(os.WriteFile(tmp, []byte(content), mode), os.Chmod(tmp, mode), os.Rename(tmp, answerPath(s.dir, f.Ask))); err != nil {
		s.t.Fatal(err)
	}
}

func (s *scene) right(f *File) string {
	b, err := json.Marshal(Given{V: 1, Answer: reply(f, record.Allow)})
	if err != nil {
		s.t.Fatal(err)
	}
	return string(b)
}

func TestOneAnswerAlone(t *testing.T) {
	s := newScene(t, "Bash", bash)
	if _, err := s.dir.Sub(folder); err != nil {
		t.Fatal(err)
	}
	a := record.Answer{Ask: "x", AnswerPost: record.AnswerPost{InputSHA256: strings.Repeat("a", 64), Behavior: record.Allow}}
	var wg sync.WaitGroup
	errs := make(chan error, 20)
	for i := range cap(errs) {
		wg.Go(func() { errs <- Give(s.dir, fmt.Sprint(i), a) })
	}
	wg.Wait()
	close(errs)
	won := 0
	for err := range errs {
		if err == nil {
			won++
		} else if !errors.Is(err, ErrAnswered) {
			t.Error(err)
		}
	}
	g, err := readGiven(s.dir, "x")
	if won != 1 || err != nil || g.Ask != "x" {
		t.Errorf("%d won, %+v, %v", won, g, err)
	}
	TakeBack(s.dir, "another", "x")
	if _, err := readGiven(s.dir, "x"); err != nil {
		t.Errorf("another's answer was taken back: %v", err)
	}
	TakeBack(s.dir, g.Request, "x")
	if left, err := os.ReadDir(Folder(s.dir)); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// Two asks of one session with equal input each have a tool use of their own.
func TestTwoEqualAsks(t *testing.T) {
	s := newScene(t, "Bash", bash)
	s.transcript(strings.Replace(fmt.Sprintf(use, "Bash", bash), "T1", "T2", 1))
	first := s.asked()
	o := &scene{t: t, home: s.home, dir: s.dir, claude: s.claude, conf: s.conf, in: s.in, timing: s.timing}
	o.start()
	o.until("both ask", func() bool { list, _ := List(s.dir); return len(list) == 2 })
	list, err := List(s.dir)
	if err != nil || list[0].ToolUse == list[1].ToolUse || first.ToolUse != "T1" {
		t.Errorf("%+v, %v", list, err)
	}
	s.killed()
	for _, one := range []*scene{s, o} {
		if err := <-one.over; err != nil {
			t.Error(err)
		}
	}
}
