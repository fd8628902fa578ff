package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"sessionhub/cmd/internal/front"
	"sessionhub/lib/claude"
	"sessionhub/lib/config"
	"sessionhub/lib/control"
	"sessionhub/lib/herdr"
	"sessionhub/lib/hook"
	"sessionhub/lib/hubclient"
	"sessionhub/lib/lock"
	"sessionhub/lib/record"
	"sessionhub/lib/runlog"
	"sessionhub/lib/session"
	"sessionhub/lib/state"
	"sessionhub/lib/watch"
)

// working are the settings of the machine's side.
func working() []string {
	return []string{"server_url", "allow_http", "token_file", "machine", "herdr_sockets", "claude_home"}
}

// machineHub is a client with this machine's token, from a configuration that is
// read anew.
func machineHub(c *front.Call) (*hubclient.Client, error) {
	conf, err := reread(c)
	if err != nil {
		return nil, err
	}
	token, err := conf.MachineToken()
	if err != nil {
		return nil, fmt.Errorf("%w (shinstall hub, or shinstall join URL, gets one)", err)
	}
	return hubclient.New(conf, token)
}

// reread is the configuration as the file has it now, with what flags and
// environment set over it.
func reread(c *front.Call) (config.Config, error) {
	conf, err := config.Load(c.Getenv)
	if err != nil {
		return conf, err
	}
	if c.Config.ServerURL != "" {
		conf.ServerURL = c.Config.ServerURL
	}
	conf.AllowHTTP = conf.AllowHTTP || c.Config.AllowHTTP
	conf.TokenFile, conf.Machine = c.Config.TokenFile, c.Config.Machine
	conf.HerdrSockets, conf.ClaudeHome = c.Config.HerdrSockets, c.Config.ClaudeHome
	var remote front.Switch
	if s := c.Getenv("SESSIONHUB_REMOTE_START"); s != "" {
		if err := remote.Set(s); err != nil {
			return conf, fmt.Errorf("%w: SESSIONHUB_REMOTE_START: %w", config.ErrInvalid, err)
		}
		conf.RemoteStart = bool(remote)
	}
	return conf, nil
}

// doer carries claims out on this machine.
func doer(c *front.Call) (*control.Doer, error) {
	dir, err := state.Default(c.Getenv)
	if err != nil {
		return nil, front.Fail(front.ExitConfig, err)
	}
	if err := dir.Ensure(); err != nil {
		return nil, err
	}
	return &control.Doer{
		Desk: desk(c, dir), Dir: dir, Home: c.Getenv("HOME"), Now: time.Now,
		Who:    fmt.Sprintf("shctl, process %d", os.Getpid()),
		Config: func() (config.Config, error) { return reread(c) },
	}, nil
}

func desk(c *front.Call, dir state.Dir) *session.Desk {
	return &session.Desk{
		Dir: dir, Home: claude.Home(c.Config.ClaudeHome), Getenv: c.Getenv, Now: time.Now, Pause: session.Pause, Timing: session.DefaultTiming(),
		Client: func(socket string) session.Herdr { return &herdr.Client{Socket: socket} },
		Sockets: func() []string {
			named := append([]string{c.Getenv("HERDR_SOCKET_PATH")}, c.Config.HerdrSockets...)
			return watch.KnownSockets(dir, c.Getenv, named)
		},
	}
}

func pollVerb() front.Verb {
	return front.Verb{
		Name: "poll", Short: "carry out what the hub asks of this machine", Settings: working(),
		Long: `Keeps a long poll open at the hub and carries out what comes: messages, Remote
Control links, starts and resumes. shwatch run keeps one running. It ends with
SIGTERM, or when its standard input is a pipe that closes.`,
		Run: poll,
		Files: []string{
			"poll.lock             held while it runs", "leases/SESSION.lock   held while a session is acted on",
			"requests/ID.json      what was begun and is not settled", "messages/SESSION/     messages that its hook gives to a session",
			"resumed.json          what was resumed lately",
		},
		Exits: []front.Exit{{Code: front.ExitBusy, When: "another one runs"}},
	}
}

func poll(ctx context.Context, c *front.Call) error {
	if len(c.Args) > 0 {
		return front.Usage("no arguments are wanted, not %q", c.Args[0])
	}
	d, err := doer(c)
	if err != nil {
		return err
	}
	l, err := lock.Acquire(filepath.Join(string(d.Dir), "poll.lock"), probeWait)
	if errors.Is(err, lock.ErrBusy) {
		return front.Fail(front.ExitBusy, errors.New("another shctl poll runs for this state directory"))
	}
	if err != nil {
		return err
	}
	defer l.Release()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go endWith(c.Stdin, cancel)
	m, err := mover(c, d.Dir)
	if err != nil {
		return err
	}
	d.Move = m.Do
	go m.Tend(ctx, func(ctx context.Context, k record.MoveKey) error {
		hub, err := machineHub(c)
		if err != nil {
			return err
		}
		return hub.PutMoveKey(ctx, k)
	})
	p := &control.Poll{
		Connect: func() (control.Hub, error) { return machineHub(c) },
		Doer:    d, Log: &runlog.Log{W: c.Stderr}, Timing: control.DefaultTiming(), Pause: session.Pause,
	}
	p.Run(ctx)
	return nil
}

// mover hands steps of moves to the shmove beside this program.
func mover(c *front.Call, dir state.Dir) (*control.Mover, error) {
	program, err := hook.Beside("shmove")
	if err != nil {
		return nil, err
	}
	return &control.Mover{Program: program, Dir: dir, Env: os.Environ(), Stderr: os.Stderr, Log: &runlog.Log{W: c.Stderr}, Pause: session.Pause}, nil
}

// probeWait is how long poll tries for its lock: a probe holds it for an
// instant.
const probeWait = 200 * time.Millisecond

// endWith ends the loop when its standard input is a pipe and closes: whoever
// started it has died.
func endWith(in io.Reader, end func()) {
	f, ok := in.(*os.File)
	if !ok {
		return
	}
	st, err := f.Stat()
	if err != nil || st.Mode()&os.ModeNamedPipe == 0 {
		return
	}
	io.Copy(io.Discard, f) // until it closes
	end()
}

func claimVerb() front.Verb {
	var wait front.Wait
	var limit time.Duration
	return front.Verb{
		Name: "claim", Args: "[flags]", Short: "take one request from the hub", Settings: working(),
		Long: `Takes this machine's next request from the hub and prints it, or nothing when
there is none. Whoever takes it has 30 seconds to carry it out; after that it is
offered again.`,
		Flags: func(fs *flag.FlagSet) {
			fs.Var(&wait, "wait", "wait up to `30s` for one")
			fs.DurationVar(&limit, "timeout", 0, "wait that `long` for one, such as 20s; the same as --wait=20s")
		},
		Run: func(ctx context.Context, c *front.Call) error {
			if limit < 0 {
				return front.Usage("--timeout is %s, and must not be negative", limit)
			}
			hub, err := machineHub(c)
			if err != nil {
				return err
			}
			claim, ok, err := hub.NextClaim(ctx, max(limit, wait.Limit(30*time.Second)))
			if err != nil || !ok {
				return err
			}
			return front.PrintJSON(c.Stdout, claim)
		},
		Examples: []front.Example{{Line: "shctl claim --wait | shctl do | shctl post", For: "one request by hand"}},
		Exits:    hubExits(),
	}
}

func doVerb() front.Verb {
	return front.Verb{
		Name: "do", Args: "< claims.jsonl", Short: "carry out claims, without a hub", Settings: working(),
		Long: `Reads claims as JSON, one after the other, carries them out on this machine and
prints a result for each. What was typed once is not typed again.`,
		Run: func(ctx context.Context, c *front.Call) error {
			d, err := doer(c)
			if err != nil {
				return err
			}
			m, err := mover(c, d.Dir)
			if err != nil {
				return err
			}
			d.Move = m.Do
			var last record.Result
			err = eachJSON(c.Input(ctx), func(claim record.Claim) error {
				last = d.Do(ctx, claim)
				return front.PrintJSON(c.Stdout, last)
			})
			if err == nil && last.State == record.ResultBusy {
				return front.Fail(front.ExitBusy, errors.New(last.Detail))
			}
			return err
		},
		Exits: []front.Exit{{Code: front.ExitBusy, When: "the last session was busy"}, {Code: front.ExitData, When: "what was read is no claim"}},
	}
}

func postVerb() front.Verb {
	return front.Verb{
		Name: "post", Args: "< results.jsonl", Short: "report results to the hub", Settings: working(),
		Long: "Reads results as JSON, one after the other, as shctl do prints them, and hands them\nto the hub.",
		Run: func(ctx context.Context, c *front.Call) error {
			d, err := doer(c)
			if err != nil {
				return err
			}
			hub, err := machineHub(c)
			if err != nil {
				return err
			}
			return eachJSON(c.Input(ctx), func(r record.Result) error {
				if err := r.Validate(); err != nil {
					return front.Fail(front.ExitData, err)
				}
				if err := hub.PostResult(ctx, r); err != nil {
					return err
				}
				return d.Settled(r.ID)
			})
		},
		Exits: hubExits(front.Exit{Code: front.ExitData, When: "what was read is no result, or its request has ended"}),
	}
}

// eachJSON reads values one after the other.
func eachJSON[T any](r io.Reader, f func(v T) error) error {
	dec := json.NewDecoder(bufio.NewReader(r))
	for n := 1; ; n++ {
		var v T
		err := dec.Decode(&v)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return front.Fail(front.ExitData, fmt.Errorf("value %d: %w", n, record.Explain(err)))
		}
		if err := f(v); err != nil {
			return err
		}
	}
}
