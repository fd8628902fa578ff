package queue

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"sessionhub/lib/state"
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
	cmd.Dir, cmd.Env = dir, []string{"TMPDIR=" + dir, "HOME=" + dir}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS") {
		t.Errorf("as another user: %v\n%s", err, out)
	}
	return true
}

func TestReadOnlyDirectory(t *testing.T) {
	if asNobody(t) {
		return
	}
	q := newQueue(t)
	mustAppend(t, q, report(t, "a"))
	if err := os.Remove(q.Dir.QueueLock()); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(string(q.Dir), 0o500); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(string(q.Dir), 0o700)
	err := q.Append(Fast, report(t, "b"))
	if err == nil || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "permission denied") {
		t.Errorf("got %v", err)
	}
	if s, err := q.Stat(); err != nil || s.Queued != 1 {
		t.Errorf("the old content: %+v, %v", s, err)
	}
}

func TestAnotherUsersDirectory(t *testing.T) {
	if asNobody(t) {
		return
	}
	q := &Queue{Dir: state.Dir("/")}
	err := q.Append(Fast, report(t, "a"))
	if err == nil || !strings.Contains(err.Error(), "belongs to user id 0") {
		t.Errorf("got %v", err)
	}
}

func TestAFileInPlaceOfTheDirectory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	q := &Queue{Dir: state.Dir(path)}
	if err := q.Append(Fast, report(t, "a")); err == nil || !strings.Contains(err.Error(), "is not a directory") {
		t.Errorf("got %v", err)
	}
}
