package watch

import (
	"context"
	"sync"
	"time"

	"sessionhub/lib/git"
	"sessionhub/lib/record"
)

// gitFresh is how long what git said of a directory holds.
const gitFresh = 50 * time.Second

// maxGitDirs bounds the directories remembered.
const maxGitDirs = 512

// GitCache tells where directories stand in Git without ever waiting for git:
// what is not known yet is asked for in the background, one directory at a
// time. It is safe for use by several goroutines.
type GitCache struct {
	// Learned, if it is set, gets a value when a directory that was asked for in
	// vain is known to be in a work tree: the hub need not wait a minute for it.
	Learned chan struct{}

	mu      sync.Mutex
	known   map[string]gitState
	running bool
	todo    []string
}

type gitState struct {
	git *record.Git
	at  time.Time
}

// Get is what is known of a directory; nil when nothing is, or it is in no
// work tree.
func (g *GitCache) Get(dir string) *record.Git {
	g.mu.Lock()
	defer g.mu.Unlock()
	s, ok := g.known[dir]
	if !ok || time.Since(s.at) > gitFresh {
		g.ask(dir)
	}
	return s.git
}

// ask has the background read a directory. The goroutine ends when there is
// nothing left to read; each read is bounded by git.Wait.
func (g *GitCache) ask(dir string) {
	for _, d := range g.todo {
		if d == dir {
			return
		}
	}
	g.todo = append(g.todo, dir)
	if g.running {
		return
	}
	g.running = true
	go g.work()
}

func (g *GitCache) work() {
	for {
		g.mu.Lock()
		if len(g.todo) == 0 {
			g.running = false
			g.mu.Unlock()
			return
		}
		dir := g.todo[0]
		g.mu.Unlock()
		state := gitState{git: ReadGit(dir), at: time.Now()}
		g.mu.Lock()
		if g.known == nil || len(g.known) >= maxGitDirs {
			g.known = make(map[string]gitState)
		}
		before := g.known[dir].git
		g.known[dir] = state
		g.todo = g.todo[1:]
		g.mu.Unlock()
		if before == nil && state.git != nil {
			select {
			case g.Learned <- struct{}{}:
			default: // one is on its way, or nobody asks
			}
		}
	}
}

// ReadGit asks git about a directory, for at most git.Wait a call.
func ReadGit(dir string) *record.Git {
	h, ok := git.Read(context.Background(), dir)
	if !ok {
		return nil
	}
	return &record.Git{Remote: h.Remote, Branch: h.Branch, Head: h.Commit}
}
