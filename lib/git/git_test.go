package git

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func gitIn(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=dev", "-c", "user.email=dev@example.org"}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func TestRead(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	if h, ok := Read(ctx, dir); ok {
		t.Errorf("outside a work tree: %+v", h)
	}
	if _, ok := Read(ctx, filepath.Join(dir, "missing")); ok {
		t.Error("a missing folder is a work tree")
	}
	gitIn(t, dir, "init", "-q", "-b", "main")
	if h, ok := Read(ctx, dir); !ok || h != (Head{Branch: "main"}) {
		t.Errorf("before the first commit: %+v, %v", h, ok)
	}
	gitIn(t, dir, "remote", "add", "origin", "https://user:secret@example.org/a/b.git")
	gitIn(t, dir, "commit", "-q", "--allow-empty", "-m", "one")
	head := gitIn(t, dir, "rev-parse", "HEAD")
	sub := filepath.Join(dir, "sub dir")
	if err := os.Mkdir(sub, 0o755); err != nil {
		t.Fatal(err)
	}
	if h, ok := Read(ctx, sub); !ok || h != (Head{"https://example.org/a/b.git", "main", head}) {
		t.Errorf("in a subfolder: %+v, %v", h, ok)
	}
	gitIn(t, dir, "checkout", "-q", "--detach")
	if h, _ := Read(ctx, dir); h.Branch != "" || h.Commit != head {
		t.Errorf("detached: %+v", h)
	}
}
