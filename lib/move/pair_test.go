package move

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sessionhub/lib/bundle"
	"sessionhub/lib/claude"
	"sessionhub/lib/claude/claudetest"
	"sessionhub/lib/config"
	"sessionhub/lib/herdr"
	"sessionhub/lib/herdr/herdrtest"
	"sessionhub/lib/hub/hubtest"
	"sessionhub/lib/hub/store"
	"sessionhub/lib/hubclient"
	"sessionhub/lib/move/tree"
	"sessionhub/lib/presence"
	"sessionhub/lib/queue"
	"sessionhub/lib/record"
	"sessionhub/lib/seal"
	"sessionhub/lib/session"
	"sessionhub/lib/state"
)

// patience bounds every wait of a test.
const patience = 60 * time.Second

// machine is one of two: a herdr with a stand-in Claude, a clone, and its end
// of moves.
type machine struct {
	p     *pair
	name  string
	s     server
	bin   string // of Claude Code
	clone string
	hub   *hubclient.Client
	end   *End
	steps []Step
}

// server is a herdr, double or real.
type server interface {
	Client() *herdr.Client
	Home() string
}

// maker makes the herdr of a machine whose Claude Code is in the folder bin.
type maker func(name string) (s server, bin string)

// doubles are stand-ins for both programs.
func doubles(t *testing.T) maker {
	return func(string) (server, string) {
		bin := claudetest.Build(t)
		return herdrtest.Start(t, herdrtest.WithPath(bin)), bin
	}
}

// pair is two machines with homes of their own, a remote and a hub.
type pair struct {
	t             *testing.T
	hub           *hubtest.Hub
	person        *hubclient.Client
	remote        string
	tower, laptop *machine
	id            string // of the session that moves
	make          maker
}

func newPair(t *testing.T) *pair {
	t.Helper()
	return newPairAt(t, hubtest.Start(t), doubles(t))
}

func newPairAt(t *testing.T, hub *hubtest.Hub, make maker) *pair {
	t.Helper()
	p := &pair{t: t, hub: hub, make: make, remote: filepath.Join(realDir(t, t.TempDir()), "app.git")}
	p.person = p.client(p.hub.UserToken, "")
	p.git("", "init", "-q", "--bare", "-b", "main", p.remote)
	p.tower = p.machine("tower", p.hub.MachineToken, "Code/app")
	p.git(p.tower.clone, "checkout", "-q", "-b", "main")
	p.write(p.tower.clone, "main.go", "package main\n")
	p.git(p.tower.clone, "add", ".")
	p.git(p.tower.clone, "commit", "-q", "-m", "one")
	p.git(p.tower.clone, "push", "-q", "-u", "origin", "main")
	p.laptop = p.machine("laptop", p.hub.AddToken(store.Token{Kind: store.KindMachine, Name: "laptop"}), "src/deep/app")
	return p
}

func realDir(t *testing.T, dir string) string {
	t.Helper()
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	return real
}

func (p *pair) client(token, machine string) *hubclient.Client {
	p.t.Helper()
	c, err := hubclient.New(config.Config{ServerURL: p.hub.URL, Machine: machine}, token)
	if err != nil {
		p.t.Fatal(err)
	}
	return c
}

func (p *pair) machine(name, token, clone string) *machine {
	p.t.Helper()
	m := &machine{p: p, name: name, hub: p.client(token, name)}
	m.s, m.bin = p.make(name)
	m.clone = filepath.Join(realDir(p.t, m.s.Home()), clone)
	if err := os.MkdirAll(filepath.Dir(m.clone), 0o755); err != nil {
		p.t.Fatal(err)
	}
	p.git("", "clone", "-q", p.remote, m.clone)
	claudetest.RealHome(p.t, m.s.Home(), m.clone)
	dir := state.Dir(filepath.Join(m.s.Home(), "state"))
	keys, err := seal.Load(filepath.Join(m.s.Home(), "config"))
	if err == nil {
		err = dir.Ensure()
	}
	if err != nil {
		p.t.Fatal(err)
	}
	timing := session.DefaultTiming()
	timing.Every, timing.Exit = 10*time.Millisecond, 3*time.Second
	home := claude.Home(filepath.Join(m.s.Home(), ".claude"))
	m.end = &End{
		Machine: name, Dir: dir, Home: home, Hub: m.hub, Keys: keys, Pins: &seal.Pins{Dir: dir, Now: time.Now},
		Desk: &session.Desk{
			Dir: dir, Home: home, Getenv: func(string) string { return "" }, Now: time.Now, Pause: session.Pause, Timing: timing,
			Sockets: func() []string { return []string{m.s.Client().Socket} },
			Client:  func(socket string) session.Herdr { return &herdr.Client{Socket: socket} },
		},
		Roots:  []string{filepath.Dir(filepath.Dir(m.clone))},
		Claude: func(ctx context.Context) (string, error) { return claude.Version(ctx, filepath.Join(m.bin, "claude")) },
		Limit:  bundle.DefaultLimit, MaxUntracked: tree.MaxUntracked, Now: time.Now, LockWait: LockWait,
		Pause: func(ctx context.Context, d time.Duration) { session.Pause(ctx, min(d, 20*time.Millisecond)) },
		Tell:  func(s Step) { m.steps = append(m.steps, s) },
	}
	if err := m.hub.PutMoveKey(p.t.Context(), keys.Public); err != nil {
		p.t.Fatal(err)
	}
	return m
}

func (p *pair) git(dir string, args ...string) string {
	p.t.Helper()
	cmd := exec.CommandContext(p.t.Context(), "git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org")
	out, err := cmd.CombinedOutput()
	if err != nil {
		p.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

func (p *pair) write(dir, name, content string) {
	p.t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

func (p *pair) until(what string, cond func() bool) {
	p.t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if cond() {
			return
		}
	}
	p.t.Fatalf("waited until %s; tower: %+v\nlaptop: %+v", what, p.tower.steps, p.laptop.steps)
}

// beat tells the hub what runs on the machine, as the watcher does.
func (m *machine) beat() {
	m.p.t.Helper()
	v, _, err := presence.Look(m.p.t.Context(), m.s.Client(), m.end.Home)
	if err != nil {
		m.p.t.Fatal(err)
	}
	snap := record.Snapshot{V: record.Version, At: record.At(time.Now()), Machine: m.name, HerdrSession: "default", HerdrVersion: "0.8.2", ToolsVersion: "test",
		Sessions: []record.LiveSession{}, UnidentifiedPanes: []record.UnidentifiedPane{}}
	for _, s := range v.Sessions {
		live := s.LiveSession
		if h, ok := gitOf(m.p.t.Context(), live.Cwd); ok {
			live.Git = h
		}
		snap.Sessions = append(snap.Sessions, live)
	}
	if err := m.hub.PutSnapshot(m.p.t.Context(), queue.NewStamp(time.Now()).ID, snap); err != nil {
		m.p.t.Fatal(err)
	}
}

// claude starts a session in the clone, and says something to it.
func (m *machine) claude(lines ...string) string {
	t := m.p.t
	t.Helper()
	made, err := m.s.Client().CreateWorkspace(t.Context(), herdr.NewWorkspace{Cwd: m.clone})
	if err != nil {
		t.Fatal(err)
	}
	m.enters(made.RootPane.PaneID, "claude")
	var id string
	m.p.until("Claude runs", func() bool {
		v, _, err := presence.Look(t.Context(), m.s.Client(), m.end.Home)
		if err != nil || len(v.Sessions) != 1 {
			return false
		}
		id = v.Sessions[0].Session
		return m.idle(id)
	})
	for _, l := range lines {
		m.say(id, l)
	}
	return id
}

func (m *machine) enters(pane, line string) {
	m.p.t.Helper()
	if err := m.s.Client().SendInput(m.p.t.Context(), pane, line, "Enter"); err != nil {
		m.p.t.Fatal(err)
	}
}

func (m *machine) screen(pane string) string {
	s, err := m.s.Client().Read(m.p.t.Context(), herdr.ReadParams{PaneID: pane, Source: herdr.ReadVisible})
	if err != nil {
		m.p.t.Fatal(err)
	}
	return s.Text
}

func (m *machine) desk() *session.Desk {
	if s, ok := m.end.Desk.(*slow); ok {
		return s.Desk
	}
	return m.end.Desk.(*session.Desk)
}

func (m *machine) idle(id string) bool {
	return m.desk().Gate(m.p.t.Context(), id).Answer == session.Open
}

// say sends a prompt and waits until it was answered.
func (m *machine) say(id, line string) {
	m.p.t.Helper()
	m.p.until("it is at its prompt", func() bool { return m.idle(id) })
	s, err := m.desk().Say(m.p.t.Context(), id, line, func() error { return nil })
	if err != nil || !s.Seen {
		m.p.t.Fatalf("%+v %v", s, err)
	}
	m.p.until("it answered", func() bool { return m.idle(id) })
}

// work carries out what the hub asks of the machine, until nothing more comes.
func (m *machine) work() bool {
	m.p.t.Helper()
	c, ok, err := m.hub.NextClaim(m.p.t.Context(), 0)
	if err != nil || !ok { // a hub that is down has nothing to do
		return false
	}
	res, err := m.carryOut(c)
	if err != nil {
		res = record.Result{State: record.ResultBusy, Detail: err.Error()}
		m.steps = append(m.steps, Step{Step: string(c.Action), Detail: err.Error()})
	}
	res.ID, res.V = c.ID, record.Version
	m.hub.PostResult(m.p.t.Context(), res) // it may have ended by what was posted before
	return true
}

func (m *machine) carryOut(c record.Claim) (record.Result, error) {
	ctx := m.p.t.Context()
	switch c.Action {
	case record.ActionMoveCheck:
		return (&In{m.end}).Check(ctx, c), nil
	case record.ActionMoveIn:
		return (&In{m.end}).Run(ctx, c)
	case record.ActionMoveFinish:
		return m.end.Finish(ctx, c)
	}
	return m.out().Run(ctx, c)
}

func (m *machine) out() *Out {
	return &Out{End: m.end, Version: func(ctx context.Context, _ string) (string, error) { return m.end.Claude(ctx) }}
}

// ask asks the hub for a move.
func (p *pair) ask(id string, post record.MovePost) record.Move {
	p.t.Helper()
	p.tower.beat()
	p.laptop.beat()
	mv, err := p.person.Move(p.t.Context(), queue.NewStamp(time.Now()).ID, id, post)
	if err != nil {
		p.t.Fatal(err)
	}
	return mv
}

// drive lets both machines work until neither has anything to do.
func (p *pair) drive() {
	p.t.Helper()
	for p.tower.work() || p.laptop.work() {
	}
}

func (p *pair) move(id string, post record.MovePost) record.Move {
	p.t.Helper()
	mv := p.ask(id, post)
	p.drive()
	return p.now(mv.ID)
}

func (p *pair) now(move string) record.Move {
	p.t.Helper()
	mv, err := p.person.GetMove(p.t.Context(), move, "", 0)
	if err != nil {
		p.t.Fatal(err)
	}
	return mv
}

// runs is where a session runs: "tower", "laptop", "both" or "".
func (p *pair) runs(id string) string {
	p.t.Helper()
	var at []string
	for _, m := range []*machine{p.tower, p.laptop} {
		where, err := m.desk().Running(p.t.Context(), id)
		if err != nil {
			p.t.Fatal(err)
		}
		if where != "" {
			at = append(at, m.name)
		}
	}
	if len(at) > 1 {
		return "both"
	}
	return strings.Join(at, "")
}

// transcripts are the machines that have one of the session.
func (p *pair) transcripts(id string) string {
	var at []string
	for _, m := range []*machine{p.tower, p.laptop} {
		if _, ok := m.end.Home.Transcript(id); ok {
			at = append(at, m.name)
		}
	}
	return strings.Join(at, " ")
}

func (m *machine) status() string { return m.p.git(m.clone, "status", "--porcelain=v2", "--branch") }

// leftovers are the journals and private folders of moves that stayed.
func (m *machine) leftovers() []string {
	m.p.t.Helper()
	var left []string
	for _, pattern := range []string{"moves/*.json", "moves/*.d", "shmove.*"} {
		found, err := filepath.Glob(filepath.Join(string(m.end.Dir), pattern))
		if err != nil {
			m.p.t.Fatal(err)
		}
		left = append(left, found...)
	}
	return left
}
