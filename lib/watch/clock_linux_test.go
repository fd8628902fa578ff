package watch

import "testing"

func TestWatchClockEnds(t *testing.T) {
	end, ok := watchClock(func() { t.Error("the clock was set") })
	if !ok {
		t.Fatal("no such timer on this kernel")
	}
	end()
}
