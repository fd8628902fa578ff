// Command bench measures speed, each thing beside what it is compared with in
// the same run, and prints ratios: these hold when a machine's speed drifts.
// It judges nothing; docs/performance.md has the goals.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

func main() {
	bin := flag.String("bin", "bin", "folder of the built tools")
	only := flag.String("only", "", "run only the rows whose name contains this")
	flag.Parse()
	if spec := os.Getenv(pollEnv); spec != "" {
		if err := pollingWatcher(spec); err != nil {
			fmt.Fprintln(os.Stderr, "bench: polling watcher:", err)
			os.Exit(1)
		}
		return
	}
	if spec := os.Getenv(serverEnv); spec != "" {
		if err := servePolls(spec); err != nil {
			fmt.Fprintln(os.Stderr, "bench: server:", err)
			os.Exit(1)
		}
		return
	}
	if spec := os.Getenv(bundleEnv); spec != "" {
		if err := packOrOpen(spec); err != nil {
			fmt.Fprintln(os.Stderr, "bench: bundle:", err)
			os.Exit(1)
		}
		return
	}
	if err := run(*bin, *only); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// bench is what the rows share.
type bench struct {
	bin string // absolute
	dir string // of this run

	quiet bool // the watcher's log is not shown
}

// row is one comparison.
type row struct {
	name string
	goal string
	run  func(b *bench) error
}

func rows() []row {
	return []row{
		{"shq event, whole process", "≤ 1.5 × an empty program, below the shell hook", (*bench).event},
		{"append while the hub hangs", "p99 ≤ 1.5 × idle", (*bench).appendBesideHungHub},
		{"append → hub", "p99 ≤ 100 ms", (*bench).appendToHub},
		{"drain", "linear; ≥ 5 × jq", (*bench).drain},
		{"digest of a transcript", "≥ 5 × jq; after 1 KiB more the same at any size", (*bench).digest},
		{"bundle of 1 GiB", "≥ 1 × tar | zstd -3 | age, ≤ 64 MiB", (*bench).bundles},
		{"idle watcher", "CPU ≤ 1/10 of a 2 s poll, RSS ≤ 20 MiB", (*bench).idle},
		{"50 hooks that wait for an answer", "RSS ≤ 10 MiB each, no CPU", (*bench).asks},
		{"50 hooks that wait for messages", "RSS ≤ 10 MiB each, no CPU", (*bench).mailboxes},
		{"10,000 idle long polls", "≤ 2 × the memory of a bare handler, wake p99 ≤ 50 ms", (*bench).polls},
		{"heartbeats stored", "≥ 0.5 × bare inserts", (*bench).heartbeats},
	}
}

func run(bin, only string) error {
	abs, err := filepath.Abs(bin)
	if err != nil {
		return err
	}
	for _, r := range rows() {
		if !strings.Contains(r.name, only) {
			continue
		}
		dir, err := os.MkdirTemp("", "shbench")
		if err != nil {
			return err
		}
		fmt.Printf("%s (goal: %s)\n", r.name, r.goal)
		err = r.run(&bench{bin: abs, dir: dir})
		if rerr := os.RemoveAll(dir); err == nil {
			err = rerr
		}
		if err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
	}
	return nil
}

func (b *bench) tool(name string) string { return filepath.Join(b.bin, name) }

// times is a sorted set of durations.
type times []time.Duration

func (t times) at(q float64) time.Duration {
	slices.Sort(t)
	if len(t) == 0 {
		return 0
	}
	return t[min(int(q*float64(len(t))), len(t)-1)]
}

func say(format string, args ...any) { fmt.Printf("  "+format+"\n", args...) }

func ms(d time.Duration) string { return fmt.Sprintf("%.2f ms", float64(d.Microseconds())/1000) }
