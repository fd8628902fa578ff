package doctor

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"sessionhub/lib/lock"
	"sessionhub/lib/queue"
	"sessionhub/lib/record"
	"sessionhub/lib/text"
)

const (
	// beatLimit is how old the last good heartbeat may be: they come every
	// minute, and the hub takes a machine for silent after three.
	beatLimit = 3 * time.Minute
	// startWait is how long a watcher may take to its first heartbeat.
	startWait = 3 * time.Second
	// pollWait is how long shctl poll may take to start beside the watcher.
	pollWait = 3 * time.Second
	// probeWait is how long a record may take to the hub: an append is delivered
	// within milliseconds, a tick takes 30 s where no file watch works.
	probeWait = 10 * time.Second
	// probeLimit bounds the check, with the withdrawal of the probe.
	probeLimit = 15 * time.Second
	// waitLimit is how long a record may wait: one of a pane whose session is
	// not known waits 10 minutes, then it is set aside.
	waitLimit = 11 * time.Minute
)

// watcher looks at the one process that delivers. One that has just started tells
// of its heartbeats a moment later.
func (d *Doctor) watcher(ctx context.Context, known Known) (f Finding) {
	ctx, cancel := context.WithTimeout(ctx, startWait)
	defer cancel()
	_, _ = d.until(ctx, func() (bool, error) {
		w, err := d.Watcher()
		if err != nil {
			f = broken("", "%v", err)
			return true, nil
		}
		f = d.judge(w, known)
		return f.State == Fine || !w.Running || w.Version != d.Version, nil
	})
	return f
}

func (d *Doctor) judge(w Watching, known Known) Finding {
	if !w.Running {
		if need, missing := known.unmet(checkServer, checkPlugin); missing {
			return untested("none runs; the plugin starts it with herdr, and %s is %s", need, known.words(need))
		}
		return broken("any event of herdr starts one, and shwatch run one in the foreground; "+d.logSays()+" why it ended",
			"no watcher runs: nothing is delivered")
	}
	if w.Version != d.Version {
		return broken("shinstall plugin has it replaced", "the watcher (process %d) is of version %s, and these tools of %s", w.PID, orElse(text.Line(w.Version), "unknown"), d.Version)
	}
	if f, ok := d.beats(w, known); !ok {
		return f
	}
	f := fine("process %d of version %s, since %s", w.PID, w.Version, w.Since.Local().Format(time.DateTime))
	if w.NoWatch != "" { // it works, only later
		f.Why += "; it is told of no changes of files (" + text.Line(w.NoWatch) + "), and looks every 2 s"
		f.Fix = "sysctl fs.inotify.max_user_instances and max_user_watches may be too small"
	}
	return f
}

// logSays begins a hint.
func (d *Doctor) logSays() string { return "tail " + d.Dir.WatcherLog() + " says" }

// beats says what is wrong with the heartbeats of herdr's server. What keeps all
// of them from the hub is another check's.
func (d *Doctor) beats(w Watching, known Known) (Finding, bool) {
	if _, missing := known.unmet(checkAccess, checkServer); missing {
		return Finding{}, true
	}
	b, there := w.Beats[d.Socket]
	age := d.Now().Sub(b.LastGood)
	fix, why := orElse(w.Hint, d.logSays()+" why"), orElse(orElse(text.Line(b.Error), text.Line(w.Error)), "it tells no reason")
	switch {
	case !there:
		return broken("shwatch stop, then any event of herdr starts a new one", "the watcher does not know herdr's server at %s", d.Socket), false
	case b.LastGood.IsZero():
		return broken(fix, "no heartbeat of %s reached the hub yet: %s", d.Socket, why), false
	case age > beatLimit:
		return broken(fix, "the last heartbeat of %s that reached the hub is %s old: %s", d.Socket, age.Round(time.Second), why), false
	}
	return Finding{}, true
}

// poll looks whether requests of the hub are taken.
func (d *Doctor) poll(ctx context.Context, _ Known) Finding {
	ctx, cancel := context.WithTimeout(ctx, pollWait)
	defer cancel()
	held, err := d.until(ctx, func() (bool, error) { return lock.Held(filepath.Join(string(d.Dir), "poll.lock")) })
	switch {
	case err != nil:
		return broken("", "%v", err)
	case !held:
		return broken("tail "+d.Dir.WatcherLog()+" has the lines of shctl poll", "shctl poll does not run: nothing that is asked of this machine is carried out")
	}
	return fine("shctl poll runs")
}

// probe sends a record that tells nothing on its way, and waits until it has
// arrived.
func (d *Doctor) probe(ctx context.Context, _ Known) (f Finding) {
	stamp := queue.NewStamp(d.Now())
	it, err := record.NewItem(stamp.ID, stamp.At, record.SourceCLI, record.KindProbe, struct{}{})
	if err != nil {
		return broken("", "%v", err)
	}
	if err := d.Queue.Append(queue.Durable, it); err != nil {
		return broken("", "append to the queue: %v", err)
	}
	began := d.Now()
	place, err := d.delivered(ctx, it.ID)
	switch {
	case err != nil:
		f = broken("", "%v", err)
	case place == queue.Gone:
		return fine("a record reached the hub in %s", d.Now().Sub(began).Round(time.Millisecond))
	case place == queue.Aside:
		return broken("tail "+d.Dir.Bad()+" says why; remove the line", "the record that was sent was set aside")
	case place == queue.Waiting:
		f = broken("shwatch stop, then any event of herdr starts a new watcher; tail "+d.Dir.WatcherLog(), "a record waits in queue.jsonl: the watcher did not take it within %s", probeWait)
	default:
		f = broken("tail "+d.Dir.WatcherLog()+" says why; nothing is lost", "a record was taken by the watcher, and did not reach the hub within %s", probeWait)
	}
	if _, err := d.Queue.Withdraw(it.ID); err != nil { // what was taken goes out with the rest
		f.Why += fmt.Sprintf(" (and it could not be taken back: %v)", err)
	}
	return f
}

func (d *Doctor) delivered(ctx context.Context, id string) (place queue.Place, err error) {
	ctx, cancel := context.WithTimeout(ctx, probeWait)
	defer cancel()
	_, err = d.until(ctx, func() (bool, error) {
		place, err = d.Queue.Where(id)
		return place == queue.Gone || place == queue.Aside, err
	})
	return place, err
}

// queue looks at what waits, and at what was set aside.
func (d *Doctor) queue(_ context.Context, known Known) Finding {
	s, err := d.Queue.Stat()
	if err != nil {
		return broken("", "%v", err)
	}
	waiting := s.Queued + s.Sending + s.Spilled
	if s.SetAside > 0 {
		return broken(fmt.Sprintf("each has its reason in it; jq -r .line %s | shq add puts them back, then remove the file", d.Dir.Bad()),
			"%s set aside in queue.bad.jsonl", were(s.SetAside))
	}
	if waiting > 0 && s.Oldest != nil && d.Now().Sub(s.Oldest.Time) > waitLimit {
		age := d.Now().Sub(s.Oldest.Time).Round(time.Second)
		if need, missing := known.unmet(checkAccess, checkWatcher); missing {
			return untested("%s for up to %s, as %s is %s; nothing is lost", wait(waiting), age, need, known.words(need))
		}
		return broken("shq cat shows them, tail "+d.Dir.WatcherLog()+" says what keeps them", "%s for up to %s", wait(waiting), age)
	}
	return fine("%s, none for long; nothing was set aside", wait(waiting))
}

func wait(n int64) string {
	if n == 1 {
		return "1 record waits"
	}
	return fmt.Sprintf("%d records wait", n)
}

func were(n int64) string {
	if n == 1 {
		return "1 line was"
	}
	return fmt.Sprintf("%d lines were", n)
}
