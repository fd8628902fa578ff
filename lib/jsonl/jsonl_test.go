package jsonl

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

type got struct {
	text   string
	offset int64
	torn   bool
	long   bool
	size   int64
}

func readAll(t *testing.T, r io.Reader, limit int) []got {
	t.Helper()
	var all []got
	for lr := NewReader(r, limit); ; {
		l, err := lr.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, got{string(l.Bytes), l.Offset, l.Torn, l.Long, l.Size})
	}
}

func TestNext(t *testing.T) {
	big := strings.Repeat("x", 3*bufferSize)
	for _, c := range []struct {
		name  string
		in    string
		limit int
		want  []got
	}{
		{"nothing", "", 10, nil},
		{"lines", "ab\n\ncd\n", 10, []got{{"ab", 0, false, false, 2}, {"", 3, false, false, 0}, {"cd", 4, false, false, 2}}},
		{"torn", "ab\ncd", 10, []got{{"ab", 0, false, false, 2}, {"cd", 3, true, false, 2}}},
		{"long", "abcdef\ng\n", 3, []got{{"abc", 0, false, true, 6}, {"g", 7, false, false, 1}}},
		{"exactly the limit", "abc\n", 3, []got{{"abc", 0, false, false, 3}}},
		{"over the buffer, under the limit", big + "\nz\n", 4 * bufferSize, []got{{big, 0, false, false, 3 * bufferSize}, {"z", 3*bufferSize + 1, false, false, 1}}},
		{"over both", big + "\nz\n", 5, []got{{"xxxxx", 0, false, true, 3 * bufferSize}, {"z", 3*bufferSize + 1, false, false, 1}}},
		{"over both and torn", big, 5, []got{{"xxxxx", 0, true, true, 3 * bufferSize}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			have := readAll(t, iotest.HalfReader(strings.NewReader(c.in)), c.limit)
			if len(have) != len(c.want) {
				t.Fatalf("%d lines, want %d", len(have), len(c.want))
			}
			for i := range have {
				if have[i] != c.want[i] {
					t.Errorf("line %d: size %d offset %d torn %v long %v, want size %d offset %d torn %v long %v", i,
						have[i].size, have[i].offset, have[i].torn, have[i].long,
						c.want[i].size, c.want[i].offset, c.want[i].torn, c.want[i].long)
				}
			}
		})
	}
}

func TestNextReturnsReadErrors(t *testing.T) {
	want := errors.New("the disk is gone")
	r := NewReader(io.MultiReader(strings.NewReader("a\n"), iotest.ErrReader(want)), 10)
	if _, err := r.Next(); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Next(); !errors.Is(err, want) {
		t.Errorf("got %v", err)
	}
}
