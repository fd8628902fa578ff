package control

import (
	"context"
	"errors"
	"time"

	"sessionhub/lib/ask"
	"sessionhub/lib/claude/transcript"
	"sessionhub/lib/queue"
	"sessionhub/lib/record"
)

const (
	// proofWait is how long the outcome of an answer may take to stand in the
	// transcript (contract §7). A tool that runs longer can't prove it.
	proofWait = 10 * time.Second
	// proofEvery is how often the transcript is looked at meanwhile.
	proofEvery = 50 * time.Millisecond
)

// answer gives an answer to the hook that waits with its ask, and says so only
// when the transcript shows what became of it. It takes no lease: the ask's own
// file guards it, as only one answer can be left there, and a message that is
// being typed has nothing to do with it.
func (d *Doer) answer(ctx context.Context, c record.Claim) record.Result {
	f, err := ask.Load(d.Dir, c.Answer.Ask)
	switch {
	case err != nil:
		return failed("%v", err)
	case f.Session != c.Session.Session:
		return failed("the ask is another session's")
	case !f.Alive():
		return failed("%v", ask.ErrNone)
	}
	conf, err := d.Config()
	if err != nil {
		return failed("%v", err)
	}
	if err := f.Check(*c.Answer, conf); err != nil {
		return failed("%v", err)
	}
	tools := &transcript.Tools{Path: f.Transcript}
	if err := tools.Read(); err != nil {
		return failed("%v", err)
	}
	if _, over := tools.Outcome(useOf(f, tools)); over {
		return failed("it was answered at the screen")
	}
	if err := d.begin(c, "answered")(); err != nil {
		return failed("%v", err)
	}
	if err := ask.Give(d.Dir, c.ID, *c.Answer); err != nil {
		return failed("%v", err)
	}
	return d.proof(ctx, c, f, tools)
}

// proof waits for the outcome of an answer.
func (d *Doer) proof(ctx context.Context, c record.Claim, f *ask.File, tools *transcript.Tools) record.Result {
	for end := d.Now().Add(proofWait); ; d.Desk.Pause(ctx, proofEvery) {
		if err := tools.Read(); err != nil {
			return failed("not proven: %v", err)
		}
		if o, ok := tools.Outcome(useOf(f, tools)); ok {
			ask.TakeBack(d.Dir, c.ID, f.Ask)
			if byAnswer(o, c.Answer.Behavior) {
				return done("", "answered")
			}
			if err := d.correct(f, o); err != nil {
				return failed("it was answered at the screen first; that could not be told: %v", err)
			}
			return failed("it was answered at the screen first")
		}
		if ctx.Err() != nil || !d.Now().Before(end) {
			break
		}
	}
	_, err := ask.Load(d.Dir, f.Ask)
	if taken := errors.Is(err, ask.ErrNone); !taken {
		ask.TakeBack(d.Dir, c.ID, f.Ask)
		return failed("not proven: the hook that waits did not take it within %s", proofWait)
	}
	return failed("not proven: the hook gave it to Claude Code, or its person was first; the transcript has no outcome after %s", proofWait)
}

// correct tells how an ask ended whose person was first: its hook had given the
// answer to Claude Code, and took it for the one that counts.
func (d *Doer) correct(f *ask.File, o transcript.Outcome) error {
	how := record.HowOnScreen
	if o.Rejected {
		how = record.HowInterrupted
	}
	s := queue.NewStamp(d.Now())
	it, err := record.NewItem(s.ID, s.At, record.SourceCLI, record.KindAskEnded, record.AskEnded{Ask: f.Ask, How: how})
	if err != nil {
		return err
	}
	it.Session = f.Session
	q := queue.Queue{Dir: d.Dir}
	return q.Append(queue.Durable, it)
}

// useOf is the tool use of an ask. Claude Code may write it down a moment after
// its hooks have begun, and so the hook may not know it yet.
func useOf(f *ask.File, tools *transcript.Tools) string {
	if f.ToolUse != "" {
		return f.ToolUse
	}
	use, _ := tools.Find(f.Tool, f.Input, nil)
	return use.ID
}

// byAnswer reports whether an outcome is that of the answer. Versions that don't
// tell what decided are believed when it fits.
func byAnswer(o transcript.Outcome, b record.Behavior) bool {
	if o.Source != "" {
		return o.ByHook()
	}
	return !o.Rejected && (b == record.Allow || o.Failed)
}
