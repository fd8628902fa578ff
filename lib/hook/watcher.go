package hook

import (
	"fmt"
	"os"
	"path/filepath"

	"sessionhub/lib/detach"
	"sessionhub/lib/lock"
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
	_, err = detach.Start(detach.Command{
		Program: program, Args: []string{"run"}, Env: os.Environ(),
		Dir: "/", Log: dir.WatcherLog(),
	})
	return err
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
