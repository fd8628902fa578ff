package watch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"sessionhub/lib/config"
	"sessionhub/lib/herdr"
	"sessionhub/lib/hubclient"
	"sessionhub/lib/lock"
	"sessionhub/lib/queue"
	"sessionhub/lib/record"
	"sessionhub/lib/state"
)

// Status is watcher.json, what a watcher says of itself.
type Status struct {
	Version   string                  `json:"version"`
	Since     record.Time             `json:"since"`
	Servers   map[string]ServerStatus `json:"servers"` // by socket; "" is outside herdr
	LastError *LastError              `json:"last_error,omitempty"`
	NoWatch   string                  `json:"no_file_watch,omitempty"` // why changes of files are not told, so that it looks every 2 s
}

// ServerStatus is how the heartbeats of one herdr server go.
type ServerStatus struct {
	HerdrSession string       `json:"herdr_session"`
	HerdrVersion string       `json:"herdr_version,omitempty"`
	Sessions     int          `json:"sessions"`
	LastGood     *record.Time `json:"last_good,omitempty"`
	Error        string       `json:"error,omitempty"`
}

// LastError is the last thing that went wrong, and what to do.
type LastError struct {
	At   record.Time `json:"at"`
	Text string      `json:"text"`
	Hint string      `json:"hint,omitempty"`
}

// Report is what `shwatch status` prints.
type Report struct {
	Running bool         `json:"running"`
	PID     int          `json:"pid,omitempty"`
	Since   *record.Time `json:"since,omitempty"`
	Version string       `json:"version,omitempty"`
	Queue   queue.Stat   `json:"queue"`
	Hints   []string     `json:"hints,omitempty"`
	Status
}

func (w *Watcher) saveStatus() {
	if err := state.ReplaceJSON(w.Dir.WatcherStatus(), w.status); err != nil {
		w.Log.Failure("status: %v", err)
	}
}

// hint says what to do about an error of a delivery.
func hint(err error) string {
	switch {
	case errors.Is(err, herdr.ErrUnreachable):
		return "start herdr; its startup hook and this watcher do the rest"
	case errors.Is(err, config.ErrNoToken):
		return "shinstall hub, or shinstall join URL with a new code, puts this machine's token there; records stay queued until then"
	case errors.Is(err, config.ErrInvalid):
		return "complete config.toml; records stay queued until then"
	}
	switch hubclient.Classify(err) {
	case hubclient.Denied:
		return "the hub refuses this machine's token: shinstall hub, or shinstall join URL with a new code, gets a valid one"
	case hubclient.Retry:
		return "records stay queued; nothing is lost, deliveries go on when the hub is back"
	}
	return ""
}

// ReadReport reads what an operator asks for from the state directory.
func ReadReport(dir state.Dir) (Report, error) {
	var r Report
	held, err := lock.Held(dir.WatcherLock())
	if err != nil {
		return r, err
	}
	r.Running = held
	if err := state.ReadJSON(dir.WatcherStatus(), &r.Status); err != nil {
		r.Status = Status{}
		r.Hints = append(r.Hints, err.Error()+": the next heartbeat writes it anew")
	}
	if held {
		r.PID, r.Version = label(dir)
		since := r.Status.Since
		r.Since = &since
	}
	q := &queue.Queue{Dir: dir}
	if r.Queue, err = q.Stat(); err != nil {
		return r, err
	}
	if n := r.Queue.SetAside; n > 0 {
		r.Hints = append(r.Hints, fmt.Sprintf("%d lines are in queue.bad.jsonl, each with its reason; jq -r .line queue.bad.jsonl | shq add puts them back, then remove the file", n))
	}
	if !r.Running && r.Queue.Queued+r.Queue.Sending+r.Queue.Spilled > 0 {
		r.Hints = append(r.Hints, "no watcher runs, and records wait: shwatch run, or any event of herdr, starts one")
	}
	return r, nil
}

// Label is the content of watcher.lock: the process id alone on the first
// line, then the start time and the version.
func Label(pid int, since time.Time, version string) string {
	return fmt.Sprintf("%d\n%s\n%s\n", pid, record.At(since), version)
}

func label(dir state.Dir) (pid int, version string) {
	b, err := os.ReadFile(dir.WatcherLock())
	if err != nil {
		return 0, ""
	}
	lines := strings.Split(string(b), "\n")
	pid, err = strconv.Atoi(strings.TrimSpace(lines[0]))
	if err != nil || pid <= 0 { // 0 would signal a whole group (field report A59)
		return 0, ""
	}
	if len(lines) > 2 {
		version = lines[2]
	}
	return pid, version
}

// stopEvery is how often Stop looks whether the watcher has ended.
const stopEvery = 20 * time.Millisecond

// Stop ends a running watcher and waits for its lock. stopped is false when
// none ran.
func Stop(ctx context.Context, dir state.Dir) (stopped bool, err error) {
	held, err := lock.Held(dir.WatcherLock())
	if err != nil || !held {
		return false, err
	}
	pid, _ := label(dir)
	if pid == 0 {
		return false, fmt.Errorf("watcher.lock is held, but does not name its holder")
	}
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil && !errors.Is(err, syscall.ESRCH) {
		return false, fmt.Errorf("stop watcher %d: %w", pid, err)
	}
	for {
		if held, err := lock.Held(dir.WatcherLock()); err != nil || !held {
			return err == nil, err
		}
		select {
		case <-ctx.Done():
			return false, fmt.Errorf("watcher %d does not end: %w", pid, lock.ErrBusy)
		case <-time.After(stopEvery):
		}
	}
}
