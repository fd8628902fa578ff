package tree

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestEntryName(t *testing.T) {
	for path, want := range map[string]string{
		"a b/ü": "untracked/a b/ü", "100%": "untracked/100%25", "a\\b": "untracked/a%5Cb", "a\nb": "untracked/a%0Ab", "caf\xe9": "untracked/caf%E9", "\u0085": "untracked/%C2%85",
	} {
		if got := EntryName(File{Path: path}); got != want {
			t.Errorf("EntryName(%q) = %q, want %q", path, got, want)
		}
	}
	for _, bad := range []string{"untracked/%", "untracked/%4", "untracked/%zz", "untracked/a%+1"} {
		if got, err := entryPath(bad); err == nil {
			t.Errorf("entryPath(%q) = %q", bad, got)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		path := string(rapid.SliceOf(rapid.Byte()).Draw(t, "path"))
		name := EntryName(File{Path: path})
		if !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl) || strings.Contains(name, `\`) {
			t.Fatalf("%q", name)
		}
		if got, err := entryPath(name); err != nil || got != path {
			t.Fatalf("%q became %q: %v", path, got, err)
		}
	})
}

func TestInside(t *testing.T) {
	for _, name := range []string{"a", "a/b", ".gitignore", ".github/x", "git", "a b", "...", "git~2", "x.git/a"} {
		if !inside(name) {
			t.Errorf("%q is refused", name)
		}
	}
	for _, name := range []string{"", ".", "..", "/a", "a/", "a//b", "a/../b", "../a", "./a", ".git", "a/.GIT/x", ".git. /x", ".git\u200c", "GIT~1", "a\x00"} {
		if inside(name) {
			t.Errorf("%q is taken", name)
		}
	}
}
