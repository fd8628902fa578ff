package ask

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"sessionhub/lib/claude/transcript"
	"sessionhub/lib/record"
	"sessionhub/lib/text"
)

// Input is what Claude Code tells a PermissionRequest hook. Tool input and
// suggestions are the bytes as received.
type Input struct {
	SessionID      string            `json:"session_id"`
	TranscriptPath string            `json:"transcript_path"`
	AgentID        string            `json:"agent_id"` // of a subagent
	ToolName       string            `json:"tool_name"`
	ToolInput      json.RawMessage   `json:"tool_input"`
	Suggestions    []json.RawMessage `json:"permission_suggestions"`
}

// transcript is where the tool use stands: a subagent has a file of its own.
func (in *Input) transcript() string {
	if in.AgentID == "" || record.CheckID("agent_id", in.AgentID) != nil {
		return in.TranscriptPath
	}
	own := filepath.Join(strings.TrimSuffix(in.TranscriptPath, ".jsonl"), "subagents", "agent-"+in.AgentID+".jsonl")
	if _, err := os.Stat(own); err != nil {
		return in.TranscriptPath
	}
	return own
}

// needsUse reports whether a part of the ask stands in the transcript alone: the
// text of a plan without a file.
func (in *Input) needsUse() bool {
	plan, _ := planOf(in.ToolInput)
	return in.ToolName == toolPlan && plan == ""
}

// fill takes over what was given. Use is the tool use in the transcript.
func (f *File) fill(in *Input, use transcript.ToolUse) {
	f.Tool, f.Input, f.Suggestions, f.Agent = in.ToolName, in.ToolInput, in.Suggestions, text.Line(in.AgentID)
	f.ToolUse = use.ID
	switch f.Tool {
	case toolPlan:
		f.Plan, f.PlanFile = planOf(in.ToolInput)
		if f.Plan == "" { // without a file the plan stands in the transcript alone
			f.Plan, _ = planOf(use.Input)
		}
	case toolQuestion:
		f.Questions = questionsOf(in.ToolInput)
	}
	f.InputSHA256 = Sum(in.ToolInput, f.Plan)
}

func planOf(input json.RawMessage) (plan, file string) {
	var v struct {
		Plan string `json:"plan"`
		File string `json:"planFilePath"`
	}
	if json.Unmarshal(input, &v) != nil {
		return "", ""
	}
	return v.Plan, v.File
}

func questionsOf(input json.RawMessage) []record.Question {
	var v struct {
		Questions []struct {
			record.Question
			MultiSelect bool `json:"multiSelect"`
		} `json:"questions"`
	}
	if json.Unmarshal(input, &v) != nil {
		return nil
	}
	list := make([]record.Question, len(v.Questions))
	for i, q := range v.Questions {
		list[i] = q.Question
		list[i].Multi = q.MultiSelect
		if list[i].Options == nil {
			list[i].Options = []record.Option{}
		}
	}
	return list
}
