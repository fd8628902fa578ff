package conversation

import (
	"bytes"
	"encoding/json"
	"io"
	"path/filepath"
	"strings"
)

// swap is a text to put in place of another.
type swap struct{ old, new []byte }

// Places are the directories that a conversation's lines name, where it comes
// from and where it goes.
type Places struct {
	OldTop, NewTop         string // of the work tree, links resolved
	OldSidecar, NewSidecar string
}

// swaps are the changes that a transcript needs in another place: rewinding
// compares realParentDir with the directory, and skips every file where they
// differ; large tool results are read again under the path that is given.
func (p Places) swaps() []swap {
	var list []swap
	if p.OldSidecar != "" && p.OldSidecar != p.NewSidecar {
		list = append(list, swap{inJSON(filepath.Join(p.OldSidecar, "tool-results") + "/"), inJSON(filepath.Join(p.NewSidecar, "tool-results") + "/")})
	}
	if p.OldTop != p.NewTop {
		for _, end := range []string{`"`, "/"} {
			list = append(list, swap{parentDir(p.OldTop, end), parentDir(p.NewTop, end)})
		}
	}
	return list
}

// parentDir is the beginning of a realParentDir. Within a JSON string the
// quotes would be escaped, so it is always the field.
func parentDir(dir, end string) []byte {
	return append(append([]byte(`"realParentDir":"`), inJSON(dir)...), end...)
}

// inJSON is a path as JSON holds it, without the quotes.
func inJSON(path string) []byte {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(path) != nil { // a string always can be
		return []byte(path)
	}
	return []byte(strings.Trim(strings.TrimSuffix(b.String(), "\n"), `"`))
}

// chunk is how much is looked at in one piece: lines can have many megabytes.
const chunk = 256 << 10

// rewrite copies r to w with the swaps, in bounded memory.
func rewrite(w io.Writer, r io.Reader, swaps []swap) error {
	if len(swaps) == 0 {
		_, err := io.Copy(w, r)
		return err
	}
	keep := 0 // the end of a piece in which a text may begin
	for _, s := range swaps {
		keep = max(keep, len(s.old)-1)
	}
	buf := make([]byte, 0, chunk+keep)
	for {
		n, err := io.ReadFull(r, buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		last := err == io.EOF || err == io.ErrUnexpectedEOF
		if err != nil && !last {
			return err
		}
		rest, werr := flush(w, buf, swaps, keep, last)
		if werr != nil || last {
			return werr
		}
		buf = append(buf[:0], rest...)
	}
}

// flush writes what of a piece is settled and returns the rest of it.
func flush(w io.Writer, b []byte, swaps []swap, keep int, last bool) ([]byte, error) {
	for {
		at, first := len(b), -1
		for i, s := range swaps {
			if j := bytes.Index(b, s.old); j >= 0 && j < at {
				at, first = j, i
			}
		}
		if first < 0 {
			break
		}
		if _, err := w.Write(b[:at]); err != nil {
			return nil, err
		}
		if _, err := w.Write(swaps[first].new); err != nil {
			return nil, err
		}
		b = b[at+len(swaps[first].old):]
	}
	settled := len(b)
	if !last {
		settled = max(0, len(b)-keep)
	}
	_, err := w.Write(b[:settled])
	return b[settled:], err
}
