package presence

import "sessionhub/lib/claude"

// memo keeps what a process table said, so that a decision sees each process
// once, and in one state.
type memo struct {
	claude.Table
	seen map[int]sighting
}

type sighting struct {
	process claude.OSProcess
	there   bool
}

func (m *memo) Find(pid int) (claude.OSProcess, bool) {
	s, ok := m.seen[pid]
	if !ok {
		s.process, s.there = m.Table.Find(pid)
		m.seen[pid] = s
	}
	return s.process, s.there
}
