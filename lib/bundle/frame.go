package bundle

import (
	"bufio"
	"errors"
	"io"
	"sync/atomic"

	"github.com/klauspost/compress/zstd"
)

// frame hands on the bytes of exactly one zstd frame (RFC 8878). A decoder
// alone would go on with whatever follows it: more frames, and skippable ones
// that hold anything.
type frame struct {
	r       *bufio.Reader
	step    func(*frame) error
	pending []byte
	left    int64 // of the block that is handed on
	last    bool
	sum     bool // the frame ends with a checksum
	failed  error
	source  atomic.Pointer[error] // what reading gave, if that is what failed; a decoder reads beside its caller
}

const (
	blockRLE      = 1
	blockReserved = 3
	blockHeader   = 3
	maxBlock      = 128 << 10
	checksum      = 4
)

func newFrame(r io.Reader) *frame {
	return &frame{r: bufio.NewReaderSize(r, bufferSize), step: (*frame).header}
}

// Read implements io.Reader. At the frame's end it gives io.EOF only if
// nothing follows.
func (f *frame) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for f.failed == nil {
		if len(f.pending) > 0 {
			n := copy(p, f.pending)
			f.pending = f.pending[n:]
			return n, nil
		}
		if f.left > 0 {
			n, err := f.r.Read(p[:min(int64(len(p)), f.left)])
			f.left -= int64(n)
			f.fail(err)
			if n > 0 {
				return n, nil
			}
			continue
		}
		f.fail(f.step(f))
	}
	return 0, f.failed
}

// fail keeps the first error. The source's end within the frame is a cut.
func (f *frame) fail(err error) {
	switch {
	case err == nil || f.failed != nil:
	case errors.Is(err, ErrUnsound), err == errFrameEnd:
		f.failed = err
		if err == errFrameEnd {
			f.failed = io.EOF
		}
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF) && f.cut():
		f.failed = unsound("it ends too early")
	default:
		f.failed = err
		f.source.Store(&err)
	}
}

// cut reports whether the source ended, as against gave an error that wraps an
// unexpected end of its own.
func (f *frame) cut() bool {
	_, err := f.r.Peek(1)
	return errors.Is(err, io.EOF)
}

var errFrameEnd = errors.New("end of the frame")

func (f *frame) header() error {
	b, err := f.r.Peek(maxFrameHeader)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if len(b) == 0 {
		return unsound("it is empty")
	}
	var h zstd.Header
	if err := h.Decode(b); errors.Is(err, io.ErrUnexpectedEOF) {
		return unsound("it ends too early")
	} else if err != nil || h.Skippable {
		return unsound("it is no zstd frame")
	}
	size := h.WindowSize
	if h.SingleSegment {
		size = h.FrameContentSize
	}
	switch {
	case size > maxWindow:
		return unsound("its zstd window of %d bytes is over the limit of %d", size, maxWindow)
	case h.DictionaryID != 0:
		return unsound("it wants a zstd dictionary")
	}
	f.sum, f.step = h.HasCheckSum, (*frame).block
	return f.take(h.HeaderSize)
}

func (f *frame) block() error {
	if f.last {
		f.step = (*frame).end
		if f.sum {
			return f.take(checksum)
		}
		return nil
	}
	if err := f.take(blockHeader); err != nil {
		return err
	}
	v := uint32(f.pending[0]) | uint32(f.pending[1])<<8 | uint32(f.pending[2])<<16
	kind, size := v>>1&3, int64(v>>3)
	if kind == blockReserved || size > maxBlock {
		return unsound("a zstd block is malformed")
	}
	if kind == blockRLE {
		size = 1
	}
	f.last, f.left = v&1 == 1, size
	return nil
}

func (f *frame) end() error {
	_, err := f.r.ReadByte()
	switch {
	case err == nil:
		return unsound("something follows its zstd frame")
	case err == io.EOF:
		return errFrameEnd
	}
	return err
}

// take hands on the next n bytes before anything else.
func (f *frame) take(n int) error {
	f.pending = make([]byte, n)
	_, err := io.ReadFull(f.r, f.pending)
	if err != nil {
		f.pending = nil
	}
	return err
}
