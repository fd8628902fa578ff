package hub

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

const (
	// streamBeat keeps proxies from cutting a silent stream.
	streamBeat = 20 * time.Second
	// streamCheck is how often a stream's token is looked at: a revoked one
	// counts within a second.
	streamCheck = 500 * time.Millisecond
	// streamWait bounds one write to a client that does not read.
	streamWait = 10 * time.Second
)

// changed is the data of a stream's event.
type changed struct {
	Session string `json:"session"`
}

// getEvents streams one event for each session that changed, until the client
// leaves, its token is revoked or the hub shuts down. It says which session
// changed, not how: a client reads what it shows anew.
func (h *Hub) getEvents(w http.ResponseWriter, r *request) (any, error) {
	ear := h.changes.join()
	defer ear.leave()
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusOK)
	if r.Method == http.MethodHead {
		return nil, nil
	}
	out := http.NewResponseController(w)
	beat, check := time.NewTicker(streamBeat), time.NewTicker(streamCheck)
	defer beat.Stop()
	defer check.Stop()
	defer out.SetWriteDeadline(time.Time{}) // the connection may serve on
	for {
		if err := out.Flush(); err != nil {
			return nil, nil // the client left
		}
		out.SetWriteDeadline(time.Now().Add(streamBeat + streamWait)) // not of recorders in tests
		select {
		case <-r.Context().Done():
			return nil, nil
		case _, open := <-ear.some:
			if !open {
				return nil, nil
			}
			for _, id := range ear.take() {
				writeEvent(w, id)
			}
		case <-beat.C:
			fmt.Fprint(w, ": still here\n\n")
		case <-check.C:
			if _, err := h.store.FindToken(r.Context(), r.secret); err != nil {
				return nil, nil
			}
		}
	}
}

func writeEvent(w http.ResponseWriter, session string) {
	b, err := json.Marshal(changed{Session: session})
	if err != nil {
		return // a string always encodes
	}
	fmt.Fprintf(w, "event: session\ndata: %s\n\n", b)
}
