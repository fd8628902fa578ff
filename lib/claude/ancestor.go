package claude

import (
	"errors"
	"fmt"
)

// ErrNoSession says that a process belongs to no session of Claude Code that
// is known.
var ErrNoSession = errors.New("not inside a Claude Code session")

// SessionAbove is the session of the Claude Code that a process descends from,
// by the registry: unlike the environment that the process was started with, it
// follows /clear and /resume.
func (h Home) SessionAbove(t Table, pid int) (string, error) {
	list, err := h.Live(t)
	if err != nil {
		return "", err
	}
	byPID := make(map[int]string, len(list))
	for _, p := range list {
		byPID[p.PID] = p.SessionID
	}
	for range maxDepth {
		if session, ok := byPID[pid]; ok {
			return session, nil
		}
		p, ok := t.Find(pid)
		if !ok || p.Parent <= 1 {
			break
		}
		pid = p.Parent
	}
	return "", fmt.Errorf("%w", ErrNoSession)
}
