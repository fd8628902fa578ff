package ask

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime/debug"
	"time"

	"sessionhub/lib/claude/entry"
	"sessionhub/lib/claude/transcript"
	"sessionhub/lib/config"
	"sessionhub/lib/queue"
	"sessionhub/lib/record"
	"sessionhub/lib/state"
)

// Timing is how long a waiting hook waits for what.
type Timing struct {
	Life    time.Duration // of an ask: less than the timeout that its hook has
	Dialog  time.Duration // until the dialog must stand on the screen
	Behind  time.Duration // the same for a subagent, whose dialog may wait for its hooks
	Confirm time.Duration // the screen's answer is believed when it stands that long
	Tick    time.Duration // the fallback beside working watches
	Blind   time.Duration // the same without them
	End     time.Duration // until what ends the hook must have shown itself
}

// DefaultTiming is the timing of real use.
func DefaultTiming() Timing {
	return Timing{
		Life: 24*time.Hour - time.Minute, Dialog: 5 * time.Second, Behind: time.Second, Confirm: 250 * time.Millisecond,
		Tick: time.Minute, Blind: 2 * time.Second,
		// Claude Code kills a hook some 1.4 s after its SIGTERM (seen with 2.1.332).
		End: 500 * time.Millisecond,
	}
}

// every is how often is looked at what nothing tells of, for a second at most.
const every = 20 * time.Millisecond

// Hook is one run of `shq hook ask`, beside the dialog that Claude Code shows.
type Hook struct {
	Dir    state.Dir
	Home   string // Claude Code's folder
	Claude int    // its process
	Stamp  queue.Stamp
	Now    func() time.Time
	Stdout io.Writer
	Config func() (config.Config, error) // read anew for each answer
	Queue  func(items ...record.Item) error
	Ensure func() error // starts the watcher if none runs
	Log    func(error)
	Timing Timing

	in    Input
	file  *File
	tools transcript.Tools
	began string    // when Claude's process began
	seen  bool      // its dialog stood on the screen
	since time.Time // the screen says something else; zero while it does not
}

// Run tells of the ask and waits until it is over. It prints a decision for an
// answer that is to exactly this ask, and nothing otherwise: then the dialog on
// the screen decides, as without it. The context ends with SIGTERM, which
// Claude Code sends to a hook whose dialog was refused, and at its own end.
func (h *Hook) Run(ctx context.Context, in Input) error {
	if err := record.CheckID("session_id", in.SessionID); err != nil {
		return err
	}
	var alive bool
	if h.began, alive = entry.Began(h.Claude); !alive || h.Claude <= 1 {
		return errors.New("which Claude Code asks is not known: CLAUDE_PID names no process")
	}
	if !h.beside(ctx, in) {
		return nil
	}
	if err := h.open(in); err != nil {
		return err
	}
	wake, stop := h.watch()
	defer stop()
	how, answer := h.wait(ctx, wake)
	return h.close(how, answer)
}

// beside reports whether the dialog stands on the screen while the hook runs. To
// wait otherwise would keep it from there: older versions of Claude Code may run
// the hook first, and 2.1.332 does so for subagents that run in the background.
// Those are known by the registry, which says that Claude waits for its person
// only once the dialog is there.
func (h *Hook) beside(ctx context.Context, in Input) bool {
	for end := time.Now().Add(h.Timing.Behind); time.Now().Before(end) && ctx.Err() == nil; time.Sleep(every) {
		e, ok := entry.Read(h.Home, h.Claude)
		switch {
		case !ok: // it is being written, or there is none
		case !versionAtLeast(e.Version, oldest):
			return false
		case in.AgentID == "" || e.Status == entry.Waiting:
			return true
		}
	}
	return false
}

// open writes the ask down and tells of it.
func (h *Hook) open(in Input) error {
	f := &File{V: record.Version, Ask: h.Stamp.ID, Session: in.SessionID, Since: h.Stamp.At, Transcript: in.transcript(), PID: os.Getpid()}
	f.Start, _ = entry.Began(f.PID)
	h.in, h.file, h.tools.Path = in, f, f.Transcript
	use := h.find()
	for end := time.Now().Add(h.Timing.Behind); in.needsUse() && use.ID == "" && time.Now().Before(end); use = h.find() {
		time.Sleep(every)
	}
	f.fill(&in, use)
	e, ok := entry.Read(h.Home, h.Claude)
	if ok {
		f.Version = e.Version
	}
	h.seen = ok && e.Status == entry.Waiting
	if err := f.write(h.Dir); err != nil {
		return err
	}
	conf, err := h.Config()
	if err != nil {
		h.Log(err) // nothing is allowed then
	}
	if err := h.tell(h.Stamp, record.KindAsk, f.Body(conf)); err != nil {
		return errors.Join(err, Remove(h.Dir, f.Ask))
	}
	if err := h.Ensure(); err != nil {
		h.Log(err)
	}
	debug.FreeOSMemory() // what follows may take a day, and needs little
	return nil
}

// find looks for the tool use in the transcript, which may be written a moment
// after the hook was started.
func (h *Hook) find() transcript.ToolUse {
	if err := h.tools.Read(); err != nil {
		h.Log(err)
	}
	others, err := List(h.Dir)
	if err != nil {
		h.Log(err)
	}
	use, _ := h.tools.Find(h.in.ToolName, h.in.ToolInput, func(id string) bool {
		for _, o := range others {
			if o.ToolUse == id && o.Session == h.file.Session && o.Ask != h.file.Ask && o.Alive() {
				return true
			}
		}
		return false
	})
	return use
}

// bind notes the tool use once it is found.
func (h *Hook) bind() {
	if h.file.ToolUse != "" {
		return
	}
	if use := h.find(); use.ID != "" {
		h.file.ToolUse = use.ID
		if err := h.file.write(h.Dir); err != nil {
			h.Log(err)
		}
	}
}

func (h *Hook) tell(s queue.Stamp, kind record.Kind, body any) error {
	raw, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("%s: %w", kind, err)
	}
	it, err := record.NewItem(s.ID, s.At, record.SourceHook, kind, escapeHidden(raw))
	if err != nil {
		return err
	}
	it.Session = h.file.Session
	return h.Queue(it)
}

// wait returns how the ask ended, with the decision to print if it was answered.
func (h *Hook) wait(ctx context.Context, w *wakes) (how string, answer []byte) {
	ended, stop := entry.WatchEnd(h.Claude)
	defer stop()
	life := time.NewTimer(h.Timing.Life)
	defer life.Stop()
	tick := h.Timing.Tick
	if w == nil || ended == nil {
		tick = h.Timing.Blind
	}
	begun := time.Now()
	for {
		how, answer := h.look(time.Since(begun))
		if how != "" {
			return how, answer
		}
		next := tick
		if !h.since.IsZero() {
			next = h.Timing.Confirm
		} else if !h.seen {
			next = min(tick, max(h.Timing.Dialog-time.Since(begun), time.Millisecond))
		}
		timer := time.NewTimer(next)
		select {
		case <-ctx.Done():
			timer.Stop()
			return h.stopped(), nil
		case <-life.C:
			timer.Stop()
			return record.HowExpired, nil
		case <-ended:
			timer.Stop()
			return record.HowExited, nil
		case <-w.c():
		case <-timer.C:
		}
		timer.Stop()
	}
}

// look sees whether the ask is over, the screen's word first: an answer that
// comes after it is none.
func (h *Hook) look(waited time.Duration) (how string, answer []byte) {
	if !entry.Runs(h.Claude, h.began) {
		return record.HowExited, nil
	}
	if how := h.outcome(); how != "" {
		return how, nil
	}
	if how := h.screen(waited); how != "" {
		return how, nil
	}
	answer, err := h.given()
	switch {
	case err == nil && answer != nil:
		return record.HowAnswered, answer
	case err != nil:
		h.Log(fmt.Errorf("the answer to %s does not count: %w", h.file.Ask, err))
	}
	return "", nil
}

// outcome is how the ask ended by the transcript.
func (h *Hook) outcome() string {
	h.bind()
	if err := h.tools.Read(); err != nil {
		h.Log(err)
	}
	switch o, ok := h.tools.Outcome(h.file.ToolUse); {
	case !ok:
		return ""
	case o.Rejected:
		return record.HowInterrupted
	}
	return record.HowOnScreen
}

// screen is how the ask ended by the registry, which tells at once what a tool
// that takes long has no result for yet. Without a registry nothing is told.
func (h *Hook) screen(waited time.Duration) string {
	e, ok := entry.Read(h.Home, h.Claude)
	switch {
	case !ok:
		return ""
	case e.Status == entry.Waiting && e.Session == h.file.Session:
		h.seen, h.since = true, time.Time{}
		return ""
	case !h.seen && waited < h.Timing.Dialog:
		return ""
	case h.since.IsZero():
		h.since = time.Now()
		return ""
	case time.Since(h.since) < h.Timing.Confirm:
		return ""
	case e.Session != h.file.Session:
		return record.HowInterrupted // by /clear and the like
	}
	return record.HowOnScreen
}

// given is the decision of an answer from afar, nil while there is none. One
// that does not count is taken away, so that another may come.
func (h *Hook) given() ([]byte, error) {
	g, err := readGiven(h.Dir, h.file.Ask)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var out []byte
	var conf config.Config
	if err == nil {
		conf, err = h.Config()
	}
	if err == nil {
		err = h.file.Check(g.Answer, conf)
	}
	if err == nil {
		out, err = h.file.Decision(g.Answer)
	}
	if err != nil {
		if rerr := os.RemoveAll(answerPath(h.Dir, h.file.Ask)); rerr != nil {
			err = errors.Join(err, rerr)
		}
		return nil, err
	}
	return out, nil
}

// stopped is why Claude Code ended the hook: its person refused or interrupted
// at the screen, or it ends itself. Either shows soon.
func (h *Hook) stopped() string {
	for end := time.Now().Add(h.Timing.End); time.Now().Before(end); time.Sleep(every) {
		if how := h.outcome(); how != "" {
			return how
		}
		if _, err := os.Stat(entry.Path(h.Home, h.Claude)); !entry.Runs(h.Claude, h.began) || errors.Is(err, fs.ErrNotExist) {
			return record.HowExited
		}
	}
	return record.HowInterrupted
}

// close prints the decision, tells how the ask ended and removes its files. An
// end that can't be told, as on a full disk, leaves them to the watcher, which
// tells it once the hook is gone; of two ends the hub heeds the first.
func (h *Hook) close(how string, answer []byte) error {
	var errs []error
	if answer != nil {
		if _, err := h.Stdout.Write(append(answer, '\n')); err != nil {
			how = record.HowExited // nobody reads it
			errs = append(errs, fmt.Errorf("print the decision: %w", err))
		}
	}
	if err := h.tell(queue.NewStamp(h.Now()), record.KindAskEnded, record.AskEnded{Ask: h.file.Ask, How: how}); err != nil {
		return errors.Join(append(errs, err)...)
	}
	return errors.Join(append(errs, Remove(h.Dir, h.file.Ask))...)
}
