package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"sessionhub/cmd/internal/front"
	"sessionhub/lib/record"
	"sessionhub/lib/text"
)

func list() []record.Session {
	now := record.At(time.Now())
	s := func(id string, state record.AgentState, title string) record.Session {
		return record.Session{Session: id, Machine: "tower", Status: record.StatusLive, AgentState: state, Title: title,
			Cwd: "/home/dev/Code/app", Herdr: &record.Place{HerdrSession: "default", PaneID: "w1:p1"}, Since: now}
	}
	ended := s("eeee-5", record.Idle, "ended one")
	ended.Status, ended.EndedReason = record.StatusEnded, "vanished"
	stale := s("ffff-6", record.Blocked, "stale one")
	stale.Status = record.StatusStale
	return []record.Session{
		ended, stale, s("aaaa-1", record.Idle, "日本語のタイトル"), s("bbbb-2", record.Working, "work\x1b[31m in\nred"),
		s("cccc-3", record.Blocked, "👩‍💻 a very long title that does not fit into any terminal of this world, not even a wide one"), s("dddd-4", record.Done, "done"),
	}
}

func TestOrderByWhoNeedsMe(t *testing.T) {
	l := list()
	order(l)
	var ids []string
	for _, s := range l {
		ids = append(ids, s.Session)
	}
	if got := strings.Join(ids, " "); got != "cccc-3 dddd-4 bbbb-2 aaaa-1 ffff-6 eeee-5" {
		t.Errorf("order %s", got)
	}
}

// Columns line up whatever the titles hold, and nothing of theirs reaches the
// terminal but text.
func TestTableLinesUp(t *testing.T) {
	var out bytes.Buffer
	c := &front.Call{Env: front.Env{Stdout: &out, Getenv: func(string) string { return "" }}}
	printTable(c, list())
	lines := strings.Split(strings.TrimRight(out.String(), "\n"), "\n")
	if len(lines) != 7 {
		t.Fatalf("%d lines:\n%s", len(lines), out.String())
	}
	column := func(line, word string) int {
		i := strings.Index(line, word)
		if i < 0 {
			return -1
		}
		return text.Width(line[:i])
	}
	want := column(lines[0], "MACHINE")
	for _, l := range lines[1:] {
		if got := column(l, "tower"); got != want {
			t.Errorf("tower stands in column %d, want %d: %q", got, want, l)
		}
		if strings.Contains(l, "\x1b") {
			t.Errorf("an escape reached the terminal: %q", l)
		}
	}
	if widest := text.Width(lines[5]); widest > 80 {
		t.Errorf("a line of %d cells for a terminal of 80", widest)
	}
}

func TestFind(t *testing.T) {
	l := list()
	for arg, want := range map[string]string{
		"aaaa-1": "aaaa-1", "bbbb": "bbbb-2", "done": "dddd-4", "日本語のタイトル": "aaaa-1", "aaa": "names no session", "zzzz": "names no session",
	} {
		s, err := find(l, arg)
		got := s.Session
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, want) {
			t.Errorf("find %q: %q, want %q", arg, got, want)
		}
	}
	twins := []record.Session{{Session: "aaaa-1", Title: "x"}, {Session: "aaaa-2", Title: "x"}}
	for _, arg := range []string{"aaaa", "x"} {
		if _, err := find(twins, arg); err == nil || !strings.Contains(err.Error(), "aaaa-1") || !strings.Contains(err.Error(), "aaaa-2") {
			t.Errorf("ambiguous %q: %v", arg, err)
		}
	}
}

func TestAge(t *testing.T) {
	for ago, want := range map[time.Duration]string{
		5 * time.Second: "5s", 90 * time.Second: "1m", 3 * time.Hour: "3h", 72 * time.Hour: "3d", -time.Hour: "now",
	} {
		if got := age(record.At(time.Now().Add(-ago))); got != want {
			t.Errorf("%s ago is %q, want %q", ago, got, want)
		}
	}
	if got := fmt.Sprint(age(record.Time{})); got != "" {
		t.Errorf("no time is %q", got)
	}
}
