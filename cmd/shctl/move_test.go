package main

import (
	"testing"
	"time"

	"sessionhub/lib/record"
)

// A line is told anew with each tenth of a bundle, and not with each byte.
func TestStepWords(t *testing.T) {
	const mib = 1 << 20
	for _, c := range []struct {
		state    record.MoveState
		bundle   *record.Bundle
		transfer *record.Transfer
		want     string
	}{
		{record.MovePacking, nil, nil, "packing: tower packs it up"},
		{record.MovePacking, nil, &record.Transfer{Size: 340 * mib}, "packing: tower sends it, 0 % of 340.0 MiB"},
		{record.MovePacking, nil, &record.Transfer{Done: 33 * mib, Size: 340 * mib}, "packing: tower sends it, 0 % of 340.0 MiB"},
		{record.MovePacking, nil, &record.Transfer{Done: 34 * mib, Size: 340 * mib}, "packing: tower sends it, 10 % of 340.0 MiB"},
		{record.MoveUploaded, &record.Bundle{Size: 2 * mib}, nil, "uploaded: waits for laptop, 2.0 MiB"},
		{record.MoveUnpacking, &record.Bundle{Size: 2 * mib}, &record.Transfer{Done: 2 * mib, Size: 2 * mib}, "unpacking: laptop fetches it, 100 % of 2.0 MiB"},
		{record.MoveUnpacking, &record.Bundle{Size: 2 * mib}, nil, "unpacking: laptop unpacks it, 2.0 MiB"},
		{record.MoveUnpacking, nil, &record.Transfer{Done: 9, Size: 0}, "unpacking: laptop unpacks it"},
	} {
		m := record.Move{From: "tower", To: "laptop", State: c.state, Bundle: c.bundle, Transfer: c.transfer}
		if got := stepWords(m); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

// When the target began is told by the clock of whoever reads it.
func TestOnSince(t *testing.T) {
	at := time.Now().Add(-time.Minute).Truncate(time.Second)
	for detail, want := range map[string]string{
		"on laptop since " + record.At(at).String(): "on laptop since " + at.Format("15:04:05"),
		"on laptop since lunch":                     "on laptop since lunch",
		"it takes its time":                         "it takes its time",
	} {
		if got := onSince(detail); got != want {
			t.Errorf("of %q: %q, want %q", detail, got, want)
		}
	}
}
