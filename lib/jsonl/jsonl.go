// Package jsonl reads files of one JSON value a line without trusting them: a
// line may be torn, foreign or endless.
package jsonl

import (
	"bufio"
	"errors"
	"io"
)

// Line is one line of a file.
type Line struct {
	Bytes  []byte // without the newline; valid until the next call of Next
	Offset int64  // of its first byte
	Torn   bool   // the file ends in it, without a newline
	Long   bool   // it was longer than the reader's limit, Bytes is its start
	Size   int64  // of the whole line, newline not counted
}

// Reader reads lines. Memory is bounded by its limit plus its buffer.
type Reader struct {
	r     *bufio.Reader
	limit int
	off   int64
	long  []byte
}

// bufferSize lets most files be read in a few large reads.
const bufferSize = 256 << 10

// NewReader returns a reader of lines of up to limit bytes. Longer lines are
// handed out cut, with Long set.
func NewReader(r io.Reader, limit int) *Reader {
	return &Reader{r: bufio.NewReaderSize(r, bufferSize), limit: limit}
}

// Next returns the next line, or io.EOF after the last one. Empty lines are
// returned too: their meaning is the caller's affair.
func (r *Reader) Next() (Line, error) {
	start := r.off
	b, err := r.r.ReadSlice('\n')
	r.off += int64(len(b))
	switch {
	case err == nil:
		return r.line(b[:len(b)-1], start), nil
	case errors.Is(err, io.EOF):
		if len(b) == 0 {
			return Line{}, io.EOF
		}
		l := r.line(b, start)
		l.Torn = true
		return l, nil
	case !errors.Is(err, bufio.ErrBufferFull):
		return Line{}, err
	}
	return r.longLine(b, start)
}

func (r *Reader) line(b []byte, start int64) Line {
	l := Line{Bytes: b, Offset: start, Size: int64(len(b))}
	if len(b) > r.limit {
		l.Bytes, l.Long = b[:r.limit], true
	}
	return l
}

// longLine gathers a line that is larger than the buffer, keeping no more
// than the limit of it.
func (r *Reader) longLine(first []byte, start int64) (Line, error) {
	r.long = append(r.long[:0], first...)
	size := int64(len(first))
	for {
		b, err := r.r.ReadSlice('\n')
		r.off += int64(len(b))
		size += int64(len(b))
		if room := r.limit + 1 - len(r.long); room > 0 {
			r.long = append(r.long, b[:min(room, len(b))]...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return Line{}, err
		}
		l := Line{Offset: start, Size: size, Torn: err != nil}
		if err == nil {
			l.Size--
		}
		l.Long = l.Size > int64(r.limit)
		l.Bytes = r.long[:min(int64(r.limit), l.Size)]
		return l, nil
	}
}
