package digest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

func prompt(s string) string {
	return fmt.Sprintf(`{"type":"user","message":{"content":%q},"origin":{"kind":"human"}}`+"\n", s)
}

// filler is a line that changes no digest, of n bytes with its newline.
func filler(n int) string {
	const head, tail = `{"type":"attachment","attachment":{"type":"x","content":"`, `"}}` + "\n"
	return head + strings.Repeat("y", n-len(head)-len(tail)) + tail
}

type fixture struct {
	*testing.T
	path string
	m    memory
}

func newFixture(t *testing.T) *fixture {
	return &fixture{T: t, path: filepath.Join(t.TempDir(), "s.jsonl")}
}

func (f *fixture) write(s string) {
	f.Helper()
	if err := os.WriteFile(f.path, []byte(s), 0o600); err != nil {
		f.Fatal(err)
	}
}

func (f *fixture) append(s string) {
	f.Helper()
	w, err := os.OpenFile(f.path, os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o600)
	if err == nil {
		_, err = w.WriteString(s)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		f.Fatal(err)
	}
}

// step reads on and checks what was found, and that no more was read than limit.
func (f *fixture) step(last string, turns int, limit int64) {
	f.Helper()
	m, err := step(f.Context(), f.path, f.m)
	if err != nil {
		f.Fatal(err)
	}
	if d := m.digest(""); d.LastPrompt != last || d.Turns != turns || d.Session != "s" {
		f.Errorf("%d turns, last %q, want %d and %q", d.Turns, d.LastPrompt, turns, last)
	}
	if m.read > limit {
		f.Errorf("read %d bytes, want at most %d", m.read, limit)
	}
	f.m = m
}

// An append must cost its own size, whatever the size of the file.
func TestA58AnAppendReadsOnlyTheTail(t *testing.T) {
	const marks = 2 * markLen
	f := newFixture(t)
	f.append(prompt("first"))
	for range 64 {
		f.append(filler(128 << 10))
	}
	f.step("first", 1, 9<<20)
	more := filler(900) + prompt("second")
	f.append(more)
	f.step("second", 2, int64(len(more)+marks))
	f.step("second", 2, marks) // nothing new
	// A restart remembers.
	var back memory
	if err := unmarshal(asJSON(f.m), &back); err != nil {
		t.Fatal(err)
	}
	f.m = back
	f.append(prompt("third"))
	f.step("third", 3, int64(len(prompt("third"))+marks))
}

// One line of many megabytes must not be held, nor hide what follows it.
func TestA57ALongLineIsPassedOver(t *testing.T) {
	f := newFixture(t)
	long := `{"type":"user","message":{"content":[{"type":"image","source":{"data":"` + strings.Repeat("A", 64<<20) + `"}}]}}`
	f.append(prompt("before") + long + "\n" + prompt("after"))
	long = ""
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f.step("after", 2, 65<<20)
	runtime.ReadMemStats(&after)
	if got := f.m.digest("").SkippedLines; got != 1 {
		t.Errorf("%d lines skipped", got)
	}
	// All that was ever allocated: the start of the line, grown by doubling, and buffers.
	if n := after.TotalAlloc - before.TotalAlloc; n > 8<<20 {
		t.Errorf("%d bytes were allocated", n)
	}
}

func TestALineOfTheLimitIsRead(t *testing.T) {
	line := strings.TrimSuffix(prompt("on the limit"), "\n")
	f := newFixture(t)
	f.append(line + strings.Repeat(" ", maxLine-len(line)) + "\n")
	f.step("on the limit", 1, 2*maxLine)
	f.append(line + strings.Repeat(" ", maxLine-len(line)+1) + "\n")
	f.step("on the limit", 1, 2*maxLine)
	if f.m.digest("").SkippedLines != 1 {
		t.Errorf("%+v", f.m.digest(""))
	}
}

// A long line that is still being written is not read again from its start.
func TestALongLineInParts(t *testing.T) {
	f := newFixture(t)
	f.append(prompt("before") + `{"x":"` + strings.Repeat("A", maxLine))
	f.step("before", 1, 2*maxLine)
	for range 3 {
		f.append(strings.Repeat("A", 1000))
		f.step("before", 1, 1200)
	}
	f.append(strings.Repeat("A", 2*maxLine))
	f.step("before", 1, 3*maxLine)
	f.append(`"}` + "\n" + prompt("after"))
	f.step("after", 2, 1000)
	if got := f.m.digest("").SkippedLines; got != 1 {
		t.Errorf("%d lines skipped", got)
	}
}

func TestHalfALastLine(t *testing.T) {
	f := newFixture(t)
	whole := prompt("second")
	f.append(prompt("first"))
	f.step("first", 1, 1000)
	for i := 1; i < len(whole)-1; i += 7 {
		f.write(prompt("first") + whole[:i])
		f.step("first", 1, 1000)
	}
	// A whole line without its newline is legal, and counts once.
	f.write(prompt("first") + whole[:len(whole)-1])
	f.step("second", 2, 1000)
	f.step("second", 2, 1000)
	f.append("\n")
	f.step("second", 2, 1000)
	// What looked whole may go on, and be rubbish.
	f.append(prompt("third")[:len(prompt("third"))-1])
	f.step("third", 3, 1000)
	f.append("x\n")
	f.step("second", 2, 1000)
}

// A step changes neither the memory that it began with, nor, by an unfinished
// line, what the next one begins with.
func TestStepsShareNothing(t *testing.T) {
	reply := func(out int) string {
		return fmt.Sprintf(`{"type":"assistant","message":{"id":"m","model":"opus","content":"said","usage":{"output_tokens":%d}}}`, out)
	}
	f := newFixture(t)
	f.append(reply(1) + "\n")
	f.step("", 0, 1000)
	f.append(reply(2) + "\n" + reply(5))
	old := f.m
	for range 3 {
		f.m = old
		f.step("", 0, 1000)
		if got := f.m.digest("").Tokens.Out; got != 5 {
			t.Fatalf("%d tokens", got)
		}
	}
	f.append("\n")
	f.step("", 0, 1000)
	if got := f.m.digest("").Tokens.Out; got != 5 {
		t.Errorf("%d tokens", got)
	}
}

func TestAnotherFileIsReadAnew(t *testing.T) {
	long := prompt("first") + prompt("second") + filler(2000)
	for _, c := range []struct {
		name   string
		change func(f *fixture)
	}{
		{"truncated", func(f *fixture) { f.write(prompt("new")) }},
		{"emptied and written on", func(f *fixture) { f.write(prompt("new") + strings.Repeat(filler(900), 9)) }},
		{"replaced by rename", func(f *fixture) {
			other := f.path + ".new"
			if err := os.WriteFile(other, []byte(prompt("new")+strings.Repeat(filler(900), 9)), 0o600); err != nil {
				f.Fatal(err)
			}
			if err := os.Rename(other, f.path); err != nil {
				f.Fatal(err)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t)
			f.T = t
			f.append(long)
			f.step("second", 2, 9000)
			c.change(f)
			f.step("new", 1, 20_000)
		})
	}
}

// Memories that no reading made, as in a damaged digests.json.
func TestAWrongMemoryIsForgotten(t *testing.T) {
	f := newFixture(t)
	f.append(prompt("first") + prompt("second"))
	f.step("second", 2, 1000)
	good := f.m
	for name, spoil := range map[string]func(*memory){
		"negative": func(m *memory) { m.Offset = -1 },
		"beyond":   func(m *memory) { m.Offset = 1 << 40 },
		"within":   func(m *memory) { m.Offset -= 3 },
		"no mark":  func(m *memory) { m.Mark = "" },
		"inode":    func(m *memory) { m.Inode++ },
	} {
		f.m = good
		f.m.Tally.Turns = 77
		spoil(&f.m)
		t.Log(name)
		f.step("second", 2, 1000)
	}
}

// cancelling is a context that ends when it was asked n times.
type cancelling struct {
	context.Context
	n int
}

func (c *cancelling) Err() error {
	if c.n--; c.n < 0 {
		return context.Canceled
	}
	return nil
}

// A reading that is cut short stops within one read, and loses nothing of what
// was done.
func TestCancelStopsAndGoesOn(t *testing.T) {
	f := newFixture(t)
	f.append(prompt("first"))
	for range 40 {
		f.append(filler(100 << 10))
	}
	f.append(prompt("last"))
	var total int64
	for i := 1; ; i++ {
		m, err := step(&cancelling{t.Context(), 4}, f.path, f.m)
		total += m.read
		f.m = m
		if err == nil {
			break
		}
		if !errors.Is(err, context.Canceled) || m.read > 5*256<<10 {
			t.Fatalf("%d bytes, %v", m.read, err)
		}
		if i > 20 {
			t.Fatal("no end")
		}
	}
	if d := f.m.digest(""); d.LastPrompt != "last" || d.Turns != 2 {
		t.Errorf("%+v", d)
	}
	if size := f.m.Size; total > 2*size {
		t.Errorf("read %d of %d bytes", total, size)
	}
}

// What can't be read is an error of one line that names the file.
func TestUnreadable(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "pipe.jsonl")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		filepath.Join(dir, "none.jsonl"): "read none.jsonl: no such file or directory",
		fifo:                             "read pipe.jsonl: it is not a regular file",
		dir:                              "it is not a regular file",
	} {
		_, err := File(t.Context(), path, "")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := File(t.Context(), filepath.Join(dir, "none.jsonl"), ""); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

func TestEmptyFile(t *testing.T) {
	f := newFixture(t)
	f.append("")
	f.step("", 0, 0)
	if d := f.m.digest(""); d.Size != 0 || time.Since(d.UpdatedAt.Time) > time.Hour {
		t.Errorf("%+v", d)
	}
}
