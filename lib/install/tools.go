package install

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// ErrTools means that the tools that would be named in a file are not where
// that file would name them. Nothing was written.
var ErrTools = errors.New("run make install first, or name the folder of the tools with --bin-dir")

// ErrProgram means that a program which this depends on was not found.
var ErrProgram = errors.New("not found")

// Tools is the folder of the tools, as it is written into the files of
// others: absolute, and with its links as they are. Package managers keep
// that path and move what it leads to, so that it outlives an upgrade (field
// report A30).
type Tools string

// FindTools is the folder in which a program was found that was called as
// arg0. When the same program is also on the PATH, that place is the one that
// lasts: a call may have named a versioned folder.
func FindTools(arg0 string, getenv func(string) string) (Tools, error) {
	var self string
	if strings.ContainsRune(arg0, filepath.Separator) {
		abs, err := filepath.Abs(arg0)
		if err != nil {
			return "", fmt.Errorf("find the folder of the tools: %w", err)
		}
		self = abs
	}
	for _, dir := range filepath.SplitList(getenv("PATH")) {
		path := filepath.Join(dir, filepath.Base(arg0))
		if !filepath.IsAbs(dir) || executable(path) != nil {
			continue
		}
		if self == "" || samePlace(self, path) {
			return Tools(dir), nil
		}
	}
	if self == "" {
		return "", fmt.Errorf("%s is not on the PATH: %w", arg0, ErrTools)
	}
	return Tools(filepath.Dir(self)), nil
}

// NamedTools is the folder that a person named.
func NamedTools(dir string) (Tools, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("--bin-dir: %w", err)
	}
	return Tools(abs), nil
}

// samePlace reports whether two paths lead to the same file.
func samePlace(a, b string) bool {
	sa, errA := os.Stat(a)
	sb, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(sa, sb)
}

// Path is the path of a tool.
func (t Tools) Path(tool string) string { return filepath.Join(string(t), tool) }

// Check says which of the tools can't be run at the path that would be
// written. The path must also be one that every file format takes.
func (t Tools) Check(tools ...string) error {
	if !filepath.IsAbs(string(t)) {
		return fmt.Errorf("the folder of the tools %q is not an absolute path: %w", string(t), ErrTools)
	}
	if !plain(string(t)) {
		return fmt.Errorf("the folder of the tools %q has characters that no settings file takes: %w", string(t), ErrTools)
	}
	for _, name := range tools {
		if err := executable(t.Path(name)); err != nil {
			return fmt.Errorf("%w: %w", err, ErrTools)
		}
	}
	return nil
}

// plain reports whether every file format takes a text.
func plain(s string) bool { return utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl) }

// Version is the version that an installed tool says it has.
func (t Tools) Version(ctx context.Context, tool string) (string, error) {
	c := Command{Argv: []string{t.Path(tool), "--version"}}
	out, err := Ask(ctx, c)
	if err != nil {
		return "", err
	}
	words := strings.Fields(string(out.Stdout))
	if out.Code != 0 || len(words) < 2 || words[0] != tool {
		return "", fmt.Errorf("%s: its answer is not %s's: %s", c.Line(), tool, out.Line())
	}
	return words[1], nil
}

func executable(path string) error {
	st, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s does not exist", path)
	case err != nil:
		return err
	case !st.Mode().IsRegular() || st.Mode().Perm()&0o111 == 0:
		return fmt.Errorf("%s is not a program", path)
	}
	return nil
}

// versioned matches a folder that is named for a version: foo-1.2.3, v1.2, 1.2.3.
var versioned = regexp.MustCompile(`(^|[-_@])v?[0-9]+(\.[0-9]+)+([-+.][0-9A-Za-z.]+)?$`)

// Passing reports whether a path is one that package managers take away with
// the next upgrade (field report A30).
func Passing(path string) bool {
	path += "/"
	for _, part := range []string{"/nix/store/", "/Cellar/", "/go-build"} {
		if strings.Contains(path, part) {
			return true
		}
	}
	return slices.ContainsFunc(strings.Split(path, "/"), versioned.MatchString)
}

// Doubt says why the path may not be what is meant, or "" if nothing is known
// against it.
func (t Tools) Doubt(getenv func(string) string) string {
	if Passing(string(t)) {
		return fmt.Sprintf("%s goes away with the next upgrade: put the tools on the PATH, or name a lasting folder with --bin-dir", t)
	}
	for _, dir := range filepath.SplitList(getenv("PATH")) {
		other := filepath.Join(dir, "shinstall")
		if !filepath.IsAbs(dir) || executable(other) != nil {
			continue
		}
		if samePlace(other, t.Path("shinstall")) {
			return ""
		}
		return fmt.Sprintf("the tools of %s are named, not those of %s, which is on the PATH", t, dir)
	}
	return ""
}

// program finds a program: the one that a flag named, else one on the PATH.
// The path is absolute, with its links as they are (field report A46).
func program(named, name, flag string, getenv func(string) string) (string, error) {
	if named != "" {
		abs, err := filepath.Abs(named)
		if err == nil {
			err = executable(abs)
		}
		if err != nil {
			return "", fmt.Errorf("%s: %w: %w", flag, err, ErrProgram)
		}
		return abs, nil
	}
	for _, dir := range filepath.SplitList(getenv("PATH")) {
		if path := filepath.Join(dir, name); filepath.IsAbs(dir) && executable(path) == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("%s is not on the PATH: install it, or name it with %s: %w", name, flag, ErrProgram)
}
