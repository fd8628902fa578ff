//go:build soak

package watch

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sessionhub/lib/hub/hubtest"
	"sessionhub/lib/queue"
	"sessionhub/lib/state"
)

// Ten times the load test, with a hundred killed watchers.
func TestSoakLoad(t *testing.T) {
	runLoad(t, load{records: 200_000, kills: 100, rounds: 20, limit: 45 * time.Minute})
}

// A watcher does not grow: after 20,000 passes it has the memory and the
// descriptors that it had after 1,000.
func TestSoakWatcherDoesNotGrow(t *testing.T) {
	hub := hubtest.Start(t)
	dir := state.Dir(filepath.Join(t.TempDir(), "state"))
	if err := dir.Ensure(); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), loadEnv+"="+strings.Join([]string{"watch", string(dir), hub.URL, hub.MachineToken}, ","))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { cmd.Process.Kill(); cmd.Wait() }()
	q := &queue.Queue{Dir: dir}
	deliver := func(n int) {
		for i := range n {
			if err := q.Append(queue.Fast, reportItem("A", fmt.Sprint(i))); err != nil {
				t.Fatal(err)
			}
			waitFor(t, 20*time.Second, "the record is taken", func() bool {
				st, err := os.Stat(dir.Queue())
				return err != nil || st.Size() == 0
			})
		}
	}
	deliver(1_000)
	rss, fds := usage(t, cmd.Process.Pid)
	deliver(19_000)
	after, fdsAfter := usage(t, cmd.Process.Pid)
	t.Logf("RSS %d KiB, then %d; descriptors %d, then %d", rss, after, fds, fdsAfter)
	if after > rss*3/2 || fdsAfter > fds+2 {
		t.Errorf("it grew: RSS %d KiB, then %d; descriptors %d, then %d", rss, after, fds, fdsAfter)
	}
}

func usage(t *testing.T, pid int) (rss, fds int) {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(b), "VmRSS:")
	if _, err := fmt.Sscan(after, &rss); err != nil {
		t.Fatal(err)
	}
	list, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		t.Fatal(err)
	}
	return rss, len(list)
}
