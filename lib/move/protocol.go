// Package move moves a running session to another machine: the source's end,
// the target's end, and what is done once the move has ended.
//
// Who does what next is decided in this file alone, by pure functions: a phase
// and what was seen of it give the next phase. The deeds (out.go, in.go,
// finish.go) only carry phases out. A test explores every interleaving of both
// ends, lost answers, timeouts and crashes, with these same functions.
//
// Three rules carry it. The source gives the session up before the bundle
// leaves it, files and all, and takes it back only once the hub has recorded that
// the move failed. The target asks the hub for the right to start by compare-and-swap,
// so that the hub can't fail the move afterwards: from then on only the target
// ends it. A phase is in the journal before it is carried out, so whoever comes
// after a crash knows what may have been done.
package move

import "sessionhub/lib/record"

// Seen is what an end saw of the phase that it carried out.
type Seen struct {
	Outcome Outcome
	// Hub is the state that the hub told, "" if it could not be asked.
	Hub record.MoveState
	// Mine says that the hub has the very failure that this end posted.
	Mine bool
}

// Outcome is how a phase went.
type Outcome int

// The outcomes. Lost is that of a call whose answer never came, and of a deed
// of which nobody knows whether it was done.
const (
	OK Outcome = iota
	Failed
	Lost
)

// Phase is what an end is at.
type Phase string

// The phases of the source, in their order. Up to SourceAsk nothing of the
// session is touched.
const (
	// SourceCheck is everything that can fail while the session runs: its pane,
	// its repository, the bundle on trial, the push.
	SourceCheck Phase = "check"
	// SourceAsk reads the move: one that timed out meanwhile ends nothing.
	SourceAsk Phase = "ask"
	// SourceEnd types /exit. It is OK once the process is gone, and Failed while
	// it lives.
	SourceEnd Phase = "end"
	// SourcePack writes the bundle and seals it.
	SourcePack Phase = "pack"
	// SourcePutAway archives the session's files, so that nobody can go on with it
	// here by hand while it travels. It fails if somebody has.
	SourcePutAway Phase = "put_away"
	// SourceUpload sends it.
	SourceUpload Phase = "upload"
	// SourceLanded reads the move after an upload that seemed to fail.
	SourceLanded Phase = "landed"
	// SourceRefuse posts a failure while the session runs.
	SourceRefuse Phase = "refuse"
	// SourceGiveUp posts a failure after the session was ended.
	SourceGiveUp Phase = "give_up"
	// SourceGivenUp reads the move after that answer was lost.
	SourceGivenUp Phase = "given_up"
	// SourceRestart puts the files back and resumes the session, unless it runs
	// already.
	SourceRestart Phase = "restart"
	// SourceWait is over for now: what comes next is the finish.
	SourceWait Phase = "wait"
	// Over is the end of either end.
	Over Phase = "over"
)

// NextSource is what the source does after a phase.
func NextSource(p Phase, s Seen) Phase {
	switch p {
	case SourceCheck:
		return either(s.Outcome == OK, SourceAsk, SourceRefuse)
	case SourceAsk:
		switch s.Hub {
		case record.MovePacking:
			return SourceEnd
		case "":
			return SourceRefuse
		}
		return Over
	case SourceEnd:
		return either(s.Outcome == OK, SourcePack, SourceRefuse)
	case SourcePack:
		return either(s.Outcome == OK, SourcePutAway, SourceGiveUp)
	case SourcePutAway:
		return either(s.Outcome == OK, SourceUpload, SourceGiveUp)
	case SourceUpload:
		return either(s.Outcome == OK, SourceWait, SourceLanded)
	case SourceLanded:
		return either(s.Hub == record.MovePacking, SourceGiveUp, SourceWait)
	case SourceGiveUp:
		switch s.Outcome {
		case OK:
			return SourceRestart
		case Failed: // the move had ended otherwise
			return SourceWait
		}
		return SourceGivenUp
	case SourceGivenUp:
		return either(s.Hub == record.MoveFailed && s.Mine, SourceRestart, SourceWait)
	case SourceRestart:
		return either(s.Outcome == Lost, SourceWait, Over)
	}
	return Over // refuse, wait
}

// SourceAfterCrash is what the source does when it finds its own journal. runs
// says whether the session's process lives here.
func SourceAfterCrash(p Phase, runs bool) Phase {
	switch p {
	case SourceAsk:
		return SourceCheck // nothing was touched
	case SourceEnd:
		return either(runs, SourceRefuse, SourcePack)
	case SourceUpload:
		return SourceLanded
	case SourceGiveUp:
		return SourceGivenUp
	}
	return p
}

// The phases of the source once the move has ended.
const (
	FinishArchive Phase = "archive"
	FinishRestart Phase = "finish_restart"
)

// Finish is what the source does with its copy when the move has ended.
func Finish(state record.MoveState) Phase {
	switch state {
	case record.MoveDone:
		return FinishArchive
	case record.MoveFailed, record.MoveCancelled:
		return FinishRestart
	}
	return Over
}

// The phases of the target. Up to TargetCheck nothing is changed.
const (
	// TargetCheck opens the bundle and checks everything that it needs.
	TargetCheck Phase = "target_check"
	// TargetApply changes the clone and writes the transcript.
	TargetApply Phase = "apply"
	// TargetClaim asks the hub for the right to start.
	TargetClaim Phase = "claim"
	// TargetClaimed reads the move after that answer was lost.
	TargetClaimed Phase = "claimed"
	// TargetStart starts Claude. It is Failed only if nothing runs here and the
	// transcript is as it was written; else it is Lost.
	TargetStart Phase = "start"
	// TargetUndo takes back what TargetApply did.
	TargetUndo Phase = "undo"
	// TargetRefuse posts the failure.
	TargetRefuse Phase = "target_refuse"
	// TargetDone posts that the session is here.
	TargetDone Phase = "done"
)

// NextTarget is what the target does after a phase.
func NextTarget(p Phase, s Seen) Phase {
	switch p {
	case TargetCheck:
		return either(s.Outcome == OK, TargetApply, TargetRefuse)
	case TargetApply:
		return either(s.Outcome == OK, TargetClaim, TargetUndo)
	case TargetClaim:
		switch s.Outcome {
		case OK:
			return TargetStart
		case Failed:
			return TargetUndo
		}
		return TargetClaimed
	case TargetClaimed:
		switch s.Hub {
		case record.MoveStarting: // nobody else asks for it
			return TargetStart
		case record.MoveUnpacking:
			return TargetClaim
		case "":
			return TargetClaimed
		}
		return TargetUndo
	case TargetStart:
		return either(s.Outcome == Failed, TargetUndo, TargetDone)
	case TargetUndo:
		return TargetRefuse
	case TargetRefuse, TargetDone: // nobody else can end it now
		return either(s.Outcome == Lost, p, Over)
	}
	return Over
}

// TargetAfterCrash is what the target does when it finds its own journal. here
// says that the session runs here, or that its transcript is no longer as it
// was written, or that a pane was made in which it may be starting.
func TargetAfterCrash(p Phase, here bool) Phase {
	switch p {
	case TargetApply:
		return TargetUndo
	case TargetClaim:
		return TargetClaimed
	case TargetStart:
		return either(here, TargetDone, TargetUndo)
	}
	return p
}

// knows reports whether an end can be at a phase.
func knows(r Role, p Phase) bool {
	switch p {
	case SourceCheck, SourceAsk, SourceEnd, SourcePack, SourcePutAway, SourceUpload, SourceLanded, SourceRefuse, SourceGiveUp, SourceGivenUp, SourceRestart,
		SourceWait, FinishArchive, FinishRestart:
		return r == Source
	case TargetCheck, TargetApply, TargetClaim, TargetClaimed, TargetStart, TargetUndo, TargetRefuse, TargetDone, TargetApplied:
		return r == Target
	}
	return p == Over && (r == Source || r == Target)
}

func either(cond bool, yes, no Phase) Phase {
	if cond {
		return yes
	}
	return no
}
