// Package runlog writes the log of a long-running program: one line an entry,
// with its time, identical failures rarely, and a bound on the file.
package runlog

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"sessionhub/lib/text"
)

// The limits of a log.
const (
	// MaxSize is the size in bytes above which Truncate empties the file.
	MaxSize = 1 << 20
	// RepeatAfter is how long an identical failure line stays unsaid. A hub
	// that is down for a night would fill the log otherwise.
	RepeatAfter = 5 * time.Minute
	// maxLine bounds a line in characters; errors can quote what they refuse.
	maxLine = 600
	// maxFailures bounds the memory for repeated lines.
	maxFailures = 1000
)

// Log writes lines to W. The zero Now is time.Now. It is safe for use by
// several goroutines.
type Log struct {
	W   io.Writer
	Now func() time.Time

	mu   sync.Mutex
	said map[string]time.Time
}

// Printf writes a line. Control characters are stripped from it.
func (l *Log) Printf(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.write(fmt.Sprintf(format, args...))
}

// Failure writes a line unless the same one was written less than RepeatAfter
// ago.
func (l *Log) Failure(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	if last, ok := l.said[line]; ok && now.Sub(last) < RepeatAfter && !now.Before(last) {
		return
	}
	if l.said == nil || len(l.said) >= maxFailures {
		l.said = make(map[string]time.Time)
	}
	l.said[line] = now
	l.write(line)
}

func (l *Log) write(line string) {
	fmt.Fprintf(l.W, "%s %s\n", l.now().UTC().Format("2006-01-02T15:04:05.000Z"), text.Cut(text.Line(line), maxLine))
}

func (l *Log) now() time.Time {
	if l.Now == nil {
		return time.Now()
	}
	return l.Now()
}

// Truncate empties the file at path when it is over MaxSize. Writers that
// opened it for appending go on at its new end. A missing file is no error.
func Truncate(path string) error {
	st, err := os.Stat(path)
	if err != nil || st.Size() <= MaxSize {
		return nil
	}
	if err := os.Truncate(path, 0); err != nil {
		return fmt.Errorf("truncate the log: %w", err)
	}
	return nil
}
