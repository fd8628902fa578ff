package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Background sessions, as far as it takes to list, stop and resume them: the
// real one's words and files (captured with 2.1.332). A resumed one answers at
// once and is done. FAKECLAUDE_BG lets it go otherwise:
//
//	refuse   it is told of the 5-hour limit anew
//	fail     the resume fails
//	old      it is an older version, in which it goes on under another id

type stateFile struct {
	dir  string
	data map[string]any
}

func homeDir() string {
	if d := os.Getenv("CLAUDE_CONFIG_DIR"); d != "" {
		return d
	}
	return filepath.Join(os.Getenv("HOME"), ".claude")
}

func (s stateFile) str(key string) string {
	v, _ := s.data[key].(string)
	return v
}

func (s stateFile) write() error {
	s.data["updatedAt"] = time.Now().UTC().Format("2006-01-02T15:04:05.000Z")
	b, err := json.MarshalIndent(s.data, "", "  ")
	if err != nil {
		return err
	}
	path := filepath.Join(s.dir, "state.json")
	if err := os.WriteFile(path+".tmp", b, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".tmp", path)
}

func readJobs() ([]stateFile, error) {
	root := filepath.Join(homeDir(), "jobs")
	dirs, err := os.ReadDir(root)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var list []stateFile
	for _, d := range dirs {
		s := stateFile{dir: filepath.Join(root, d.Name())}
		b, err := os.ReadFile(filepath.Join(s.dir, "state.json"))
		if err == nil && json.Unmarshal(b, &s.data) == nil {
			list = append(list, s)
		}
	}
	return list, nil
}

// said is an error in the words of the real one.
type said string

func (s said) Error() string { return string(s) }

// listAgents is `claude agents --json [--all]`.
func listAgents(args []string) error {
	if !strings.Contains(strings.Join(args, " "), "--json") {
		return errors.New("the stand-in has no screen of agents")
	}
	all := strings.Contains(strings.Join(args, " "), "--all")
	jobs, err := readJobs()
	if err != nil {
		return err
	}
	list := []map[string]any{}
	for _, s := range jobs {
		if !all && s.str("state") != "blocked" {
			continue
		}
		list = append(list, map[string]any{
			"id": filepath.Base(s.dir), "cwd": s.str("cwd"), "kind": "background", "startedAt": 1796073195355,
			"sessionId": s.str("sessionId"), "name": s.str("name"), "state": s.str("state"),
		})
	}
	enc := json.NewEncoder(os.Stdout)
	enc.SetIndent("", "  ")
	return enc.Encode(list)
}

// stopJob is `claude stop ID`.
func stopJob(args []string) error {
	jobs, err := readJobs()
	if err != nil {
		return err
	}
	for _, s := range jobs {
		if len(args) == 1 && filepath.Base(s.dir) == args[0] {
			s.data["state"], s.data["detail"], s.data["tempo"] = "stopped", "stopped", "idle"
			delete(s.data, "needs")
			if err := s.write(); err != nil {
				return err
			}
			fmt.Println("stopped " + args[0])
			return nil
		}
	}
	return said("No session matching '" + strings.Join(args, " ") + "'. Run 'claude agents' to list running sessions.")
}

// wake is `claude --bg --resume ID PROMPT`.
func wake(o options) error {
	if os.Getenv("FAKECLAUDE_BG") == "fail" {
		return said("Workspace not trusted. Run `claude` in this directory once and accept the trust prompt, then retry.")
	}
	jobs, err := readJobs()
	if err != nil {
		return err
	}
	for _, s := range jobs {
		if s.str("sessionId") != o.resume {
			continue
		}
		short := filepath.Base(s.dir)
		if os.Getenv("FAKECLAUDE_BG") == "old" {
			return s.another()
		}
		if err := s.goOn(o); err != nil {
			return err
		}
		fmt.Printf("note: woke session %s with its saved options (--name).\nbackgrounded · %s\n  claude agents             list sessions\n", short, short)
		return nil
	}
	return errNotFound(o.resume)
}

// another goes on under another id, and leaves the job as it is.
func (s stateFile) another() error {
	id := newID()
	n := stateFile{dir: filepath.Join(filepath.Dir(s.dir), id[:8]), data: map[string]any{"state": "working", "sessionId": id, "cwd": s.str("cwd"), "name": s.str("name")}}
	if err := os.Mkdir(n.dir, 0o700); err != nil {
		return err
	}
	fmt.Printf("backgrounded · %s\n", id[:8])
	return n.write()
}

// goOn lets a session take its turn.
func (s stateFile) goOn(o options) error {
	now := time.Now().UTC().Format("2006-01-02T15:04:05.000Z")
	answer := map[string]any{"type": "assistant", "timestamp": now, "message": map[string]any{"role": "assistant", "model": "claude", "content": []any{map[string]any{"type": "text", "text": "Echo: " + o.prompt}}}}
	s.data["state"], s.data["detail"], s.data["tempo"] = "done", "Echo: "+o.prompt, "idle"
	if os.Getenv("FAKECLAUDE_BG") == "refuse" {
		const text = "You've hit your 5-hour limit"
		resets := time.Now().Add(3 * time.Hour).Unix()
		answer["message"] = map[string]any{"role": "assistant", "model": "<synthetic>", "content": []any{map[string]any{"type": "text", "text": text}}}
		answer["isApiErrorMessage"], answer["error"], answer["apiErrorStatus"], answer["apiError"] = true, "rate_limit", 429, "usage_limit_reached"
		answer["quotaLimits"] = map[string]any{"status": "rejected", "resetsAt": resets, "rateLimitType": "five_hour"}
		s.data["state"], s.data["detail"], s.data["needs"] = "blocked", text, "rate limited — wait and retry · "+text
	}
	if path := s.str("linkScanPath"); path != "" {
		prompt := map[string]any{"type": "user", "timestamp": now, "message": map[string]any{"role": "user", "content": o.prompt}}
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		if err := errors.Join(enc.Encode(prompt), enc.Encode(answer)); err != nil {
			return err
		}
		f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		_, err = f.Write(b.Bytes())
		if err := errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
	return s.write()
}
