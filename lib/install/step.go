package install

import "fmt"

// Outcome is what became of a step.
type Outcome string

const (
	// Changed is a step that changed something.
	Changed Outcome = "changed"
	// Unchanged is a step that found everything as it should be.
	Unchanged Outcome = "unchanged"
	// Planned is what a run without --dry-run would do.
	Planned Outcome = "planned"
	// Noted changes nothing, and is something that a person should know.
	Noted Outcome = "note"
	// Failed is the step at which a target ended.
	Failed Outcome = "failed"
)

// Step is one thing that was done, or would be.
type Step struct {
	Target  string  `json:"target"`
	Step    string  `json:"step"`
	OK      bool    `json:"ok"`
	Outcome Outcome `json:"outcome"`
	Detail  string  `json:"detail,omitempty"`
	Path    string  `json:"path,omitempty"`
	Command string  `json:"command,omitempty"` // as a line for sh
	Diff    string  `json:"diff,omitempty"`    // unified
	Lines   string  `json:"lines,omitempty"`   // to be put somewhere by a person
}

func (r *Run) tell(s Step) {
	s.Target, s.OK = r.Target, s.Outcome != Failed
	if r.Report != nil {
		r.Report(s)
	}
}

// Changed tells of a change that was made by other means than the Run's own.
func (r *Run) Changed(step, format string, args ...any) {
	r.tell(Step{Step: step, Outcome: Changed, Detail: fmt.Sprintf(format, args...)})
}

// Unchanged tells that there was nothing to do.
func (r *Run) Unchanged(step, format string, args ...any) {
	r.tell(Step{Step: step, Outcome: Unchanged, Detail: fmt.Sprintf(format, args...)})
}

// Planned tells what a dry run leaves undone.
func (r *Run) Planned(step, format string, args ...any) {
	r.tell(Step{Step: step, Outcome: Planned, Detail: fmt.Sprintf(format, args...)})
}

// Note tells something that a person should know.
func (r *Run) Note(step, format string, args ...any) {
	r.tell(Step{Step: step, Outcome: Noted, Detail: fmt.Sprintf(format, args...)})
}

func (r *Run) failed(err error) {
	r.tell(Step{Step: "failed", Outcome: Failed, Detail: err.Error()})
}
