package claudetest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
)

// id makes up the next id of a kind.
func (m *Messages) id(kind string) string {
	return fmt.Sprintf("%s_made_up_%08d", kind, m.ids.Add(1))
}

// errorTypes are the API's names for its errors.
var errorTypes = map[int]string{
	400: "invalid_request_error", 401: "authentication_error", 403: "permission_error", 404: "not_found_error",
	413: "request_too_large", 429: "rate_limit_error", 504: "timeout_error", 529: "overloaded_error",
}

func (m *Messages) fail(w http.ResponseWriter, status int, text string) {
	id := m.id("req")
	w.Header().Set("request-id", id)
	writeJSON(w, status, map[string]any{
		"type": "error", "request_id": id,
		"error": map[string]string{
			"type":    cmp.Or(errorTypes[status], "api_error"),
			"message": cmp.Or(text, http.StatusText(status), fmt.Sprintf("status %d", status)),
		},
	})
}

func (m *Messages) send(w http.ResponseWriter, req *messagesRequest, blocks []block) {
	stop := "end_turn"
	for _, b := range blocks {
		if b.Type == "tool_use" {
			stop = "tool_use"
		}
	}
	w.Header().Set("request-id", m.id("req"))
	msg := map[string]any{"id": m.id("msg"), "type": "message", "role": "assistant", "model": req.Model, "usage": usage(), "stop_sequence": nil}
	if !req.Stream {
		msg["content"], msg["stop_reason"] = blocks, stop
		writeJSON(w, http.StatusOK, msg)
		return
	}
	msg["content"], msg["stop_reason"] = []block{}, nil
	w.Header().Set("Content-Type", "text/event-stream")
	s := stream{w}
	s.event("message_start", map[string]any{"message": msg})
	for i, b := range blocks {
		s.block(i, b)
	}
	s.event("message_delta", map[string]any{"delta": map[string]any{"stop_reason": stop, "stop_sequence": nil}, "usage": usage()})
	s.event("message_stop", map[string]any{})
}

// stream writes server-sent events.
type stream struct{ w http.ResponseWriter }

func (s stream) event(kind string, v map[string]any) {
	v["type"] = kind
	fmt.Fprintf(s.w, "event: %s\ndata: %s\n\n", kind, asJSON(v))
}

func (s stream) block(index int, b block) {
	start, delta := map[string]any{"type": "text", "text": ""}, map[string]any{"type": "text_delta", "text": b.Text}
	if b.Type == "tool_use" {
		start = map[string]any{"type": "tool_use", "id": b.ID, "name": b.Name, "input": struct{}{}}
		delta = map[string]any{"type": "input_json_delta", "partial_json": string(b.Input)}
	}
	s.event("content_block_start", map[string]any{"index": index, "content_block": start})
	s.event("content_block_delta", map[string]any{"index": index, "delta": delta})
	s.event("content_block_stop", map[string]any{"index": index})
}

func usage() map[string]int {
	return map[string]int{"input_tokens": 100, "output_tokens": 20, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(v) // what fails is the client's connection
}
