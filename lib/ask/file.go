package ask

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"sessionhub/lib/claude/entry"
	"sessionhub/lib/record"
	"sessionhub/lib/state"
)

// File is asks/<ask>.json: an ask that a hook waits with. It holds all of what
// Claude Code gave, which stays on this machine.
type File struct {
	V           int               `json:"v"`
	Ask         string            `json:"ask"`
	Session     string            `json:"session"`
	Agent       string            `json:"agent,omitempty"` // the subagent that asks
	Tool        string            `json:"tool"`
	Input       json.RawMessage   `json:"input"`
	InputSHA256 string            `json:"input_sha256"`
	Plan        string            `json:"plan,omitempty"`
	PlanFile    string            `json:"plan_file,omitempty"`
	Questions   []record.Question `json:"questions,omitempty"`
	Suggestions []json.RawMessage `json:"suggestions,omitempty"`
	Since       record.Time       `json:"since"`
	Transcript  string            `json:"transcript"`
	ToolUse     string            `json:"tool_use,omitempty"` // "" when it was not found
	Version     string            `json:"version,omitempty"`  // of Claude Code
	PID         int               `json:"pid"`                // of the hook
	Start       string            `json:"start,omitempty"`    // when that process began, as the system tells
}

// Names of the folder and of what is in it.
const (
	folder    = "asks"
	fileExt   = ".json"
	answerExt = ".answer.json"
	tempName  = ".answer-*"
)

// Folder is the path of the asks of a state directory.
func Folder(dir state.Dir) string { return filepath.Join(string(dir), folder) }

func filePath(dir state.Dir, ask string) string { return filepath.Join(Folder(dir), ask+fileExt) }

func answerPath(dir state.Dir, ask string) string { return filepath.Join(Folder(dir), ask+answerExt) }

// Sum is the hash of an input as Claude Code gave it, for plans followed by
// the plan's text.
func Sum(input []byte, plan string) string {
	h := sha256.New()
	h.Write(input)
	h.Write([]byte(plan))
	return hex.EncodeToString(h.Sum(nil))
}

// write puts the ask into the folder: whole, or not at all.
func (f *File) write(dir state.Dir) error {
	path, err := dir.Sub(folder)
	if err != nil {
		return err
	}
	if err := os.Chmod(path, 0o700); err != nil { // it may be older than its privacy
		return fmt.Errorf("asks: %w", err)
	}
	return state.ReplaceJSON(filePath(dir, f.Ask), f)
}

// ErrNone says that nobody waits with such an ask.
var ErrNone = errors.New("nobody waits for an answer to it any more")

// Load reads an ask.
func Load(dir state.Dir, ask string) (*File, error) {
	if err := record.CheckID("ask", ask); err != nil {
		return nil, err
	}
	b, err := os.ReadFile(filePath(dir, ask))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNone
	}
	if err != nil {
		return nil, fmt.Errorf("ask: %w", err)
	}
	var f File
	if err := json.Unmarshal(b, &f); err != nil {
		return nil, fmt.Errorf("ask %s: %w", ask, err)
	}
	if f.Ask != ask {
		return nil, fmt.Errorf("ask %s: its file is another's", ask)
	}
	return &f, nil
}

// List reads the asks that lie in a state directory. A file that is none is
// passed over.
func List(dir state.Dir) ([]*File, error) {
	entries, err := os.ReadDir(Folder(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("asks: %w", err)
	}
	var list []*File
	for _, e := range entries {
		id, ok := strings.CutSuffix(e.Name(), fileExt)
		if !ok || strings.HasSuffix(e.Name(), answerExt) {
			continue
		}
		if f, err := Load(dir, id); err == nil {
			list = append(list, f)
		}
	}
	return list, nil
}

// Remove takes an ask and its answer away.
func Remove(dir state.Dir, ask string) error {
	var errs []error
	for _, path := range []string{filePath(dir, ask), answerPath(dir, ask)} {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, fmt.Errorf("asks: %w", err))
		}
	}
	return errors.Join(errs...)
}

// Sweep removes answers whose ask is gone, which a crash in between leaves.
func Sweep(dir state.Dir) error {
	entries, err := os.ReadDir(Folder(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("asks: %w", err)
	}
	for _, e := range entries {
		id, ok := strings.CutSuffix(e.Name(), answerExt)
		if !ok {
			continue
		}
		if _, err := os.Lstat(filePath(dir, id)); errors.Is(err, fs.ErrNotExist) {
			if err := os.Remove(answerPath(dir, id)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("asks: %w", err)
			}
		}
	}
	return nil
}

// Alive reports whether the hook that waits with the ask still runs.
func (f *File) Alive() bool { return entry.Runs(f.PID, f.Start) }

// Given is asks/<ask>.answer.json: an answer from afar.
type Given struct {
	V       int    `json:"v"`
	Request string `json:"request"`
	record.Answer
}

// ErrAnswered says that an answer lies there already.
var ErrAnswered = errors.New("it was answered already")

// maxGiven bounds an answer's file in bytes.
const maxGiven = 2*record.MaxAnswer + 64<<10

// Give leaves an answer for the hook that waits: whole, for this user alone, and
// only if there is none yet.
func Give(dir state.Dir, request string, a record.Answer) error {
	b, err := json.Marshal(Given{V: record.Version, Request: request, Answer: a})
	if err != nil {
		return fmt.Errorf("answer: %w", err)
	}
	tmp, err := os.CreateTemp(Folder(dir), tempName) // 0600
	if err != nil {
		return fmt.Errorf("answer: %w", err)
	}
	defer os.Remove(tmp.Name()) // its other name stays
	_, err = tmp.Write(b)
	if err == nil {
		err = tmp.Chmod(0o600)
	}
	if err == nil {
		err = tmp.Sync()
	}
	if cerr := tmp.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Link(tmp.Name(), answerPath(dir, a.Ask))
	}
	switch {
	case errors.Is(err, fs.ErrExist):
		return ErrAnswered
	case err != nil:
		return fmt.Errorf("answer: %w", err)
	}
	return nil
}

// TakeBack removes the answer of a request that nobody took.
func TakeBack(dir state.Dir, request, ask string) {
	if g, err := readGiven(dir, ask); err == nil && g.Request == request {
		_ = os.Remove(answerPath(dir, ask)) // the next sweep does it
	}
}

// readGiven reads an answer. fs.ErrNotExist: there is none. A file that is not
// this user's alone is no answer: another could have written it.
func readGiven(dir state.Dir, ask string) (g Given, err error) {
	f, err := os.OpenFile(answerPath(dir, ask), os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return g, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return g, err
	}
	sys, ok := st.Sys().(*syscall.Stat_t)
	switch {
	case !st.Mode().IsRegular():
		return g, errors.New("the answer is no regular file")
	case !ok || int(sys.Uid) != os.Geteuid():
		return g, errors.New("the answer's file is another user's")
	case st.Mode().Perm() != 0o600 || st.Mode()&(fs.ModeSetuid|fs.ModeSetgid|fs.ModeSticky) != 0:
		return g, fmt.Errorf("the answer's file has the mode %s, not 0600", st.Mode())
	case st.Size() > maxGiven:
		return g, errors.New("the answer is too long")
	}
	b, err := io.ReadAll(io.LimitReader(f, maxGiven))
	if err != nil {
		return g, err
	}
	if err := json.Unmarshal(b, &g); err != nil {
		return g, fmt.Errorf("the answer makes no sense: %w", record.Explain(err))
	}
	if g.V != record.Version || g.Ask != ask {
		return g, errors.New("the answer is to another ask")
	}
	return g, nil
}
