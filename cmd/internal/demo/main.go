// Command demo runs the main job end to end and shows it: a hub, a simulated
// herdr with three panes that run a stand-in for Claude Code in real
// terminals, and the tools as processes. It kills the hub in the middle,
// starts it again, and ends with the books. It fails when they don't balance.
// It leaves no process and no file behind.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"sessionhub/cmd/internal/world"
	"sessionhub/lib/claude/claudetest"
	"sessionhub/lib/herdr"
	"sessionhub/lib/herdr/herdrtest"
	"sessionhub/lib/record"
)

func main() {
	bin := flag.String("bin", "bin", "folder of the built tools")
	flag.Parse()
	if err := run(*bin); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func run(bin string) error {
	root, err := os.MkdirTemp("", "sh") // short, for socket paths
	if err != nil {
		return err
	}
	defer os.RemoveAll(root)
	d := &demo{began: time.Now()}
	if err := d.set(root, bin); err != nil {
		return err
	}
	err = d.play()
	if d.herdr != nil {
		d.herdr.Close()
	}
	if cerr := d.w.Close(); err == nil {
		err = cerr
	}
	return err
}

// demo is the play and its stage.
type demo struct {
	w     *world.World
	herdr *herdrtest.Server
	h     *herdr.Client
	panes []string
	ids   []string // of the sessions that began in the panes
	began time.Time
}

func (d *demo) say(format string, args ...any) {
	fmt.Printf("\n[%4.1fs] %s\n", time.Since(d.began).Seconds(), fmt.Sprintf(format, args...))
}

// set puts the stage up: tools, stand-in, hub, herdr.
func (d *demo) set(root, bin string) error {
	own := filepath.Join(root, "bin")
	if err := os.CopyFS(own, os.DirFS(bin)); err != nil {
		return fmt.Errorf("%w (make build makes the tools)", err)
	}
	if err := claudetest.BuildTo(own); err != nil {
		return err
	}
	var err error
	if d.w, err = world.New(root, own); err != nil {
		return err
	}
	d.say("shhub serve")
	if err := d.w.StartHub(); err != nil {
		return err
	}
	d.say("a simulated herdr with the plugin linked; its startup hook starts shwatch run")
	d.herdr, err = herdrtest.New(herdrtest.Config{Home: d.w.Home, Socket: d.w.Socket, Env: d.w.Env(), Dir: d.w.Home})
	if err != nil {
		return err
	}
	d.h = d.w.Herdr()
	dir, err := d.w.Plugin()
	if err != nil {
		return err
	}
	if _, err := d.h.LinkPlugin(context.Background(), herdr.Link{Path: dir, Enabled: true}); err != nil {
		return err
	}
	return d.herdr.Restart(herdrtest.Stopped)
}

func (d *demo) play() error {
	for _, act := range []func() error{d.start, d.work, d.outage, d.clear, d.leave, d.books} {
		if err := act(); err != nil {
			return err
		}
	}
	d.say("done")
	return nil
}

// start opens three panes and types claude into each.
func (d *demo) start() error {
	d.say("three panes, and claude typed into each")
	for range 3 {
		made, err := d.h.CreateWorkspace(context.Background(), herdr.NewWorkspace{Cwd: filepath.Join(d.w.Home, "Code", "app"), Label: "app"})
		if err != nil {
			return err
		}
		d.panes = append(d.panes, made.RootPane.PaneID)
		if err := d.line(len(d.panes)-1, "claude"); err != nil {
			return err
		}
	}
	return d.until("three sessions are idle", func(s []record.Session) bool {
		d.ids = nil
		for _, p := range d.panes {
			d.ids = append(d.ids, inPane(s, p).Session)
		}
		return count(s, record.Idle) == 3
	})
}

func (d *demo) work() error {
	d.say("pane 1 works, pane 2 asks for permission")
	if err := d.line(0, "work 30s"); err != nil {
		return err
	}
	if err := d.line(1, "ask"); err != nil {
		return err
	}
	return d.until("one works and one waits", func(s []record.Session) bool {
		return count(s, record.Working) == 1 && count(s, record.Blocked) == 1
	})
}

// outage kills the hub while things happen.
func (d *demo) outage() error {
	d.say("the hub is killed; pane 2 is answered, pane 3 asks, a script reports")
	if err := d.w.KillHub(); err != nil {
		return err
	}
	if err := d.line(1, "1"); err != nil {
		return err
	}
	if err := d.line(2, "ask"); err != nil {
		return err
	}
	err := world.Until("herdr says that pane 3 waits", func() (bool, error) {
		p, err := d.h.Pane(context.Background(), d.panes[2])
		return err == nil && p.AgentStatus == herdr.StatusBlocked, nil
	})
	if err != nil {
		return err
	}
	if _, err := d.w.Tool("shq", "report", "--session", d.ids[0], "--done", "half of the parser", "--waiting-on", "a review"); err != nil {
		return err
	}
	stat, err := d.w.Tool("shq", "stat")
	if err != nil {
		return err
	}
	fmt.Printf("  shq stat: %s", stat)
	d.say("the hub is back")
	if err := d.w.StartHub(); err != nil {
		return err
	}
	return d.until("the hub knows what happened", func(s []record.Session) bool {
		two, three := inPane(s, d.panes[1]), inPane(s, d.panes[2])
		return three.AgentState == record.Blocked && two.AgentState != record.Blocked
	})
}

func (d *demo) clear() error {
	d.say("pane 3 is answered, and /clear typed into it: the same pane, a new session")
	if err := d.line(2, "1"); err != nil {
		return err
	}
	if err := d.until("nobody waits", func(s []record.Session) bool { return count(s, record.Blocked) == 0 }); err != nil {
		return err
	}
	if err := d.line(2, "/clear"); err != nil {
		return err
	}
	return d.until("the new session is there", func(s []record.Session) bool {
		now := inPane(s, d.panes[2]).Session
		return len(s) == 3 && now != "" && now != d.ids[2]
	})
}

func (d *demo) leave() error {
	d.say("pane 2: /exit; pane 3 is closed")
	if err := d.line(1, "/exit"); err != nil {
		return err
	}
	if err := d.h.ClosePane(context.Background(), d.panes[2]); err != nil {
		return err
	}
	return d.until("one session is left", func(s []record.Session) bool { return len(s) == 1 })
}

// books prints what was made and what arrived, and fails when they differ.
func (d *demo) books() error {
	var b world.Books
	err := world.Until("nothing waits", func() (bool, error) {
		var err error
		b, err = d.w.Books()
		return err == nil && b.Waiting() == 0, nil
	})
	if err != nil {
		return err
	}
	made := b.Delivered + b.Superseded + b.SetAside
	d.say("the books")
	fmt.Printf("  %d records made = %d delivered + %d superseded + %d set aside\n", made, b.Delivered, b.Superseded, b.SetAside)
	if both := b.Recorded - b.Delivered; both == 0 {
		fmt.Printf("  %d delivered = %d recorded at the hub\n", b.Delivered, b.Recorded)
	} else {
		fmt.Printf("  %d delivered + %d superseded whose answer the killed hub had owed = %d recorded at the hub\n", b.Delivered, both, b.Recorded)
	}
	if b.SetAside != 0 || !b.Balance() {
		return fmt.Errorf("the books don't balance: %+v", b)
	}
	return nil
}

func (d *demo) line(pane int, text string) error {
	return d.h.SendInput(context.Background(), d.panes[pane], text, "Enter")
}

// until waits for what shctl says, and shows it as a person sees it.
func (d *demo) until(what string, cond func([]record.Session) bool) error {
	began := time.Now()
	err := world.Until(what, func() (bool, error) {
		list, err := d.w.Sessions()
		return err == nil && cond(list), err
	})
	took := time.Since(began).Round(10 * time.Millisecond)
	table, terr := d.w.Terminal("shctl", "status")
	fmt.Printf("  $ shctl status          # %s, after %s\n%s", what, took, table)
	return errors.Join(err, terr)
}

func count(list []record.Session, state record.AgentState) int {
	n := 0
	for _, s := range list {
		if s.AgentState == state || state == record.Idle && s.AgentState == record.Done {
			n++
		}
	}
	return n
}

func inPane(list []record.Session, pane string) record.Session {
	for _, s := range list {
		if s.Herdr != nil && s.Herdr.PaneID == pane {
			return s
		}
	}
	return record.Session{}
}
