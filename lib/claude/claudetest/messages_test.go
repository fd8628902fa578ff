package claudetest

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// ask sends messages, written as "user: text", "assistant: text" or "result:
// text beside it", and returns the answer's status and body.
func ask(t *testing.T, m *Messages, stream bool, lines ...string) (int, string) {
	t.Helper()
	req := map[string]any{"model": "claude-test", "stream": stream}
	var list []any
	for _, l := range lines {
		role, text, _ := strings.Cut(l, ": ")
		if role == "result" {
			list = append(list, map[string]any{"role": "user", "content": []any{
				map[string]string{"type": "tool_result", "tool_use_id": "x"}, map[string]string{"type": "text", "text": text}}})
			continue
		}
		list = append(list, map[string]any{"role": role, "content": text})
	}
	req["messages"] = list
	return post(t, m, req)
}

func post(t *testing.T, m *Messages, req map[string]any) (int, string) {
	t.Helper()
	res, err := http.Post(m.URL+"/v1/messages?beta=true", "application/json", strings.NewReader(asJSON(req)))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(b)
}

// said is an answer in one line: texts, and tools as "Name{input}".
func said(t *testing.T, body string) string {
	t.Helper()
	var v struct {
		Content []block `json:"content"`
		Error   struct{ Type, Message string }
	}
	if err := json.Unmarshal([]byte(body), &v); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	words := []string{}
	for _, b := range v.Content {
		words = append(words, b.Text+b.Name+string(b.Input))
	}
	if v.Error.Type != "" {
		words = append(words, v.Error.Type+": "+v.Error.Message)
	}
	return strings.Join(words, " | ")
}

func TestMessagesPlaysItsScript(t *testing.T) {
	const two = `go [[tool A {"x":1}]] [[and B {}]] [[tool C {}]] [[say Done.]]`
	for _, c := range []struct {
		name  string
		lines []string
		code  int
		want  string
	}{
		{"an echo", []string{"user: hello"}, 200, "Echo: hello"},
		{"the last prompt counts", []string{"user: [[say one]]", "assistant: one", "user: [[say two]]"}, 200, "two"},
		{"what the program adds does not", []string{"user: [[say one]]", "user: <system-reminder>x</system-reminder>"}, 200, "one"},
		{"the first round", []string{"user: " + two}, 200, `Step 1. | A{"x":1} | B{}`},
		{"the second", []string{"user: " + two, "assistant: ", "result"}, 200, "Step 2. | C{}"},
		{"the end", []string{"user: " + two, "assistant: ", "result", "assistant: ", "result"}, 200, "Done."},
		{"cut off by the person, and asked anew", []string{"user: " + two, "assistant: ", "result: [Request interrupted by user for tool use] again [[say Now.]]"}, 200, "Now."},
		{"an error", []string{"user: [[status 529]]"}, 529, "overloaded_error: status 529"},
		{"an error after the rounds", []string{"user: [[tool A {}]] [[status 400 no]]"}, 200, "Step 1. | A{}"},
		{"a bad directive", []string{"user: [[tool A {]]"}, 200, "bad directive: A: invalid character ']' looking for beginning of object key string"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := StartMessages(t)
			code, body := ask(t, m, false, c.lines...)
			if got := said(t, body); code != c.code || got != c.want {
				t.Errorf("%d %s, want %d %s", code, got, c.code, c.want)
			}
		})
	}
}

func TestMessagesStreams(t *testing.T) {
	m := StartMessages(t)
	_, body := ask(t, m, true, `user: [[tool A {"x":1}]]`)
	for _, want := range []string{"event: message_start", `"text":"Step 1."`, `"partial_json":"{\"x\":1}"`, `"stop_reason":"tool_use"`, "event: message_stop"} {
		if !strings.Contains(body, want) {
			t.Errorf("no %s in %s", want, body)
		}
	}
}

func TestMessagesAnswersSideRequests(t *testing.T) {
	m := StartMessages(t)
	title := map[string]any{"output_config": map[string]any{"schema": map[string]any{"title": "string"}},
		"messages": []any{map[string]string{"role": "user", "content": "x [[title Fix the parser]]"}}}
	if _, body := post(t, m, title); !strings.Contains(said(t, body), `"title":"Fix the parser"`) {
		t.Errorf("title: %s", body)
	}
	for tail, want := range map[string]string{"All done.": `"state":"done"`, "Which one?": `"state":"blocked"`} {
		_, body := ask(t, m, false, "user: Current state: working\nAssistant message tail (cut)\n"+tail)
		if !strings.Contains(said(t, body), want) {
			t.Errorf("%s: %s", tail, body)
		}
	}
}

func TestMessagesFaults(t *testing.T) {
	m := StartMessages(t)
	m.Fail(Fault{Match: "never said", Status: 500})
	m.Fail(Fault{Count: 2, Status: 429, Header: http.Header{"X-Should-Retry": {"false"}}})
	for i, want := range []int{429, 429, 200} {
		if code, body := ask(t, m, false, "user: x"); code != want {
			t.Errorf("request %d: %d %s", i, code, body)
		}
	}
	m.Fail(Fault{Drop: true})
	if res, err := http.Post(m.URL+"/v1/messages", "application/json", strings.NewReader("{}")); err == nil {
		t.Errorf("a cut connection answered %s", res.Status)
	}
	m.Heal()
	m.Fail(Fault{Stall: true})
	c := http.Client{Timeout: 50 * time.Millisecond}
	var timeout interface{ Timeout() bool }
	if _, err := c.Post(m.URL+"/v1/messages", "application/json", strings.NewReader("{}")); !errors.As(err, &timeout) || !timeout.Timeout() {
		t.Errorf("a stall: %v", err)
	}
	m.Heal()
	if code, _ := ask(t, m, false, "user: x"); code != 200 {
		t.Errorf("after Heal: %d", code)
	}
	var last Request
	for _, r := range m.Requests() {
		last = r
	}
	if last.Prompt != "x" || last.Status != 200 || last.Model != "claude-test" {
		t.Errorf("the last request: %+v", last)
	}
}

func TestMessagesElsewhere(t *testing.T) {
	m := StartMessages(t)
	for path, want := range map[string]int{"/v1/models": 200, "/v1/messages/count_tokens": 200, "/x": 404} {
		res, err := http.Get(m.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != want {
			t.Errorf("%s: %d", path, res.StatusCode)
		}
	}
}
