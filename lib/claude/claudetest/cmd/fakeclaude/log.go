package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const model = "claude-opus-5-5"

// log is a session's transcript. The file is there from the first prompt on.
// What can't be written is lost, as with the real one.
type log struct {
	Session    string
	Entrypoint string
	title      string
	last       string // uuid of the last message
	prompt     string // id of the last prompt
}

type fields map[string]any

func cwd() string {
	dir, err := os.Getwd()
	if err != nil {
		return "/"
	}
	return dir
}

func (l *log) path() string {
	if path, ok := home().TranscriptNear(l.Session, cwd()); ok {
		return path
	}
	return filepath.Join(home().Project(cwd()), l.Session+".jsonl")
}

func (l *log) exists() bool {
	_, ok := home().Transcript(l.Session)
	return ok
}

// takeUp finds where a conversation that is resumed stands.
func (l *log) takeUp() {
	b, err := os.ReadFile(l.path())
	if err != nil {
		return
	}
	for line := range bytes.Lines(b) {
		var v struct{ UUID, CustomTitle string }
		if json.Unmarshal(line, &v) != nil {
			continue
		}
		if v.UUID != "" {
			l.last = v.UUID
		}
		if v.CustomTitle != "" {
			l.title = v.CustomTitle
		}
	}
}

func (l *log) write(lines ...fields) {
	path := l.path()
	if os.MkdirAll(filepath.Dir(path), 0o700) != nil {
		return
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	defer f.Close()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	for _, v := range lines {
		v["sessionId"] = l.Session
		if enc.Encode(v) != nil {
			return
		}
	}
	f.Write(b.Bytes())
}

// message writes a line of the conversation's tree.
func (l *log) message(kind string, v fields) {
	v["type"], v["uuid"], v["timestamp"] = kind, newID(), stamp()
	v["parentUuid"], v["isSidechain"], v["userType"] = nil, false, "external"
	if l.last != "" {
		v["parentUuid"] = l.last
	}
	v["cwd"], v["version"], v["entrypoint"], v["gitBranch"] = cwd(), version, l.Entrypoint, "HEAD"
	l.last, _ = v["uuid"].(string)
	l.write(v)
}

func stamp() string { return time.Now().UTC().Format("2006-01-02T15:04:05.000Z") }

// user writes a prompt; source is typed, sdk or system.
func (l *log) user(text, source string) {
	if !l.exists() {
		if l.title != "" {
			l.write(fields{"type": "custom-title", "customTitle": l.title}, fields{"type": "agent-name", "agentName": l.title})
		}
		l.write(fields{"type": "mode", "mode": "normal"})
	}
	l.prompt = newID()
	origin := "human"
	if source == "system" {
		origin = "task-notification"
	}
	l.message("user", fields{
		"promptId": l.prompt, "promptSource": source, "origin": fields{"kind": origin},
		"message": fields{"role": "user", "content": text},
	})
}

func textBlock(s string) fields { return fields{"type": "text", "text": s} }

func (l *log) assistant(stop string, blocks ...fields) {
	id := "msg_made_up_" + newID()[:8]
	for _, b := range blocks { // one line a block, as the real one does
		l.message("assistant", fields{"message": fields{
			"id": id, "type": "message", "role": "assistant", "model": model, "content": []fields{b}, "stop_reason": stop,
			"usage": fields{"input_tokens": 100, "output_tokens": 20, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0},
		}})
	}
}

func (l *log) results(list []*call) {
	for _, c := range list {
		v := fields{"promptId": l.prompt, "message": fields{"role": "user", "content": []fields{
			{"type": "tool_result", "tool_use_id": c.id, "content": c.result, "is_error": c.failed},
		}}}
		switch c.decided {
		case "":
		case "rejected":
			v["toolUseResult"] = "User rejected tool use"
		default:
			v["permissionDecision"] = fields{"source": c.decided}
		}
		l.message("user", v)
	}
}

func (l *log) system(subtype string, v fields) {
	v["subtype"], v["isMeta"] = subtype, false
	l.message("system", v)
}

// turnEnded writes what stands behind each turn.
func (l *log) turnEnded(prompt string, took time.Duration) {
	l.system("turn_duration", fields{"durationMs": took.Milliseconds()})
	l.write(fields{"type": "last-prompt", "lastPrompt": prompt, "leafUuid": l.last}, fields{"type": "mode", "mode": "normal"})
}

func (l *log) rename(title string) {
	l.title = title
	if l.exists() {
		l.write(fields{"type": "custom-title", "customTitle": title}, fields{"type": "agent-name", "agentName": title})
	}
}

// branch copies the conversation under a new id and goes on there.
func (l *log) branch() bool {
	b, err := os.ReadFile(l.path())
	if err != nil {
		return false
	}
	old := l.Session
	l.Session = newID()
	if os.WriteFile(l.path(), []byte(strings.ReplaceAll(string(b), old, l.Session)), 0o600) != nil {
		return false
	}
	l.rename(strings.TrimSpace(l.title + " (Branch)"))
	return true
}
