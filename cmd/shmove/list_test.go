package main

import (
	"strings"
	"testing"
	"time"

	"sessionhub/lib/record"
)

// A person sees which way each session went, and a hostile name moves nothing.
func TestPrintListed(t *testing.T) {
	at := record.At(time.Date(2026, 12, 1, 15, 34, 0, 0, time.Local))
	var b strings.Builder
	if err := printListed(&b, "tower", []listed{
		{Move: "m1", Session: "0b5c1f9e-2d2c", State: "archived", To: "laptop", At: at},
		{Move: "m2", Session: "9d2e0d9d-0a6a", State: "applied", From: "lap\x1b[2Jtop", To: "tower", At: at, Detail: "x\ny"},
	}); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(b.String(), "\n")
	for i, want := range []string{"MOVE SESSION STATE MACHINE SINCE DETAIL", "m1 0b5c1f9e archived → laptop Dec 1 15:34", "m2 9d2e0d9d applied ← laptop Dec 1 15:34 x y"} {
		if got := strings.Join(strings.Fields(lines[i]), " "); got != want {
			t.Errorf("line %d: %q, want %q", i, got, want)
		}
	}
	b.Reset()
	if err := printListed(&b, "tower", nil); err != nil || b.String() != "No moves.\n" {
		t.Errorf("of none: %q, %v", b.String(), err)
	}
}
