package hook

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sessionhub/lib/detach"
	"sessionhub/lib/lock"
	"sessionhub/lib/runlog"
	"sessionhub/lib/state"
)

// EnsureWatcher starts `shwatch run` in the background unless one runs. Two
// callers may both start one: the second watcher finds the lock held and
// ends. Program is the path of shwatch.
func EnsureWatcher(dir state.Dir, program string) error {
	if err := dir.Ensure(); err != nil {
		return err
	}
	held, err := lock.Held(dir.WatcherLock())
	if err != nil || held {
		return err
	}
	if err := runlog.Truncate(dir.WatcherLog()); err != nil { // no watcher does it while none can start
		return err
	}
	_, err = detach.Start(detach.Command{
		Program: program, Args: []string{"run"}, Env: Environ(os.Environ()),
		Dir: "/", Log: dir.WatcherLog(),
	})
	return err
}

// Getenv is the environment that a hook heeds. Its host gives it the
// environment of its own start, not a shell's, so settings come from the
// config file alone: of SESSIONHUB_* only those count that say where things
// are, or what is forbidden.
func Getenv(getenv func(string) string) func(string) string {
	return func(key string) string {
		if !heeded(key) {
			return ""
		}
		return getenv(key)
	}
}

// Environ is Getenv for the environment that a hook hands on.
func Environ(env []string) []string {
	var out []string
	for _, kv := range env {
		if key, _, _ := strings.Cut(kv, "="); heeded(key) {
			out = append(out, kv)
		}
	}
	return out
}

func heeded(key string) bool {
	switch key {
	case "SESSIONHUB_STATE_DIR", "SESSIONHUB_CONFIG", "SESSIONHUB_REMOTE_START":
		return true
	}
	return !strings.HasPrefix(key, "SESSIONHUB_")
}

// Beside is the path of a tool that is installed beside the running one.
// Links are not resolved: package managers keep the link and move what it
// points to.
func Beside(tool string) (string, error) {
	self := os.Args[0]
	if !filepath.IsAbs(self) {
		var err error
		if self, err = os.Executable(); err != nil {
			return "", fmt.Errorf("find %s: %w", tool, err)
		}
	}
	return filepath.Join(filepath.Dir(self), tool), nil
}
