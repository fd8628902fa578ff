package install

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/BurntSushi/toml"
)

// Answers are the hooks, and whether what sessions ask may be answered from
// afar: the line remote_answer in config.toml. Everything else in that file
// stays to the byte.
type Answers struct {
	Target        // the hooks
	Path   string // of config.toml
	Allow  bool   // write remote_answer = true
}

// Comments on lines that were written here: what is taken away again is known
// by them.
const (
	answersKey     = "remote_answer"
	answersAdded   = " # by shinstall hooks --answers"
	answersChanged = " # by shinstall hooks --answers, was false"
)

// Install adds the hooks, and allows answers if that is wanted.
func (a *Answers) Install(ctx context.Context, r *Run) error {
	if err := a.Target.Install(ctx, r); err != nil || !a.Allow {
		return err
	}
	if err := a.write(r, allowAnswers); err != nil {
		return err
	}
	r.Note("answers", "who has a user token with the scope answer can now allow what sessions ask here, and so run commands as you, "+
		"also while nobody sits at the screen; the owner's token of shinstall hub has not that scope, shhub token add --user NAME --scope read,ask,answer makes one that has it; remote_answer_never keeps what you name at the screen; a program that runs as you can forge an answer (docs/answers.md)")
	return nil
}

// Remove takes the hooks away, and the permission that was written here.
func (a *Answers) Remove(ctx context.Context, r *Run) error {
	if err := a.Target.Remove(ctx, r); err != nil {
		return err
	}
	return a.write(r, forbidAnswers)
}

func (a *Answers) write(r *Run, change func(old []byte) []byte) error {
	path, err := Resolve(a.Path)
	if err != nil {
		return err
	}
	old, err := Read(path)
	if err != nil {
		return err
	}
	if err := validTOML(old); err != nil {
		return fmt.Errorf("%s: %w; mend it by hand first (nothing was changed there)", a.Path, err)
	}
	text := change(old)
	if err := validTOML(text); err != nil { // a text over several lines that looks like the setting
		return fmt.Errorf("%s: remote_answer can't be changed in it: do it by hand (nothing was changed there)", a.Path)
	}
	f := File{Path: path, Old: old, New: text, Mode: 0o600}
	if f.same() && !a.Allow {
		return nil // there is nothing of ours
	}
	if r.DryRun && !f.same() { // the file may hold a token, so no diff of it is shown
		detail := "the line " + answersKey + " would be written"
		switch {
		case len(f.New) == 0:
			detail = "it would be removed: it holds nothing but the line " + answersKey
		case !a.Allow:
			detail = "the line " + answersKey + " would be as it was"
		}
		r.tell(Step{Step: "answers", Outcome: Planned, Path: path, Detail: detail})
		return nil
	}
	return r.Write("answers", f)
}

func validTOML(text []byte) error {
	var any map[string]any
	_, err := toml.Decode(string(text), &any)
	return err
}

// allowAnswers sets remote_answer to true, in its line if there is one.
func allowAnswers(old []byte) []byte {
	lines := bytes.SplitAfter(old, []byte("\n"))
	for i, l := range lines {
		value, ok := answersValue(l)
		switch {
		case !ok:
			continue
		case value:
			return old
		}
		lines[i] = []byte(answersKey + " = true" + answersChanged + lineEnd(l))
		return bytes.Join(lines, nil)
	}
	at := len(lines) // before the first table, whose key it would be
	for i, l := range lines {
		if bytes.HasPrefix(bytes.TrimSpace(l), []byte("[")) {
			at = i
			break
		}
	}
	head, tail := bytes.Join(lines[:at], nil), bytes.Join(lines[at:], nil)
	if len(head) > 0 && !bytes.HasSuffix(head, []byte("\n")) {
		head = append(head, '\n')
	}
	return append(append(head, (answersKey+" = true"+answersAdded+"\n")...), tail...)
}

// forbidAnswers takes back what allowAnswers did. A line that somebody else
// wrote stays.
func forbidAnswers(old []byte) []byte {
	if old == nil {
		return nil
	}
	lines := bytes.SplitAfter(old, []byte("\n"))
	for i, l := range lines {
		if _, ok := answersValue(l); !ok {
			continue
		}
		switch s := strings.TrimRight(string(l), "\r\n"); {
		case strings.HasSuffix(s, answersChanged):
			lines[i] = []byte(answersKey + " = false" + lineEnd(l))
		case strings.HasSuffix(s, answersAdded):
			lines[i] = nil
		}
	}
	out := bytes.Join(lines, nil)
	if len(out) == 0 && len(old) > 0 {
		return nil // it held nothing else
	}
	return out
}

// answersValue reads a line "remote_answer = true".
func answersValue(line []byte) (value, ok bool) {
	key, rest, found := strings.Cut(string(line), "=")
	if !found || strings.Trim(strings.TrimSpace(key), `"'`) != answersKey {
		return false, false
	}
	word, _, _ := strings.Cut(rest, "#")
	switch strings.TrimSpace(word) {
	case "true":
		return true, true
	case "false":
		return false, true
	}
	return false, false
}

// lineEnd is how a line ends.
func lineEnd(line []byte) string {
	switch {
	case bytes.HasSuffix(line, []byte("\r\n")):
		return "\r\n"
	case bytes.HasSuffix(line, []byte("\n")):
		return "\n"
	}
	return ""
}
