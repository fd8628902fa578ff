package herdrtest

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"
)

// FaultKind is something that goes wrong with an answer.
type FaultKind int

const (
	// Hang: the request is read and never answered.
	Hang FaultKind = iota
	// CloseUnanswered: the connection ends without an answer.
	CloseUnanswered
	// HalfLine: half of the answer, then the end.
	HalfLine
	// Late: the answer comes after Delay.
	Late
	// Huge: the answer carries Size bytes of blanks in an unknown field.
	Huge
	// EmptyID: the answer's id is "".
	EmptyID
	// UnknownFields: unknown fields everywhere.
	UnknownFields
	// UnknownStatus: every agent_status is a word that nobody knows.
	UnknownStatus
	// ResetAfterAnswer: the whole answer, then a reset connection, as when herdr
	// leaves bytes unread.
	ResetAfterAnswer
	// Garbage: a line that is no JSON.
	Garbage
)

// Fault makes answers go wrong.
type Fault struct {
	Kind   FaultKind
	Method string        // default: every method
	Times  int           // how often; 0 is until ClearFaults
	Delay  time.Duration // of Late
	Size   int           // of Huge
}

// Inject makes answers go wrong from now on.
func (s *Server) Inject(f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, &f)
}

// ClearFaults ends all faults; requests that hang stay so.
func (s *Server) ClearFaults() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = nil
}

// Refuse ends the listening without ending the server: connections are refused,
// as with a dead server's socket file. Listen undoes it.
func (s *Server) Refuse() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listener.Close()
}

// Listen listens again after Refuse, at a new socket file.
func (s *Server) Listen() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	ln, err := listen(s.socket)
	if err != nil {
		return err
	}
	s.listener = ln
	s.wg.Add(1)
	go s.accept(ln)
	return nil
}

func (s *Server) takeFault(method string) *Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, f := range s.faults {
		if f.Method != "" && f.Method != method {
			continue
		}
		if f.Times == 1 {
			s.faults = append(s.faults[:i:i], s.faults[i+1:]...)
		} else if f.Times > 1 {
			f.Times--
		}
		taken := *f
		return &taken
	}
	return nil
}

// before reports whether the request is dropped unanswered.
func (f *Fault) before(c *exchange) bool {
	switch f.Kind {
	case Hang:
		select {
		case <-c.run.Done():
		case <-c.hungUp():
		}
		return true
	case CloseUnanswered:
		return true
	}
	return false
}

func (f *Fault) change(c *exchange, line []byte) []byte {
	switch f.Kind {
	case HalfLine:
		return line[:len(line)/2]
	case Late:
		select {
		case <-c.run.Done():
			return nil
		case <-time.After(f.Delay):
		}
	case Garbage:
		return []byte("herdr? what herdr?\n")
	case Huge:
		return append([]byte(`{"padding":"`+strings.Repeat(" ", f.Size)+`",`), line[1:]...)
	case EmptyID, UnknownFields, UnknownStatus:
		return f.rewrite(line)
	}
	return line
}

func (f *Fault) rewrite(line []byte) []byte {
	var v obj
	if json.Unmarshal(line, &v) != nil {
		return line
	}
	switch f.Kind {
	case EmptyID:
		v["id"] = ""
	case UnknownFields:
		visit(v, func(o obj) { o["from_the_future"] = obj{"a": []any{1, nil}} })
	case UnknownStatus:
		visit(v, func(o obj) {
			if o["agent_status"] != nil {
				o["agent_status"] = "daydreaming"
			}
		})
	}
	return jsonLine(v)
}

func visit(v any, f func(obj)) {
	switch v := v.(type) {
	case obj:
		for _, x := range v {
			visit(x, f)
		}
		f(v)
	case []any:
		for _, x := range v {
			visit(x, f)
		}
	}
}

// EmitRaw sends a line to all subscriptions as it is, such as an event with an
// unknown name.
func (s *Server) EmitRaw(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ring.add(ringEvent{raw: append(bytes.TrimSpace([]byte(line)), '\n')})
}
