package front

import (
	"errors"
	"time"
)

// Wait is the flag --wait: a switch that also takes a limit, as in --wait=20s.
type Wait struct {
	On    bool
	limit time.Duration
}

// Limit is how long to wait: 0 when the flag is off, else its limit, or the
// given one without.
func (w *Wait) Limit(usual time.Duration) time.Duration {
	switch {
	case !w.On:
		return 0
	case w.limit > 0:
		return w.limit
	}
	return usual
}

// String is the limit, or whether it is on.
func (w *Wait) String() string {
	if w == nil || !w.On {
		return "false"
	}
	if w.limit > 0 {
		return w.limit.String()
	}
	return "true"
}

// Set reads on, off and the like, or a duration.
func (w *Wait) Set(s string) error {
	if d, err := time.ParseDuration(s); err == nil && d > 0 {
		w.On, w.limit = true, d
		return nil
	}
	var on Switch
	if on.Set(s) != nil {
		return errors.New("a time is wanted, such as 20s or 5m")
	}
	*w = Wait{On: bool(on)}
	return nil
}

// IsBoolFlag lets the flag stand without a value.
func (w *Wait) IsBoolFlag() bool { return true }
