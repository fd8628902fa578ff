package claude

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"time"
)

// maxFile bounds a file of the registry or of a job in bytes, as Claude Code
// itself does; real ones have under 4 KiB.
const maxFile = 256 << 10

// rereads is how often a file is read that is not whole: Claude Code writes its
// files in place, or replaces them from several processes, which takes
// microseconds.
const rereads = 3

// readWhole reads a file of Claude Code's as JSON, and when it was written.
// Fields of an unexpected type are passed over, as Claude Code itself does.
func readWhole[T any](path string) (v T, written time.Time, err error) {
	for range rereads {
		if v, written, err = readOnce[T](path); err == nil || errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	return v, written, err
}

func readOnce[T any](path string) (v T, written time.Time, err error) {
	f, err := os.Open(path)
	if err != nil {
		return v, written, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return v, written, err
	}
	b, err := io.ReadAll(io.LimitReader(f, maxFile))
	if err != nil {
		return v, written, err
	}
	err = json.Unmarshal(b, &v)
	var typ *json.UnmarshalTypeError
	var tim *time.ParseError
	if errors.As(err, &typ) || errors.As(err, &tim) { // the others are read
		err = nil
	}
	return v, st.ModTime(), err
}
