package spawn_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sessionhub/lib/herdr/herdrtest/fakecli"
	"sessionhub/lib/spawn"
	_ "sessionhub/lib/spawn/herdrdriver"
	_ "sessionhub/lib/spawn/tmuxdriver"
	"sessionhub/lib/state"
)

// The test's own program is the launcher, and herdr's double under the name herdr.
func TestMain(m *testing.M) {
	switch {
	case filepath.Base(os.Args[0]) == "herdr":
		os.Exit(fakecli.Main(fakecli.Process{Args: os.Args[1:], Getenv: os.Getenv, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}))
	case len(os.Args) == 3 && os.Args[1] == "launch":
		fmt.Fprintln(os.Stderr, spawn.Launch(os.Args[2], os.Environ()))
		os.Exit(127)
	}
	os.Exit(m.Run())
}

// place is a home in which agents are run by one runtime.
type place struct {
	t       *testing.T
	runtime string
	root    string
	home    string
	work    string
	env     map[string]string
	*spawn.Runtime
}

// herdrBin is the folder of the herdr to use: the double, unless the real one is
// tested.
var herdrBin = func(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Symlink(self, filepath.Join(dir, "herdr")); err != nil {
		t.Fatal(err)
	}
	return dir
}

func newPlace(t *testing.T, runtime string) *place {
	t.Helper()
	root, err := os.MkdirTemp("", "sp") // short, for sockets
	if err != nil {
		t.Fatal(err)
	}
	p := &place{t: t, runtime: runtime, root: root, home: filepath.Join(root, "h"), work: filepath.Join(root, "h", "work dir")}
	bin := filepath.Join(root, "tmux")
	if err := errors.Join(os.MkdirAll(p.work, 0o755), os.Mkdir(bin, 0o700)); err != nil {
		t.Fatal(err)
	}
	path := os.Getenv("PATH")
	if runtime == "herdr" {
		path = herdrBin(t) + ":" + path
	}
	p.env = map[string]string{
		"HOME": p.home, "PATH": path, "TMUX_TMPDIR": bin, "SHELL": "/bin/bash", "LANG": "C.UTF-8", "GORACE": "atexit_sleep_ms=0", "FAKEHERDR_TIMINGS": "short",
		// What a caller inside of a pane has, and must not hand on.
		"HERDR_SOCKET_PATH": "/nonexistent/herdr.sock", "HERDR_PANE_ID": "w9:p9", "TMUX": "/nonexistent/tmux,1,0", "CLAUDECODE": "1",
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	timing := spawn.DefaultTiming()
	timing.Exit, timing.Watch = 2*time.Second, 20*time.Millisecond
	timing.Close = time.Minute // a disk that is busy holds a process that writes
	p.Runtime = &spawn.Runtime{
		Dir: state.Dir(filepath.Join(root, "state")), Getenv: func(k string) string { return p.env[k] }, Launcher: []string{self, "launch"}, Now: time.Now, Timing: timing,
		Pause: func(ctx context.Context, d time.Duration) { time.Sleep(d) },
	}
	p.environ()
	t.Setenv("PATH", path) // programs are looked up by this process
	t.Cleanup(p.cleanUp)
	return p
}

func (p *place) environ() {
	p.Environ = nil
	for k, v := range p.env {
		p.Environ = append(p.Environ, k+"="+v)
	}
}

func (p *place) cleanUp() {
	list, _ := p.List(context.Background(), "", p.runtime)
	for _, a := range list {
		p.Stop(context.Background(), a.Space, a.Name, true)
	}
	if p.t.Failed() {
		out, _ := exec.Command("sh", "-c", "tail -n 20 "+p.root+"/state/spawn/*.log").CombinedOutput()
		p.t.Logf("%s", out)
	}
	os.RemoveAll(p.root)
}

func (p *place) spec(name string, command ...string) spawn.Spec {
	return spawn.Spec{Space: "s1", Name: name, Cwd: p.work, Command: command, Runtime: p.runtime}
}

func (p *place) start(s spawn.Spec) spawn.Spawned {
	p.t.Helper()
	a, err := p.Start(p.t.Context(), s)
	if err != nil {
		p.t.Fatal(err)
	}
	return a
}

// clean checks that nothing is left: no agent, process, folder or socket.
func (p *place) clean() {
	p.t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	var left string
	for ; time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if left = p.left(); left == "" {
			return
		}
	}
	p.t.Errorf("left behind: %s", left)
}

func (p *place) left() string {
	if list, err := p.List(context.Background(), "", p.runtime); err != nil || len(list) > 0 {
		return fmt.Sprint(list, err)
	}
	files, _ := filepath.Glob(filepath.Join(p.root, "state/spawn/*"))
	sockets, _ := filepath.Glob(filepath.Join(p.root, "tmux/*/*"))
	sessions, _ := filepath.Glob(filepath.Join(p.home, ".config/herdr/sessions/*"))
	for _, f := range slices.Concat(files, sockets, sessions) {
		if !strings.HasSuffix(f, ".lock") {
			return f
		}
	}
	out, _ := exec.Command("pgrep", "-f", p.root).Output() // in a command line: launchers, servers
	return strings.TrimSpace(string(out))
}

// each runs a test with every runtime.
func each(t *testing.T, f func(p *place)) {
	for _, runtime := range []string{"herdr", "tmux"} {
		t.Run(runtime, func(t *testing.T) { f(newPlace(t, runtime)) })
	}
}

func TestAnAgentRunsInItsPane(t *testing.T) {
	each(t, func(p *place) {
		s := p.spec("a1", "sh", "-c", `env | sort > env; pwd > where; tty > tty; exec sleep 300`)
		s.Env, s.SecretEnv = map[string]string{"PLAIN": "a b'c"}, map[string]string{"TOKEN": "s3cr3t-" + p.runtime}
		a := p.start(s)
		if a.Name != "a1" || a.Space != "s1" || a.Runtime != p.runtime || a.Server != "shspawn-s1" || a.TerminalID == "" || a.PaneID == "" || a.PID == 0 || a.StartedAt.IsZero() {
			p.t.Errorf("%+v", a)
		}
		env := p.file("env")
		for _, want := range []string{"PLAIN=a b'c\n", "TOKEN=s3cr3t-" + p.runtime + "\n", "TERM="} {
			if !strings.Contains(env, want) {
				p.t.Errorf("its environment lacks %q:\n%s", want, env)
			}
		}
		for _, bad := range []string{"w9:p9", "/nonexistent", "CLAUDECODE"} {
			if strings.Contains(env, bad) {
				p.t.Errorf("its environment has %q of the caller's pane:\n%s", bad, env)
			}
		}
		if where := strings.TrimSpace(p.file("where")); where != p.work {
			p.t.Errorf("it runs in %s", where)
		}
		if tty := p.file("tty"); !strings.HasPrefix(tty, "/dev/") {
			p.t.Errorf("it has no terminal: %s", tty)
		}
		list, err := p.List(p.t.Context(), "s1", "")
		if err != nil || len(list) != 1 || list[0] != a {
			p.t.Errorf("list %+v %v, want %+v", list, err, a)
		}
		if _, err := p.Start(p.t.Context(), s); !errors.Is(err, spawn.ErrTaken) {
			p.t.Errorf("the same name again: %v", err)
		}
		if err := p.Wait(p.t.Context(), "s1", "a1", 50*time.Millisecond); !errors.Is(err, spawn.ErrRunning) {
			p.t.Errorf("it runs, but wait says %v", err)
		}
		if err := p.Stop(p.t.Context(), "s1", "a1", true); err != nil {
			p.t.Error(err)
		}
		if err := p.Stop(p.t.Context(), "s1", "a1", true); !errors.Is(err, spawn.ErrUnknown) {
			p.t.Errorf("again: %v", err)
		}
		p.clean()
	})
}

// file is what an agent wrote into its directory, once it is there.
func (p *place) file(name string) string {
	p.t.Helper()
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if b, err := os.ReadFile(filepath.Join(p.work, name)); err == nil && len(b) > 0 {
			return string(b)
		}
	}
	p.t.Fatalf("%s is not written", name)
	return ""
}

// A graceful stop types /exit; an agent that does not heed it is closed.
func TestStopAsksFirst(t *testing.T) {
	each(t, func(p *place) {
		p.start(p.spec("polite", "sh", "-c", `read line; echo "$line" > heard`))
		p.start(p.spec("deaf", "sh", "-c", `trap "" INT; while :; do sleep 1; done`))
		if err := p.Stop(p.t.Context(), "s1", "polite", false); err != nil {
			p.t.Error(err)
		}
		if heard := p.file("heard"); heard != "/exit\n" {
			p.t.Errorf("it was told %q", heard)
		}
		if err := p.Stop(p.t.Context(), "s1", "deaf", false); err != nil {
			p.t.Error(err)
		}
		p.clean()
	})
}

// An agent that ends by itself takes its pane with it; wait sees it.
func TestWait(t *testing.T) {
	each(t, func(p *place) {
		p.start(p.spec("short", "sh", "-c", "while ! [ -e go ]; do sleep 0.02; done"))
		done := make(chan error)
		go func() { done <- p.Wait(p.t.Context(), "s1", "short", time.Minute) }()
		if err := os.WriteFile(filepath.Join(p.work, "go"), nil, 0o600); err != nil {
			p.t.Fatal(err)
		}
		if err := <-done; err != nil {
			p.t.Error(err)
		}
		if a := p.start(p.spec("instant", "true")); a.PID == 0 { // over before anybody looks
			p.t.Errorf("%+v", a)
		}
		if err := p.Wait(p.t.Context(), "s1", "instant", time.Minute); err != nil && !errors.Is(err, spawn.ErrUnknown) {
			p.t.Error(err)
		}
		p.clean()
	})
}

// Without the program that could tell, as with the PATH of cron, nobody says that
// an agent exited. Where no server of it runs, a program that is not there is
// nobody's business.
func TestAnotherPathThanAtTheStart(t *testing.T) {
	for _, runtime := range []string{"tmux", "herdr"} {
		t.Run(runtime, func(t *testing.T) {
			p := newPlace(t, runtime)
			a := p.start(p.spec("a1", "sleep", "300"))
			path := os.Getenv("PATH")
			t.Setenv("PATH", t.TempDir())
			want := spawn.ErrUnasked
			if runtime == "herdr" { // its server can be asked without the program
				want = spawn.ErrRunning
			}
			if err := p.Wait(t.Context(), "s1", "a1", 10*time.Millisecond); !errors.Is(err, want) {
				t.Errorf("waited for: %v, want %v", err, want)
			}
			if list, err := p.List(t.Context(), "", ""); len(list) == 0 && !errors.Is(err, want) {
				t.Errorf("listed: %+v, %v", list, err)
			}
			if err := p.Wait(t.Context(), "s2", "a1", 10*time.Millisecond); err != nil {
				t.Errorf("of another space: %v", err)
			}
			t.Setenv("PATH", path)
			if err := p.Stop(t.Context(), "s1", "a1", true); err != nil {
				t.Error(err)
			}
			t.Setenv("PATH", t.TempDir())
			if list, err := p.List(t.Context(), "", ""); err != nil || len(list) > 0 {
				t.Errorf("when %d is gone: %+v, %v", a.PID, list, err)
			}
			t.Setenv("PATH", path)
		})
	}
}

// A server that was killed leaves its socket behind.
func TestASocketWithoutAServer(t *testing.T) {
	p := newPlace(t, "tmux")
	a := p.start(p.spec("a1", "sleep", "300"))
	server, _, _ := strings.Cut(a.TerminalID, "%")
	if out, err := exec.Command("kill", "-9", server, fmt.Sprint(a.PID)).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Setenv("PATH", t.TempDir())
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		list, err := p.List(t.Context(), "", "")
		if err == nil && len(list) == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%+v, %v", list, err)
		}
	}
}

// A name is unique in its space, whichever runtime its agents are run by.
func TestANameOfAnotherRuntime(t *testing.T) {
	p := newPlace(t, "herdr") // which has tmux as well
	p.start(p.spec("a1", "sleep", "300"))
	s := p.spec("a1", "sleep", "300")
	s.Runtime = "tmux"
	if _, err := p.Start(t.Context(), s); !errors.Is(err, spawn.ErrTaken) {
		t.Errorf("%v", err)
	}
	s.Name = "a2"
	p.start(s)
	s.Runtime = "herdr"
	if _, err := p.Start(t.Context(), s); !errors.Is(err, spawn.ErrTaken) {
		t.Errorf("%v", err)
	}
	if err := p.Stop(t.Context(), "s1", "a2", true); err != nil {
		t.Error(err)
	}
}

func TestWhatCannotBeStarted(t *testing.T) {
	each(t, func(p *place) {
		bad := filepath.Join(p.work, "bad")
		if err := os.WriteFile(bad, []byte("#!/nonexistent/interpreter\n"), 0o755); err != nil {
			p.t.Fatal(err)
		}
		for _, c := range []struct {
			change func(s *spawn.Spec)
			want   string
		}{
			{func(s *spawn.Spec) { s.Cwd = filepath.Join(p.root, "gone") }, "no such file"},
			{func(s *spawn.Spec) { s.Cwd = bad }, "is no directory"},
			{func(s *spawn.Spec) { s.Cwd = "~" }, "absolute"},
			{func(s *spawn.Spec) { s.Command = []string{"no-such-program"} }, "in no folder of the PATH"},
			{func(s *spawn.Spec) { s.Command = []string{"./bad.txt"} }, "no such file"},
			{func(s *spawn.Spec) { s.Command = nil }, `"command" is missing`},
			{func(s *spawn.Spec) { s.Command = []string{bad} }, "start " + bad}, // known only when it is tried
			{func(s *spawn.Spec) { s.Name = "a b" }, `"name" must be`},
			{func(s *spawn.Spec) { s.Space = "../x" }, `"space" must be`},
			{func(s *spawn.Spec) { s.Layout = "pile" }, `the layout is "pile"`},
			{func(s *spawn.Spec) { s.Runtime = "screen" }, `"screen" is none of`},
			{func(s *spawn.Spec) { s.Env = map[string]string{"A=B": "x"} }, "no name of a variable"},
			{func(s *spawn.Spec) { s.Env = map[string]string{"A": "x\x00"} }, "NUL"},
			{func(s *spawn.Spec) { s.Env, s.SecretEnv = map[string]string{"A": "x"}, map[string]string{"A": "y"} }, "in env and in secret_env"},
			{func(s *spawn.Spec) { s.Command = append(s.Command, strings.Repeat("x", 2<<20)) }, "over the limit"},
		} {
			s := p.spec("a1", "sleep", "300")
			c.change(&s)
			if a, err := p.Start(p.t.Context(), s); err == nil || !strings.Contains(err.Error(), c.want) {
				p.t.Errorf("%v: %+v %v, want %s", s.Command, a, err, c.want)
			}
		}
		p.env["SHSPAWN_LAYOUT"] = "heap"
		if _, err := p.Start(p.t.Context(), p.spec("a1", "true")); err == nil || !strings.Contains(err.Error(), `"heap"`) {
			p.t.Errorf("SHSPAWN_LAYOUT: %v", err)
		}
		p.clean()
	})
}

func TestSplit(t *testing.T) {
	each(t, func(p *place) {
		p.env["SHSPAWN_LAYOUT"] = "split"
		var list []spawn.Spawned
		for i := range 4 {
			list = append(list, p.start(p.spec(fmt.Sprintf("a%d", i), "sleep", "300")))
		}
		for _, a := range list[1:] {
			if a.TabID != list[0].TabID {
				p.t.Errorf("%s is in tab %s, not in %s", a.Name, a.TabID, list[0].TabID)
			}
		}
		for _, i := range []int{2, 0, 3, 1} {
			if err := p.Stop(p.t.Context(), "s1", list[i].Name, true); err != nil {
				p.t.Error(err)
			}
		}
		p.clean()
	})
}

// Arguments of 100 kB pass, and so does what a shell would make something of.
func TestArgumentsPassAsTheyAre(t *testing.T) {
	each(t, func(p *place) {
		args := []string{"", "a b", "$HOME", "!x", "it's", "\"", "\t", "\n", "ä\x1b[31m", strings.Repeat("x", 100_000)}
		for _, layout := range []string{"workspace", "split"} {
			s := p.spec("args", append([]string{"sh", "-c", `printf '%s\0' "$@" > args.tmp; mv args.tmp args-` + layout, "-"}, args...)...)
			s.Layout = layout
			p.start(s)
			if got := p.file("args-" + layout); got != strings.Join(args, "\x00")+"\x00" {
				p.t.Errorf("%s: %.200q", layout, got)
			}
			if err := p.Wait(p.t.Context(), "s1", "args", time.Minute); err != nil && !errors.Is(err, spawn.ErrUnknown) {
				p.t.Error(err)
			}
		}
		p.clean()
	})
}

// 50 agents at once, in two spaces, and stops in random order leave nothing.
func TestManyAtOnce(t *testing.T) {
	each(t, func(p *place) {
		const n = 50
		var wg sync.WaitGroup
		errs := make(chan error, 2*n)
		for i := range n {
			wg.Go(func() {
				s := p.spec(fmt.Sprintf("a%d", i), "sleep", "300")
				s.Space = []string{"one", "two"}[i%2]
				_, err := p.Start(p.t.Context(), s)
				errs <- err
			})
		}
		wg.Wait()
		list, err := p.List(p.t.Context(), "", p.runtime)
		if err != nil || len(list) != n {
			p.t.Errorf("%d run, not %d: %v", len(list), n, err)
		}
		rand.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		for i, a := range list {
			wg.Go(func() { errs <- p.Stop(p.t.Context(), a.Space, a.Name, i%3 != 0) })
		}
		wg.Wait()
		close(errs)
		for err := range errs {
			if err != nil {
				p.t.Error(err)
			}
		}
		p.clean()
	})
}

// A server that can't be asked is an error, never an empty inventory or an exit.
func TestAServerThatCannotBeAsked(t *testing.T) {
	each(t, func(p *place) {
		s := p.spec("a1", "sleep", "300")
		s.Space = "stuck"
		p.start(s)
		pattern := "shspawn-stuck server"
		if p.runtime == "tmux" {
			pattern = "L shspawn-stuck"
		}
		if out, err := exec.Command("pkill", "-STOP", "-f", "--", pattern).CombinedOutput(); err != nil {
			p.t.Fatalf("%v %s", err, out)
		}
		ctx, cancel := context.WithTimeout(p.t.Context(), time.Second)
		_, err := p.List(ctx, "stuck", p.runtime)
		cancel()
		if out, err := exec.Command("pkill", "-CONT", "-f", "--", pattern).CombinedOutput(); err != nil {
			p.t.Fatalf("%v %s", err, out)
		}
		if err == nil {
			p.t.Error("no error")
		}
		if err := p.Stop(p.t.Context(), "stuck", "a1", true); err != nil {
			p.t.Error(err)
		}
		p.clean()
	})
}
