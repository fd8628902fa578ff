package hook

import (
	"encoding/json"
	"fmt"
	"os"

	"sessionhub/lib/detach"
	"sessionhub/lib/record"
	"sessionhub/lib/runlog"
	"sessionhub/lib/state"
)

// printRules prints the standing rules into the prompt, from the copy that the
// watcher keeps. As JSON they arrive as they are: plain text that begins with a
// brace would be taken for an answer.
func (h *ClaudeHook) printRules(dir state.Dir, in Input) error {
	var rules record.Instructions
	if err := state.ReadJSON(dir.Instructions(), &rules); err != nil {
		return err
	}
	if rules.Text == "" {
		return nil
	}
	event := in.Event
	if event == "" {
		event = "UserPromptSubmit"
	}
	var answer struct {
		Output struct {
			Event   string `json:"hookEventName"`
			Context string `json:"additionalContext"`
		} `json:"hookSpecificOutput"`
	}
	answer.Output.Event, answer.Output.Context = event, rules.Text
	b, err := json.Marshal(answer)
	if err != nil {
		return fmt.Errorf("print the rules: %w", err)
	}
	if _, err := h.Stdout.Write(append(b, '\n')); err != nil {
		return fmt.Errorf("print the rules: %w", err)
	}
	return nil
}

// refresh lets the watcher's program read the rules anew in the background: a
// hook waits for no network.
func (h *ClaudeHook) refresh(dir state.Dir) error {
	if err := dir.Ensure(); err != nil {
		return err
	}
	if err := runlog.Truncate(dir.WatcherLog()); err != nil {
		return err
	}
	_, err := detach.Start(detach.Command{
		Program: h.Watcher, Args: []string{"instructions", "--quiet"}, Env: Environ(os.Environ()), Dir: "/", Log: dir.WatcherLog(),
	})
	return err
}
