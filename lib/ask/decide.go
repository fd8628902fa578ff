package ask

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"sessionhub/lib/config"
	"sessionhub/lib/record"
	"sessionhub/lib/text"
)

// Tools that ask their person. An allow counts for them only with an input
// (seen with 2.1.332).
const (
	toolQuestion = "AskUserQuestion"
	toolPlan     = "ExitPlanMode"
)

// oldest is the oldest version of Claude Code whose hooks were seen to answer
// beside the dialog.
const oldest = "2.1.220"

// Barred says why an ask can't be answered from afar, "" when it can. It is
// asked when the ask comes, and again right before its answer counts.
func (f *File) Barred(c config.Config) string {
	if !c.RemoteAnswer {
		return "remote answers are off on that machine (remote_answer)"
	}
	if !versionAtLeast(f.Version, oldest) {
		return "its Claude Code is older than " + oldest
	}
	if rule := Never(c.RemoteAnswerNever).Match(f.Tool, f.Input, resolved); rule != "" {
		return "only the screen may answer it: remote_answer_never has " + text.Cut(text.Line(rule), 60)
	}
	return ""
}

// resolved is the path behind the links of a path, of which the end need not
// exist: a tool makes the folders of a file, and a link may lead to what is not
// there yet. "" when that can't be told.
func resolved(path string) string {
	const most = 40 // links, as the kernel allows
	for range most {
		if real, err := filepath.EvalSymlinks(path); !errors.Is(err, fs.ErrNotExist) {
			return real // "" with an error
		}
		there, rest := path, "" // its first part that does exist, or is a link
		for {
			if _, err := os.Lstat(there); err == nil {
				break
			} else if !errors.Is(err, fs.ErrNotExist) || there == filepath.Dir(there) {
				return ""
			}
			there, rest = filepath.Dir(there), filepath.Join(filepath.Base(there), rest)
		}
		to, err := os.Readlink(there)
		if err != nil || exists(there) {
			real, err := filepath.EvalSymlinks(there)
			if err != nil {
				return ""
			}
			return filepath.Join(real, rest)
		}
		if !filepath.IsAbs(to) {
			dir, err := filepath.EvalSymlinks(filepath.Dir(there))
			if err != nil {
				return ""
			}
			to = filepath.Join(dir, to)
		}
		path = filepath.Join(to, rest)
	}
	return ""
}

func exists(path string) bool { _, err := os.Stat(path); return err == nil }

// versionAtLeast compares versions such as "2.1.332".
func versionAtLeast(v, least string) bool {
	have, want := strings.SplitN(v, ".", 3), strings.Split(least, ".")
	if len(have) != len(want) {
		return false
	}
	for i := range want {
		digits, _, _ := strings.Cut(have[i], "-")
		a, err := strconv.Atoi(digits)
		b, berr := strconv.Atoi(want[i])
		if err != nil || berr != nil {
			return false
		}
		if a != b {
			return a > b
		}
	}
	return true
}

// Check says why an answer does not count for this ask, nil when it does.
func (f *File) Check(a record.Answer, c config.Config) error {
	if err := a.Validate(); err != nil {
		return err
	}
	if a.Ask != f.Ask {
		return errors.New("the answer is to another ask")
	}
	if why := f.Barred(c); why != "" {
		return errors.New(why)
	}
	body := f.body(record.AskBody{})
	if err := a.Fits(&body); err != nil {
		return err
	}
	return f.planStands()
}

// planStands says that the plan is no longer the one that was shown: Claude Code
// goes by its file.
func (f *File) planStands() error {
	if f.Tool != toolPlan || f.PlanFile == "" {
		return nil
	}
	b, err := os.ReadFile(f.PlanFile)
	if err != nil || string(b) != f.Plan {
		return errors.New("the plan was changed after it was asked about: look at it at the screen")
	}
	return nil
}

// decision is what Claude Code reads from the hook.
type decision struct {
	Output struct {
		Event    string `json:"hookEventName"`
		Decision struct {
			Behavior record.Behavior   `json:"behavior"`
			Message  string            `json:"message,omitempty"`
			Input    json.RawMessage   `json:"updatedInput,omitempty"`
			Rules    []json.RawMessage `json:"updatedPermissions,omitempty"`
		} `json:"decision"`
	} `json:"hookSpecificOutput"`
}

// noReason is what the model is told of a denial without a message.
const noReason = "The user denied this from afar, and gave no reason."

// Decision is an answer in the words of Claude Code.
func (f *File) Decision(a record.Answer) ([]byte, error) {
	var d decision
	d.Output.Event = "PermissionRequest"
	out := &d.Output.Decision
	out.Behavior = a.Behavior
	if a.Behavior == record.Deny {
		if out.Message = a.Message; out.Message == "" {
			out.Message = noReason
		}
		return json.Marshal(d)
	}
	var err error
	switch f.Tool {
	case toolPlan:
		out.Input = json.RawMessage("{}")
	case toolQuestion:
		if out.Input, err = f.answered(a.Answers); err != nil {
			return nil, err
		}
	}
	if a.Always != nil {
		if *a.Always >= len(f.Suggestions) {
			return nil, fmt.Errorf(`"always" is %d, and there are %d suggestions`, *a.Always, len(f.Suggestions))
		}
		out.Rules = f.Suggestions[*a.Always : *a.Always+1]
	}
	return json.Marshal(d)
}

// answered is a question's input with its answers.
func (f *File) answered(answers map[string]record.Texts) (json.RawMessage, error) {
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(f.Input, &fields); err != nil {
		return nil, fmt.Errorf("the question's input makes no sense: %w", err)
	}
	words := make(map[string]string, len(answers))
	for _, q := range f.Questions {
		words[q.Question] = joined(q, answers[q.Question])
	}
	b, err := json.Marshal(words)
	if err != nil {
		return nil, err
	}
	fields["answers"] = b
	return json.Marshal(fields)
}

// joined is one answer as Claude Code's own dialog gives it: several labels are
// separated by commas, those that hold one, or a quote, quoted as in JSON
// (seen with 2.1.332).
func joined(q record.Question, texts record.Texts) string {
	if !q.Multi {
		return strings.Join(texts, ", ")
	}
	words := make([]string, len(texts))
	for i, t := range texts {
		if words[i] = t; strings.ContainsAny(t, `,"`) {
			words[i] = quoted(t)
		}
	}
	return strings.Join(words, ", ")
}

// quoted is a text as a JSON string without Go's extra escapes.
func quoted(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(s) != nil { // a string always can be
		return s
	}
	return strings.TrimSuffix(b.String(), "\n")
}
