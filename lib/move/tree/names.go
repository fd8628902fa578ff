package tree

import (
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// untrackedPrefix is where a bundle keeps untracked files.
const untrackedPrefix = "untracked/"

const (
	maxEntryName = 4096 // bytes of a name in a bundle
	maxPart      = 255  // of one part of it
)

// EntryName is the name of an untracked file in a bundle. Paths are bytes; a
// bundle's names are plain text without backslashes. What is not, and the
// percent sign, is written as %XX for each byte.
func EntryName(f File) string {
	var b strings.Builder
	b.WriteString(untrackedPrefix)
	for i := 0; i < len(f.Path); {
		r, n := utf8.DecodeRuneInString(f.Path[i:])
		if part := f.Path[i : i+n]; r == utf8.RuneError && n == 1 || r == '%' || r == '\\' || unicode.IsControl(r) {
			for _, c := range []byte(part) {
				fmt.Fprintf(&b, "%%%02X", c)
			}
		} else {
			b.WriteString(part)
		}
		i += n
	}
	return b.String()
}

// entryPath is the path that EntryName spelled.
func entryPath(name string) (string, error) {
	name = strings.TrimPrefix(name, untrackedPrefix)
	var b strings.Builder
	for i := 0; i < len(name); i++ {
		if name[i] != '%' {
			b.WriteByte(name[i])
			continue
		}
		if i+3 > len(name) {
			return "", errors.New("a percent sign without two digits")
		}
		c, err := strconv.ParseUint(name[i+1:i+3], 16, 8)
		if err != nil {
			return "", errors.New("a percent sign without two digits")
		}
		b.WriteByte(byte(c))
		i += 2
	}
	return b.String(), nil
}

// unfit says why a bundle does not take a file or link by this name; empty if
// it does.
func unfit(f File) string {
	name := EntryName(f)
	tooLong := len(name) > maxEntryName
	for part := range strings.SplitSeq(name, "/") {
		tooLong = tooLong || len(part) > maxPart
	}
	switch {
	case tooLong:
		return "its name is too long"
	case !inside(f.Path):
		return "some file system takes its name for .git"
	case len(f.Link) > maxEntryName || !utf8.ValidString(f.Link) || strings.ContainsFunc(f.Link, unicode.IsControl):
		return "a link whose target is not plain text"
	}
	return ""
}

// inside reports whether a path stays in the work tree, and out of its .git
// in every spelling that some file system takes for it.
func inside(name string) bool {
	if name == "" || name == "." || strings.HasPrefix(name, "/") || path.Clean(name) != name || strings.ContainsRune(name, 0) {
		return false
	}
	for part := range strings.SplitSeq(name, "/") {
		plain := strings.Map(func(r rune) rune {
			if unicode.Is(unicode.Cf, r) { // HFS+ overlooks them
				return -1
			}
			return unicode.ToLower(r)
		}, part)
		plain = strings.TrimRight(plain, ". ")
		if part == ".." || plain == ".git" || plain == "git~1" {
			return false
		}
	}
	return true
}
