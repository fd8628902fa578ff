package main

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
)

// transcript writes lines as Claude Code 2.1.332 does, in the mixture of a
// session that reads and edits code: most bytes are results of tools, which
// stand there twice, attachments, and records of API requests.
type transcript struct {
	w     *bufio.Writer
	r     *rand.Rand
	texts []string // code as JSON strings, of growing length
	image string
	n     int // lines so far, for ids
}

// writeTranscript writes a transcript of at least size bytes.
func writeTranscript(path string, size int64) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	t := &transcript{w: bufio.NewWriterSize(f, 1<<20), r: rand.New(rand.NewPCG(1, 2))}
	for i := range 64 {
		t.texts = append(t.texts, quote(code(t.r, 200<<(i/9))))
	}
	image := make([]byte, 300<<10)
	for i := range image {
		image[i] = byte(t.r.Uint32())
	}
	t.image = base64.StdEncoding.EncodeToString(image)
	for turn := 0; ; turn++ {
		t.turn(turn)
		if err := t.w.Flush(); err != nil {
			return err
		}
		if st, err := f.Stat(); err != nil || st.Size() >= size {
			return err
		}
	}
}

func (t *transcript) turn(turn int) {
	if turn%20 == 0 {
		t.context()
	}
	t.meta(`{"type":"file-history-snapshot","messageId":"%s","snapshot":{"messageId":"%s","trackedFileBackups":{}},"isSnapshotUpdate":false}`, t.id(), t.id())
	t.message(`"promptId":"%s","type":"user","message":{"role":"user","content":%s}`, `"permissionMode":"auto","origin":{"kind":"human"},"promptSource":"typed","turnOrigin":"human"`, t.id(), t.text(12))
	for range 4 + t.r.IntN(8) {
		t.call()
	}
	t.message(`"type":"system","subtype":"stop_hook_summary","hookCount":1,"hookInfos":[{"command":"shq hook stop"}]`, `"level":"suggestion"`)
	t.message(`"type":"system","subtype":"turn_duration","durationMs":60123`, `"isMeta":false`)
	t.meta(`{"type":"last-prompt","lastPrompt":%s,"leafUuid":"%s","sessionId":"0b5c1f9e-2d2c-4a57-9a3e-000000000001"}`, t.texts[turn%9], t.id())
	t.meta(`{"type":"custom-title","customTitle":"Fix the parser","sessionId":"0b5c1f9e-2d2c-4a57-9a3e-000000000001"}`)
}

// context is what the model is given at the start and after a compact.
func (t *transcript) context() {
	for _, kind := range []string{"prompt_snapshot", "skill_listing", "agent_listing_delta"} {
		t.message(`"attachment":{"type":"%s","systemPrompt":[%s,%s],"tools":[{"name":"Bash","input_schema":{"type":"object"}}]},"type":"attachment"`, `"rendered":[]`, kind, t.text(64), t.text(40))
	}
	t.meta(`{"type":"api-request-shape","sessionId":"0b5c1f9e-2d2c-4a57-9a3e-000000000001","shapeHash":"436052ff","shape":{"system":[%s],"tools":[{"type":"custom"},%s]}}`, t.text(64), t.text(64))
}

// call is one round with the API: what it says, a tool, and the tool's result.
func (t *transcript) call() {
	msg := t.id()
	const reply = `"message":{"id":"msg_%s","type":"message","role":"assistant","model":"claude-opus-5-5","content":[%s],"stop_reason":"tool_use","stop_sequence":null,` +
		`"usage":{"input_tokens":7,"cache_creation_input_tokens":1200,"cache_read_input_tokens":64000,"output_tokens":321,"output_tokens_details":{"thinking_tokens":0},` +
		`"server_tool_use":{"web_search_requests":0,"web_fetch_requests":0},"service_tier":"standard","cache_creation":{"ephemeral_1h_input_tokens":0,"ephemeral_5m_input_tokens":1200},"speed":"standard"}},` +
		`"requestId":"req_011","type":"assistant"`
	t.message(reply, `"effort":"medium"`, msg, `{"type":"text","text":`+t.text(20)+`}`)
	t.message(reply, `"effort":"medium"`, msg, `{"type":"tool_use","id":"toolu_01","name":"Write","input":{"file_path":"/home/dev/Code/app/main.go","content":`+t.text(40)+`}}`)
	result := t.text(64)
	if t.r.IntN(300) == 0 {
		result = `[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + t.image + `"}}]`
	}
	t.message(`"promptId":"%s","type":"user","message":{"role":"user","content":[{"tool_use_id":"toolu_01","type":"tool_result","content":%s}]}`,
		`"toolUseResult":{"type":"text","file":{"filePath":"/home/dev/Code/app/main.go","content":`+result+`,"numLines":400,"startLine":1,"totalLines":400}},"sourceToolAssistantUUID":"`+t.id()+`"`, t.id(), result)
	t.message(`"attachment":{"type":"hook_success","hookEvent":"PostToolUse","stdout":%s},"type":"attachment"`, `"rendered":[]`, t.text(45))
	for range 2 {
		t.meta(`{"type":"api-request-blob","sessionId":"0b5c1f9e-2d2c-4a57-9a3e-000000000001","hash":"92dd1183","message":{"role":"user","content":[{"type":"text","text":%s}]}}`, t.text(64))
	}
	t.meta(`{"type":"api-request","sessionId":"0b5c1f9e-2d2c-4a57-9a3e-000000000001","id":"%s","version":"2.1.332","querySource":"repl_main_thread","messages":["92dd1183","4d6f09ab"],"params":%s}`, t.id(), t.text(18))
}

// text is one of the texts, of the first n.
func (t *transcript) text(n int) string { return t.texts[t.r.IntN(n)] }

func (t *transcript) id() string {
	t.n++
	return fmt.Sprintf("3f4d6c27-4db2-4808-b94c-%012d", t.n)
}

func (t *transcript) meta(format string, args ...any) {
	fmt.Fprintf(t.w, format, args...)
	t.w.WriteByte('\n') // Flush returns the first error of these
}

// message writes a line of the tree; what comes before and behind the fields
// that all of them have.
func (t *transcript) message(format, behind string, args ...any) {
	fmt.Fprintf(t.w, `{"parentUuid":"%s","isSidechain":false,`, t.id())
	fmt.Fprintf(t.w, format, args...)
	fmt.Fprintf(t.w, `,"uuid":"%s","timestamp":"2026-11-30T20:34:43.672Z",`, t.id())
	t.w.WriteString(behind)
	t.w.WriteString(`,"userType":"external","entrypoint":"cli","cwd":"/home/dev/Code/app","sessionId":"0b5c1f9e-2d2c-4a57-9a3e-000000000001","version":"2.1.332","gitBranch":"main"}` + "\n")
}

// code is n bytes or more of something like a program, with quotes, tabs and a
// few characters that are not ASCII.
func code(r *rand.Rand, n int) string {
	lines := []string{
		"func (s *scanner) value(depth int) (token, error) {\n", "\tif err != nil {\n", "\t\treturn nil, fmt.Errorf(\"read %q: %w\", path, err)\n", "\t}\n", "}\n", "\n",
		"\tfor i, name := range []string{\"one\", \"two\", \"three\"} {\n", "// value prüft, was als Nächstes kommt – und sonst nichts.\n", "\tlog.Printf(\"%s\\t%d\\n\", name, i)\n",
		"<div class=\"row\" id=\"main\">{{ .Title }}</div>\n", "ok  \tsessionhub/lib/text\t0.012s\n", "{\"type\":\"user\",\"n\":[1,2,3]}\n",
	}
	var b strings.Builder
	for b.Len() < n {
		b.WriteString(lines[r.IntN(len(lines))])
	}
	return b.String()
}

// quote is s as JSON, with < and > as they are.
func quote(s string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		panic(err) // a string always encodes
	}
	return strings.TrimSuffix(b.String(), "\n")
}
