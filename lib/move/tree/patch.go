package tree

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"sessionhub/lib/git"
)

// section is what a patch says of one path. A path whose type changes has two
// sections: it is deleted, then created.
type section struct {
	path             string
	created, deleted bool
	gitlink          bool
	facts            string // its lines on modes and object names
	from, to         int64  // bytes of the patch
}

// attributes reports whether the path says how others are written.
func (s section) attributes() bool { return path.Base(s.path) == ".gitattributes" }

const maxHeader = 64 << 10 // of a line that names a path; paths end at 4 KiB

// sections reads a patch that `git diff` made with diffArgs. A line that
// starts with "diff --git " starts a section wherever it stands: lines of
// content start with a blank, a sign or a backslash, and those of binary
// content hold no blank.
func sections(name string) ([]section, error) {
	if name == "" {
		return nil, nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("patch: %w", err)
	}
	defer f.Close()
	list, err := readSections(f)
	if err != nil {
		return nil, fmt.Errorf("patch: %w", err)
	}
	return list, nil
}

func readSections(r io.Reader) ([]section, error) {
	var list []section
	var at int64
	in := bufio.NewReaderSize(r, maxHeader)
	header := false
	for {
		line, err := in.ReadSlice('\n')
		begin := at
		at += int64(len(line))
		switch rest, isNew := bytes.CutPrefix(line, []byte("diff --git ")); {
		case isNew:
			name, err := diffPath(string(bytes.TrimSuffix(rest, []byte("\n"))))
			if err != nil {
				return nil, err
			}
			if len(list) > 0 {
				list[len(list)-1].to = begin
			}
			list = append(list, section{path: name, from: begin})
			header = true
		case len(line) == 0:
		case len(list) == 0:
			return nil, errors.New("it does not start with a path")
		case header:
			header = list[len(list)-1].note(string(line))
		}
		for errors.Is(err, bufio.ErrBufferFull) {
			line, err = in.ReadSlice('\n')
			at += int64(len(line))
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	if len(list) > 0 {
		list[len(list)-1].to = at
	}
	return list, nil
}

// note takes a line of the header; false ends it.
func (s *section) note(line string) (more bool) {
	switch {
	case strings.HasPrefix(line, "index "):
	case strings.HasPrefix(line, "old mode "), strings.HasPrefix(line, "new mode "):
	case strings.HasPrefix(line, "deleted file mode "):
		s.deleted = true
	case strings.HasPrefix(line, "new file mode "):
		s.created = true
	default:
		return false
	}
	s.facts += line
	s.gitlink = s.gitlink || strings.HasSuffix(line, " 160000\n")
	return true
}

// diffPath is the path of "a/x b/x": nothing is renamed, so that the halves
// are equal.
func diffPath(s string) (string, error) {
	if len(s)%2 == 1 {
		half := len(s) / 2
		a, errA := git.Unquote(s[:half])
		b, errB := git.Unquote(s[half+1:])
		if s[half] == ' ' && errA == nil && errB == nil && strings.HasPrefix(a, "a/") && strings.HasPrefix(b, "b/") && a[2:] == b[2:] && len(a) > 2 {
			return a[2:], nil
		}
	}
	return "", fmt.Errorf("it names two paths in one place: %s", show(s))
}

// facts are what a patch makes of each path.
func facts(list []section) map[string]string {
	m := make(map[string]string, len(list))
	for _, s := range list {
		m[s.path] += s.facts
	}
	return m
}

// copySections writes the sections of a patch that are to be kept, and says
// how many these are.
func copySections(dst io.Writer, name string, list []section, keep func(section) bool) (int, error) {
	f, err := os.Open(name)
	if err != nil {
		return 0, fmt.Errorf("patch: %w", err)
	}
	defer f.Close()
	n := 0
	for _, s := range list {
		if !keep(s) {
			continue
		}
		n++
		if _, err := io.Copy(dst, io.NewSectionReader(f, s.from, s.to-s.from)); err != nil {
			return n, fmt.Errorf("patch: %w", err)
		}
	}
	return n, nil
}

// diff is `git diff` as a patch that any git applies, whatever its user's
// settings say of prefixes, renames, colours and programs (field report A40).
func diff(args ...string) []string {
	return append([]string{"diff", "--binary", "--full-index", "--no-ext-diff", "--no-textconv", "--no-color", "--no-renames",
		"--src-prefix=a/", "--dst-prefix=b/", "--diff-algorithm=myers", "-U3", "--inter-hunk-context=0", "-O/dev/null",
		"--submodule=short", "--ita-invisible-in-index"}, args...)
}
