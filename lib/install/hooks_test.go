package install

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// steps records what a run tells.
type steps struct{ list []Step }

func recorder() (*Run, *steps) {
	s := &steps{}
	return &Run{Target: "t", Report: func(x Step) { s.list = append(s.list, x) }}, s
}

func (s *steps) all() string {
	var b strings.Builder
	for _, x := range s.list {
		fmt.Fprintf(&b, "%s %s: %s %s %s %s\n", x.Outcome, x.Step, x.Path, x.Command, x.Detail, x.Diff)
	}
	return b.String()
}

func (s *steps) outcomes() []Outcome {
	var list []Outcome
	for _, x := range s.list {
		list = append(list, x.Outcome)
	}
	return list
}

type hooksRig struct{ *Hooks }

func newHooks(t *testing.T) hooksRig {
	t.Helper()
	root := t.TempDir()
	bin := filepath.Join(t.TempDir(), "bin")
	mkdir(t, bin)
	write(t, filepath.Join(bin, "shq"), "#!/bin/sh\n", 0o755)
	return hooksRig{&Hooks{Tools: Tools(bin), Home: filepath.Join(root, "claude"), Rows: HookRows()}}
}

func (h hooksRig) install(fault func(string) error) (*steps, error) {
	r, s := recorder()
	r.fault = fault
	return s, h.Install(context.Background(), r)
}

func mkdir(t *testing.T, dir string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil { // whatever the umask is
		t.Fatal(err)
	}
}

func content(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// A second run changes no byte, no time and no inode.
func TestTwiceChangesNothing(t *testing.T) {
	h := newHooks(t)
	mkdir(t, h.Home)
	write(t, h.path(), `{"model": "sonnet"}`, 0o600)
	if _, err := h.install(nil); err != nil {
		t.Fatal(err)
	}
	old := time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)
	files := []string{h.path(), h.path() + BackupSuffix}
	var before []os.FileInfo
	for _, f := range files {
		if err := os.Chtimes(f, old, old); err != nil {
			t.Fatal(err)
		}
		st, err := os.Stat(f)
		if err != nil {
			t.Fatal(err)
		}
		before = append(before, st)
	}
	s, err := h.install(nil)
	if err != nil || !slices.Equal(s.outcomes(), []Outcome{Unchanged}) {
		t.Fatalf("%v\n%s", err, s.all())
	}
	for i, f := range files {
		st, err := os.Stat(f)
		if err != nil || !os.SameFile(st, before[i]) || !st.ModTime().Equal(old) {
			t.Errorf("%s: %v, %v", f, st, err)
		}
	}
}

// A crash, or a full disk, leaves the old file or the new one, with its mode;
// nothing half-written lies about.
func TestA32FullDiskLeavesTheSettings(t *testing.T) {
	const settings = "{\n  \"env\": {\"KEY\": \"secret\"}\n}\n"
	full := func(on string) func(string) error {
		return func(path string) error {
			if strings.HasSuffix(path, on) {
				return &os.PathError{Op: "write", Path: path, Err: syscall.ENOSPC}
			}
			return nil
		}
	}
	for _, on := range []string{BackupSuffix, "settings.json"} {
		h := newHooks(t)
		mkdir(t, h.Home)
		write(t, h.path(), settings, 0o640)
		_, err := h.install(full(on))
		if !errors.Is(err, syscall.ENOSPC) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", on, err)
		}
		if got := content(t, h.path()); got != settings {
			t.Errorf("%s: %s", on, got)
		}
		if _, err := h.install(nil); err != nil {
			t.Fatal(err)
		}
		for _, f := range []string{h.path(), h.path() + BackupSuffix} {
			if st, err := os.Stat(f); err != nil || st.Mode().Perm() != 0o640 {
				t.Errorf("%s: %v, %v", f, st, err)
			}
		}
		if got := content(t, h.path()+BackupSuffix); got != settings {
			t.Errorf("the backup: %s", got)
		}
		list, err := os.ReadDir(h.Home)
		if err != nil || len(list) != 2 {
			t.Errorf("%v, %v", list, err)
		}
		r, s := recorder()
		r.fault = full("settings.json")
		if err := h.Remove(context.Background(), r); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("%v\n%s", err, s.all())
		}
		if !strings.Contains(content(t, h.path()), "shq hook stop") {
			t.Error("a failed removal changed the settings")
		}
	}
}

// What another program wrote between our reading and our writing is not lost.
func TestChangedMeanwhile(t *testing.T) {
	h := newHooks(t)
	mkdir(t, h.Home)
	write(t, h.path(), "{}\n", 0o600)
	const theirs = `{"model": "opus"}`
	_, err := h.install(func(path string) error {
		if path == h.path() {
			write(t, path, theirs, 0o600)
		}
		return nil
	})
	if !errors.Is(err, ErrChanged) || content(t, h.path()) != theirs {
		t.Errorf("%v: %s", err, content(t, h.path()))
	}
	if _, err := h.install(nil); err != nil || !strings.Contains(content(t, h.path()), `"opus"`) {
		t.Errorf("%v: %s", err, content(t, h.path()))
	}
}

// The backup is how the settings are without sessionhub, also after a person
// and an upgrade changed them: one file.
func TestBackupIsWithoutOurs(t *testing.T) {
	h := newHooks(t)
	mkdir(t, h.Home)
	write(t, h.path(), "{\n  \"hooks\": {}\n}\n", 0o600)
	if _, err := h.install(nil); err != nil {
		t.Fatal(err)
	}
	edited := strings.Replace(content(t, h.path()), "{\n", "{\n  \"model\": \"opus\",\n", 1)
	write(t, h.path(), edited, 0o600)
	moved := filepath.Join(filepath.Dir(string(h.Tools)), "moved")
	if err := os.Rename(string(h.Tools), moved); err != nil {
		t.Fatal(err)
	}
	h.Tools = Tools(moved)
	if _, err := h.install(nil); err != nil {
		t.Fatal(err)
	}
	const want = "{\n  \"model\": \"opus\",\n  \"hooks\": {}\n}\n"
	if got := content(t, h.path()+BackupSuffix); got != want {
		t.Errorf("the backup is %s", got)
	}
	r, s := recorder()
	if err := h.Remove(context.Background(), r); err != nil || content(t, h.path()) != want {
		t.Errorf("%v, %s\n%s", err, s.all(), content(t, h.path()))
	}
	if list, err := os.ReadDir(h.Home); err != nil || len(list) != 1 {
		t.Errorf("%v, %v", list, err)
	}
}

// A link to a file that is not there yet is followed, too.
func TestDanglingLink(t *testing.T) {
	h := newHooks(t)
	mkdir(t, h.Home)
	target := filepath.Join(t.TempDir(), "dotfiles.json")
	rel, err := filepath.Rel(h.Home, target)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(rel, h.path()); err != nil {
		t.Fatal(err)
	}
	if _, err := h.install(nil); err != nil || !strings.Contains(content(t, target), "shq hook stop") {
		t.Fatal(err)
	}
	r, s := recorder()
	if err := h.Remove(context.Background(), r); err != nil {
		t.Errorf("%v\n%s", err, s.all())
	}
	if _, err := os.Stat(target); !os.IsNotExist(err) {
		t.Error("what was made is still there")
	}
	if to, err := os.Readlink(h.path()); err != nil || to != rel {
		t.Errorf("the link is %q, %v", to, err)
	}
}

func TestLinkToItself(t *testing.T) {
	h := newHooks(t)
	mkdir(t, h.Home)
	if err := os.Symlink("settings.json", h.path()); err != nil {
		t.Fatal(err)
	}
	if _, err := h.install(nil); !errors.Is(err, syscall.ELOOP) {
		t.Errorf("got %v", err)
	}
}

// The diff that a dry run shows leads from the old text to the one that is
// written.
func TestDryRunIsExact(t *testing.T) {
	const old = "{\n  \"a\": 1\n}"
	h := newHooks(t)
	mkdir(t, h.Home)
	write(t, h.path(), old, 0o600)
	r, s := recorder()
	r.DryRun = true
	if err := h.Install(context.Background(), r); err != nil || content(t, h.path()) != old {
		t.Fatalf("%v: %s", err, content(t, h.path()))
	}
	if _, err := h.install(nil); err != nil {
		t.Fatal(err)
	}
	diff := s.list[1].Diff
	head, hunk, _ := strings.Cut(diff, ",113 @@\n")
	if head != "--- "+h.path()+"\n+++ "+h.path()+"\n@@ -1,3 +1" {
		t.Fatal(diff)
	}
	var from, to strings.Builder
	for line := range strings.Lines(hunk) {
		text := line[1:]
		switch line[0] {
		case '-':
			from.WriteString(text)
		case '+':
			to.WriteString(text)
		case ' ':
			from.WriteString(text)
			to.WriteString(text)
		}
	}
	if from.String() != old+"\n" || to.String() != content(t, h.path())+"\n" || !strings.HasSuffix(diff, "}\n\\ No newline at end of file\n") {
		t.Errorf("%s\nwas shown, and\n%s\nwritten", diff, content(t, h.path()))
	}
}
