package store

import (
	"context"
	"strings"
	"testing"
	"time"

	"sessionhub/lib/record"
)

func TestInboxFollowsItsCauses(t *testing.T) {
	b := newBook(t)
	b.beat("tower", "default", "a@p1:blocked", "b@p2:done", "c@p3")
	b.must(b.write(func(tx *Tx) error {
		return Report(tx, "tower", "c", record.SavedReport{ID: "r1", Report: record.Report{WaitingOn: "review"}}, b.now)
	}))
	kinds := func() string {
		list, err := b.s.Inbox(context.Background(), b.now)
		b.must(err)
		var k []string
		for _, e := range list {
			k = append(k, e.Kind+":"+e.Session)
		}
		return strings.Join(k, " ")
	}
	if got := kinds(); got != "blocked:a done:b waiting:c" {
		t.Errorf("inbox %q", got)
	}
	list, _ := b.s.Inbox(context.Background(), b.now)
	b.must(b.write(func(tx *Tx) error { return MarkRead(tx, list[1].ID, b.now) }))
	b.pass(time.Second)
	b.state("tower", "a", record.Working)
	b.must(b.write(func(tx *Tx) error {
		return Report(tx, "tower", "c", record.SavedReport{ID: "r2", Report: record.Report{Done: "all"}}, b.now)
	}))
	if got := kinds(); got != "" {
		t.Errorf("inbox %q, want nothing", got)
	}
	b.pass(time.Second)
	b.state("tower", "b", record.Working)
	b.pass(time.Second)
	b.state("tower", "b", record.Done)
	if got := kinds(); got != "done:b" {
		t.Errorf("a new cause: inbox %q", got)
	}
}
