package queue

import (
	"bytes"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"runtime"
	"sync"

	"github.com/segmentio/encoding/json"

	"sessionhub/lib/record"
)

// line is a line of a segment and what it holds: a record, or the reason why
// it is none. A blank line is neither.
type line struct {
	bytes  []byte
	offset int64
	torn   bool
	item   record.Item
	reason string
}

func splitLines(b []byte) []line {
	lines := make([]line, 0, bytes.Count(b, []byte("\n"))+1)
	for off := 0; off < len(b); {
		l := line{bytes: b[off:], offset: int64(off), torn: true}
		if n := bytes.IndexByte(l.bytes, '\n'); n >= 0 {
			l.bytes, l.torn = l.bytes[:n:n], false
		}
		off += len(l.bytes) + 1
		lines = append(lines, l)
	}
	return lines
}

// parallelLines is from how many lines on a segment is parsed by all
// processors: a backlog of a night, not the one record of a wake.
const parallelLines = 4096

func parseLines(lines []line) {
	workers := 1
	if len(lines) >= parallelLines {
		workers = runtime.GOMAXPROCS(0)
	}
	var wg sync.WaitGroup
	for w := range workers {
		part := lines[w*len(lines)/workers : (w+1)*len(lines)/workers]
		wg.Go(func() {
			for i := range part {
				part[i].item, part[i].reason = parse(part[i].bytes, part[i].torn)
			}
		})
	}
	wg.Wait()
}

// errMore makes the slow decoder say what stands behind a record.
var errMore = errors.New("more than one value on the line")

// parse reads one line. Blank lines are no records and nothing is wrong with
// them. The fast decoder accepts nothing that encoding/json refuses (a fuzz
// test holds it to that), but for absurd nesting, which is refused when the
// record is sent; the words of an error are encoding/json's.
func parse(b []byte, torn bool) (record.Item, string) {
	if len(bytes.TrimSpace(b)) == 0 {
		return record.Item{}, ""
	}
	if len(b) > record.MaxItem {
		return record.Item{}, fmt.Sprintf("the line has %d bytes, over the limit of %d", len(b), record.MaxItem)
	}
	var it record.Item
	// Strings of the record share the segment's memory, which is not written
	// to: a backlog of a million lines is read without a million allocations
	// a field.
	rest, err := json.Parse(b, &it, json.ZeroCopy)
	if err == nil && len(bytes.TrimSpace(rest)) > 0 {
		err = errMore
	}
	if err == nil {
		if err = it.ValidateEnvelope(); err != nil {
			return record.Item{}, err.Error()
		}
		return it, ""
	}
	if torn {
		return record.Item{}, "the line is torn: it ends without a newline"
	}
	it = record.Item{}
	if slow := stdjson.Unmarshal(b, &it); slow != nil {
		err = record.Explain(slow)
	}
	return record.Item{}, err.Error()
}
