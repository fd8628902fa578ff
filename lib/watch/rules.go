package watch

import (
	"context"
	"fmt"

	"sessionhub/lib/record"
	"sessionhub/lib/state"
)

// Rules is what RefreshRules needs of the hub.
type Rules interface {
	Instructions(ctx context.Context, known string) (in record.Instructions, changed bool, err error)
}

// RefreshRules reads the standing rules from the hub and rewrites
// instructions.json when their version changed. A failed read keeps the old
// copy, which `shq hook context` goes on printing.
func RefreshRules(ctx context.Context, hub Rules, dir state.Dir) (version string, changed bool, err error) {
	var known record.Instructions
	if err := state.ReadJSON(dir.Instructions(), &known); err != nil {
		known = record.Instructions{} // a damaged copy is replaced
	}
	in, changed, err := hub.Instructions(ctx, known.Version)
	if err != nil || !changed || in.Version == known.Version && in.Text == known.Text {
		return known.Version, false, err
	}
	if err := dir.Ensure(); err != nil {
		return "", false, err
	}
	err = dir.Locked(func() error { return state.ReplaceJSON(dir.Instructions(), in) })
	if err != nil {
		return "", false, fmt.Errorf("standing rules: %w", err)
	}
	return in.Version, true, nil
}
