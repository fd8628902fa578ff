package install

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// nobody is another user for tests of rights when they run as root, whom no
// mode stops.
const nobody = 65534

// asNobody runs the test again as another user when this is root, and reports
// whether it did.
func asNobody(t *testing.T) bool {
	t.Helper()
	if os.Geteuid() != 0 {
		return false
	}
	dir, err := os.MkdirTemp("", "rights")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	self := filepath.Join(dir, "test")
	b, err := os.ReadFile(os.Args[0]) // the test's own folder may be closed to others
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(self, b, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Dir, cmd.Env = dir, []string{"TMPDIR=" + dir, "HOME=" + dir, "PATH=" + os.Getenv("PATH")}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS") {
		t.Errorf("as another user: %v\n%s", err, out)
	}
	return true
}

// A farm of links to files that another program makes, and that its user
// can't write.
func TestReadOnlyLinkFarm(t *testing.T) {
	if asNobody(t) {
		return
	}
	for _, c := range []struct {
		name       string
		file, farm os.FileMode
	}{{"the folder", 0o644, 0o555}, {"the file", 0o444, 0o755}} {
		t.Run(c.name, func(t *testing.T) {
			h := newHooks(t)
			farm := t.TempDir()
			target := filepath.Join(farm, "settings.json")
			write(t, target, "{}\n", c.file)
			mkdir(t, h.Home)
			if err := os.Symlink(target, h.path()); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(farm, c.farm); err != nil {
				t.Fatal(err)
			}
			defer os.Chmod(farm, 0o755)
			_, err := h.install(nil)
			want := h.path() + " is a link to " + target + ", which is not yours to write here: add the hooks where that file is made, shinstall hooks --dry-run shows them: "
			if err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v", err)
			}
			if list, err := os.ReadDir(h.Home); err != nil || len(list) != 1 {
				t.Errorf("something was written: %v, %v", list, err)
			}
			r, steps := recorder()
			r.DryRun = true
			if err := h.Install(t.Context(), r); err != nil || !strings.Contains(steps.all(), "shq hook stop") {
				t.Errorf("a dry run: %v\n%s", err, steps.all())
			}
		})
	}
}

func TestHomeThatCannotBeWritten(t *testing.T) {
	if asNobody(t) {
		return
	}
	h := newHooks(t)
	root := filepath.Dir(h.Home)
	if err := os.Chmod(root, 0o555); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(root, 0o755)
	_, err := h.install(nil)
	if err == nil || !strings.Contains(err.Error(), "write to "+root+": permission denied") {
		t.Errorf("got %v", err)
	}
	f := File{Path: filepath.Join(root, "a", "b", "c"), New: []byte("x")}
	if err := f.Writable(); err == nil || !strings.Contains(err.Error(), "permission denied") {
		t.Errorf("got %v", err)
	}
}

// Settings that can't be read are nothing to write over.
func TestSettingsThatCannotBeRead(t *testing.T) {
	if asNobody(t) {
		return
	}
	h := newHooks(t)
	mkdir(t, h.Home)
	write(t, h.path(), "{}\n", 0o200)
	if _, err := h.install(nil); err == nil || !strings.Contains(err.Error(), "permission denied") {
		t.Errorf("got %v", err)
	}
	if p := h.Look(t.Context()); p.State != Unclear {
		t.Errorf("%+v", p)
	}
}

// Root that acts for somebody leaves the file theirs.
func TestOwnerIsKept(t *testing.T) {
	if os.Geteuid() != 0 {
		if gid := os.Getegid(); gid >= 0 { // another user can own nothing else: the file stays their own
			h := newHooks(t)
			mkdir(t, h.Home)
			write(t, h.path(), "{}\n", 0o600)
			if _, err := h.install(nil); err != nil {
				t.Error(err)
			}
		}
		return
	}
	h := newHooks(t)
	mkdir(t, h.Home)
	write(t, h.path(), "{}\n", 0o640)
	if err := os.Chown(h.path(), nobody, nobody); err != nil {
		t.Fatal(err)
	}
	if _, err := h.install(nil); err != nil {
		t.Fatal(err)
	}
	st, err := os.Stat(h.path())
	if err != nil {
		t.Fatal(err)
	}
	if sys := st.Sys().(*syscall.Stat_t); sys.Uid != nobody || sys.Gid != nobody || st.Mode().Perm() != 0o640 {
		t.Errorf("owner %d:%d, mode %v", sys.Uid, sys.Gid, st.Mode())
	}
}
