package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"sessionhub/lib/claude"
	"sessionhub/lib/config"
	"sessionhub/lib/herdr/herdrtest"
	"sessionhub/lib/hubclient"
	"sessionhub/lib/queue"
	"sessionhub/lib/runlog"
	"sessionhub/lib/state"
	"sessionhub/lib/watch"
)

// idleFor is how long the idle watchers are watched: heartbeats are left out of
// it, as both would send them.
const idleFor = 40 * time.Second

// idle compares the processor time of an idle watcher with one that polls.
func (b *bench) idle() error {
	v, err := b.serve(context.Background())
	if err != nil {
		return err
	}
	defer v.stop()
	h, err := herdrtest.New(herdrtest.Config{Home: b.dir, Env: []string{"HOME=" + b.dir, "PATH=" + os.Getenv("PATH")}})
	if err != nil {
		return err
	}
	defer h.Close()
	if err := os.MkdirAll(claude.Home(filepath.Join(b.dir, ".claude")).Sessions(), 0o700); err != nil {
		return err
	}
	watcher, err := b.watcher(v, b.dir)
	if err != nil {
		return err
	}
	polling, err := b.watcherPolling(v, h.Client().Socket)
	if err != nil {
		return err
	}
	time.Sleep(5 * time.Second) // both have begun
	w0, _, err := procUsage(watcher.Process.Pid)
	if err != nil {
		return err
	}
	p0, _, err := procUsage(polling.Process.Pid)
	if err != nil {
		return err
	}
	time.Sleep(idleFor)
	w1, rss, err := procUsage(watcher.Process.Pid)
	if err != nil {
		return err
	}
	p1, prss, err := procUsage(polling.Process.Pid)
	if err != nil {
		return err
	}
	ours, poll := w1-w0, p1-p0
	say("shwatch run            %s of CPU in %s, RSS %.1f MiB", ms(ours), idleFor, float64(rss)/1024)
	say("the same, every 2 s    %s of CPU in %s, RSS %.1f MiB; ours is %.2f of it", ms(poll), idleFor, float64(prss)/1024, float64(ours)/float64(poll))
	if err := stop(watcher); err != nil {
		return err
	}
	return stop(polling)
}

// pollEnv makes this program a watcher that looks every 2 s.
const pollEnv = "SESSIONHUB_BENCH_POLL"

// watcherPolling starts the same watcher with a 2 s tick, for a state
// directory of its own.
func (b *bench) watcherPolling(v *served, socket string) (*exec.Cmd, error) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = []string{"HOME=" + filepath.Join(b.dir, "poll"), "PATH=" + os.Getenv("PATH"), pollEnv + "=" + v.url + " " + v.token + " " + socket}
	cmd.Stderr = os.Stderr
	return cmd, cmd.Start()
}

// pollingWatcher is what pollEnv asks for.
func pollingWatcher(spec string) error {
	var url, token, socket string
	if _, err := fmt.Sscan(spec, &url, &token, &socket); err != nil {
		return err
	}
	dir, err := state.Default(os.Getenv)
	if err != nil {
		return err
	}
	home := filepath.Join(os.Getenv("HOME"), ".claude")
	timing := watch.DefaultTiming()
	timing.Tick = 2 * time.Second
	w := &watch.Watcher{
		Queue: &queue.Queue{Dir: dir}, Dir: dir, Log: &runlog.Log{W: os.Stderr}, Machine: "tower", Version: "bench", Now: time.Now,
		Looker: &watch.PresenceLooker{ClaudeHome: home, Getenv: os.Getenv}, Sockets: []string{socket}, Timing: timing,
		Connect: func() (watch.Hub, error) { return hubclient.New(config.Config{ServerURL: url}, token) },
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	return w.Run(ctx)
}
