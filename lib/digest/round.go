package digest

import (
	"context"
	"errors"
	"fmt"

	"sessionhub/lib/record"
)

// PerRound bounds how many transcripts one round reads: a round follows each
// heartbeat (the seed's watcher: 10).
const PerRound = 10

// Round digests those of the sessions whose transcript has changed since its
// last good digest, PerRound of them at most, and gives each to put. What put
// refuses is tried again in a later round. The errors name their session.
func (d *Digester) Round(ctx context.Context, sessions []record.LiveSession, put func(ctx context.Context, g record.Digest) error) []error {
	refs := make([]Ref, len(sessions))
	for i, s := range sessions {
		refs[i] = Ref{Session: s.Session, Cwd: s.Cwd, TitleHint: s.TitleHint}
	}
	changed := d.Changed(refs)
	var good []Ref
	var failed []error
	for _, r := range changed[:min(len(changed), PerRound)] {
		if ctx.Err() != nil {
			break
		}
		g, err := d.Digest(ctx, r)
		if errors.Is(err, ErrNoTranscript) {
			continue // it had no prompt yet, or was cleaned up meanwhile
		}
		if err == nil {
			err = put(ctx, g)
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("digest %s: %w", r.Session, err))
			continue
		}
		good = append(good, r)
	}
	if err := d.Good(good...); err != nil {
		failed = append(failed, err)
	}
	return failed
}
