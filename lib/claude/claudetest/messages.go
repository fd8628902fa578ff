package claudetest

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sessionhub/lib/claude/claudetest/directive"
)

// Messages stands in for the Messages API on loopback, so that the real Claude
// Code works without a network, an account or a model. A prompt is echoed,
// unless it holds directives; see package directive.
type Messages struct {
	URL    string
	ids    atomic.Int64
	closed chan struct{}

	mu     sync.Mutex
	faults []Fault
	seen   []Request
}

// Fault is what the stand-in does in place of a plain answer.
type Fault struct {
	Match  string        // only requests whose body holds this text
	Count  int           // how often; 0 is for ever
	Delay  time.Duration // before anything else
	Status int           // of HTTP; 0 is a plain answer with the headers added
	Text   string        // of the error; default: that of the status
	Header http.Header
	Drop   bool // cut the connection
	Stall  bool // never answer
}

// Request is what the stand-in was asked.
type Request struct {
	Path   string
	Model  string
	Stream bool
	Prompt string // the last one, without what the program adds
	Rounds int    // of tools since then
	Status int    // 0 when it was cut or stalled
	Body   []byte // of a prompt: the whole conversation
}

// StartMessages starts a stand-in, which ends with the test.
func StartMessages(t testing.TB) *Messages {
	t.Helper()
	m := &Messages{closed: make(chan struct{})}
	srv := httptest.NewServer(m)
	t.Cleanup(func() {
		close(m.closed)
		srv.CloseClientConnections()
		srv.Close()
	})
	m.URL = srv.URL
	return m
}

// MessagesAPI starts a stand-in and returns its address.
func MessagesAPI(t testing.TB) string {
	t.Helper()
	return StartMessages(t).URL
}

// Fail adds a fault; of several that fit a request the first one holds.
func (m *Messages) Fail(f Fault) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.faults = append(m.faults, f)
}

// Heal takes all faults away.
func (m *Messages) Heal() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.faults = nil
}

// Requests lists what was asked so far.
func (m *Messages) Requests() []Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]Request(nil), m.seen...)
}

func (m *Messages) note(r Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.seen = append(m.seen, r)
}

// fault takes the first fault that fits a body.
func (m *Messages) fault(body []byte) Fault {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range m.faults {
		f := m.faults[i]
		if !bytes.Contains(body, []byte(f.Match)) {
			continue
		}
		if f.Count == 1 {
			m.faults = append(m.faults[:i:i], m.faults[i+1:]...)
		} else if f.Count > 1 {
			m.faults[i].Count--
		}
		return f
	}
	return Fault{}
}

// maxBody bounds a request; those of Claude Code have some 200 KiB.
const maxBody = 64 << 20

func (m *Messages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		return // the client is gone, or too much of a client
	}
	switch r.URL.Path {
	case "/v1/messages":
		m.message(w, r, body)
	case "/v1/messages/count_tokens":
		m.note(Request{Path: r.URL.Path, Status: http.StatusOK})
		writeJSON(w, http.StatusOK, map[string]int{"input_tokens": 1000})
	case "/v1/models":
		m.note(Request{Path: r.URL.Path, Status: http.StatusOK})
		writeJSON(w, http.StatusOK, map[string]any{"data": []any{}, "has_more": false})
	default:
		m.note(Request{Path: r.URL.Path, Status: http.StatusNotFound})
		m.fail(w, http.StatusNotFound, "there is no "+r.URL.Path+" here")
	}
}

func (m *Messages) message(w http.ResponseWriter, r *http.Request, body []byte) {
	var req messagesRequest
	if err := json.Unmarshal(body, &req); err != nil {
		m.fail(w, http.StatusBadRequest, err.Error())
		return
	}
	turn := req.turn()
	seen := Request{Path: r.URL.Path, Model: req.Model, Stream: req.Stream, Prompt: turn.prompt, Rounds: turn.rounds, Body: body}
	f := m.fault(body)
	if f.Stall {
		f.Delay = time.Hour // or as long as the client waits
	}
	a := m.plan(&req, turn)
	m.wait(r, f.Delay+a.sleep)
	for k, v := range f.Header {
		w.Header()[k] = v
	}
	switch {
	case f.Drop || f.Stall:
		m.note(seen)
		panic(http.ErrAbortHandler)
	case f.Status != 0 && f.Status != http.StatusOK:
		a.status, a.text = f.Status, f.Text
	}
	seen.Status = a.status
	m.note(seen)
	if a.status != http.StatusOK {
		m.fail(w, a.status, a.text)
		return
	}
	m.send(w, &req, a.blocks)
}

// wait ends early with the client or the test.
func (m *Messages) wait(r *http.Request, d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.Context().Done():
	case <-m.closed:
	}
}

// answer is what a request gets.
type answer struct {
	status int
	text   string // of an error
	sleep  time.Duration
	blocks []block
}

func say(text string) answer {
	return answer{status: http.StatusOK, blocks: []block{{Type: "text", Text: text}}}
}

// plan chooses the answer: to a side request of the program, or the next round
// of tools, or the end of the turn.
func (m *Messages) plan(req *messagesRequest, t turn) answer {
	if text, ok := req.side(t); ok {
		return say(text)
	}
	s := directive.Parse(t.prompt)
	a := answer{status: http.StatusOK, sleep: s.Sleep}
	switch {
	case len(s.Bad) > 0:
		a.blocks = say("bad directive: " + strings.Join(s.Bad, "; ")).blocks
	case t.rounds < len(s.Rounds):
		a.blocks = say("Step " + strconv.Itoa(t.rounds+1) + ".").blocks
		for _, c := range s.Rounds[t.rounds] {
			a.blocks = append(a.blocks, block{Type: "tool_use", ID: m.id("toolu"), Name: c.Name, Input: c.Input})
		}
	case s.Status != 0 && s.Status != http.StatusOK:
		a.status, a.text = s.Status, s.StatusText
	case s.Say != "":
		a.blocks = say(s.Say).blocks
	default:
		a.blocks = say("Echo: " + cut(t.prompt)).blocks
	}
	return a
}

// cut bounds an echo.
func cut(s string) string {
	const most = 200
	if r := []rune(s); len(r) > most {
		return string(r[:most])
	}
	return s
}
