package claudetest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"sync/atomic"
	"testing"
	"time"
)

// MessagesAPI starts a stand-in for the Messages API on loopback, for the real
// Claude Code to talk to without a network, an account or a model, and returns
// its address. The answer is
// one word, unless the prompt holds directives:
//
//	[[tool NAME {json}]]  call the tool NAME with that input, one a round
//	[[say TEXT]]          the final text
//	[[sleep MS]]          wait before every answer
func MessagesAPI(t testing.TB) string {
	t.Helper()
	srv := httptest.NewServer(&messages{})
	t.Cleanup(srv.CloseClientConnections)
	t.Cleanup(srv.Close)
	return srv.URL
}

type messages struct{ n atomic.Int64 }

type messagesRequest struct {
	Model    string `json:"model"`
	Stream   bool   `json:"stream"`
	Messages []struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	} `json:"messages"`
}

type block struct {
	Type  string          `json:"type"`
	Text  string          `json:"text,omitempty"`
	ID    string          `json:"id,omitempty"`
	Name  string          `json:"name,omitempty"`
	Input json.RawMessage `json:"input,omitempty"`
}

func (m *messages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path == "/v1/messages/count_tokens":
		writeJSON(w, map[string]int{"input_tokens": 10})
	case r.URL.Path == "/v1/messages" && r.Method == http.MethodPost:
		m.answer(w, r)
	default:
		http.NotFound(w, r)
	}
}

func (m *messages) answer(w http.ResponseWriter, r *http.Request) {
	var req messagesRequest
	if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	prompt, rounds := lastPrompt(req)
	if ms := directive(prompt, `\[\[sleep (\d+)\]\]`); ms != "" {
		n, _ := strconv.Atoi(ms) // digits by the pattern
		select {
		case <-time.After(time.Duration(n) * time.Millisecond):
		case <-r.Context().Done():
			return
		}
	}
	b, stop := m.reply(prompt, rounds)
	id := fmt.Sprintf("msg_%08d", m.n.Add(1))
	if req.Stream {
		stream(w, id, req.Model, b, stop)
		return
	}
	writeJSON(w, map[string]any{"id": id, "type": "message", "role": "assistant", "model": req.Model, "content": []block{b},
		"stop_reason": stop, "usage": usage()})
}

// reply is the next tool call of the prompt, or its final text.
func (m *messages) reply(prompt string, rounds int) (block, string) {
	tools := regexp.MustCompile(`\[\[tool (\w+) (\{.*?\})\]\]`).FindAllStringSubmatch(prompt, -1)
	if rounds < len(tools) {
		return block{Type: "tool_use", ID: fmt.Sprintf("toolu_%08d", m.n.Load()+1), Name: tools[rounds][1], Input: json.RawMessage(tools[rounds][2])}, "tool_use"
	}
	text := directive(prompt, `\[\[say (.*?)\]\]`)
	if text == "" {
		text = "Echo."
	}
	return block{Type: "text", Text: text}, "end_turn"
}

func directive(prompt, pattern string) string {
	if m := regexp.MustCompile(pattern).FindStringSubmatch(prompt); m != nil {
		return m[1]
	}
	return ""
}

// lastPrompt is what was typed last, with what the program adds to it, which
// may come as messages of their own; and how many tool calls followed it.
func lastPrompt(req messagesRequest) (prompt string, rounds int) {
	answered := false
	for _, m := range req.Messages {
		text, calls := content(m.Content)
		switch {
		case m.Role == "assistant":
			rounds += calls
			answered = calls == 0
		case answered:
			prompt, rounds, answered = text, 0, false
		default:
			prompt += text
		}
	}
	return prompt, rounds
}

// content is the text of a message, with what the program adds to a prompt, and
// how many tools it calls.
func content(raw json.RawMessage) (text string, calls int) {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s, 0
	}
	var blocks []block
	if json.Unmarshal(raw, &blocks) != nil {
		return "", 0
	}
	for _, b := range blocks {
		switch {
		case b.Type == "tool_use":
			calls++
		case b.Type == "text":
			text += b.Text + "\n"
		}
	}
	return text, calls
}

func stream(w http.ResponseWriter, id, model string, b block, stop string) {
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(kind string, v map[string]any) {
		v["type"] = kind
		raw, _ := json.Marshal(v) // plain values
		fmt.Fprintf(w, "event: %s\ndata: %s\n\n", kind, raw)
	}
	send("message_start", map[string]any{"message": map[string]any{"id": id, "type": "message", "role": "assistant", "model": model,
		"content": []any{}, "stop_reason": nil, "usage": usage()}})
	start, delta := map[string]any{"type": "text", "text": ""}, map[string]any{"type": "text_delta", "text": b.Text}
	if b.Type == "tool_use" {
		start = map[string]any{"type": "tool_use", "id": b.ID, "name": b.Name, "input": map[string]any{}}
		delta = map[string]any{"type": "input_json_delta", "partial_json": string(b.Input)}
	}
	send("content_block_start", map[string]any{"index": 0, "content_block": start})
	send("content_block_delta", map[string]any{"index": 0, "delta": delta})
	send("content_block_stop", map[string]any{"index": 0})
	send("message_delta", map[string]any{"delta": map[string]any{"stop_reason": stop, "stop_sequence": nil}, "usage": map[string]int{"output_tokens": 10}})
	send("message_stop", map[string]any{})
}

func usage() map[string]int { return map[string]int{"input_tokens": 10, "output_tokens": 1} }

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(v)
}
