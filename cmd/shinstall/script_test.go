package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"sessionhub/cmd/internal/script"
	"sessionhub/cmd/internal/world"
	"sessionhub/lib/claude/claudetest"
	"sessionhub/lib/install/managertest"
)

func TestMain(m *testing.M) {
	script.MainWith(tests{m}, "herdr", "shinstall", main, map[string]func(){
		"play-systemctl": func() { os.Exit(managertest.Systemctl(process())) },
		"play-loginctl":  func() { os.Exit(managertest.Loginctl(process())) },
		"play-launchctl": func() { os.Exit(managertest.Launchctl(process())) },
		"play-crontab":   func() { os.Exit(managertest.Crontab(process())) },
	})
}

// toolsEnv names the folder in which tests build what they share.
const toolsEnv = "SHINSTALL_TESTS_BUILD_IN"

// tests are all tests, with a folder that goes away after them.
type tests struct{ testscript.TestingM }

func (m tests) Run() int {
	dir, err := os.MkdirTemp("", "st")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	os.Setenv(toolsEnv, dir)
	os.Setenv("PATH", withoutClaude(os.Getenv("PATH")))
	return m.TestingM.Run()
}

// withoutClaude is a PATH without the folders in which the person who runs the
// tests has Claude Code: each test says itself which there is.
func withoutClaude(path string) string {
	return strings.Join(slices.DeleteFunc(filepath.SplitList(path), func(dir string) bool {
		_, err := os.Stat(filepath.Join(dir, "claude"))
		return err == nil && dir != "/usr/bin" && dir != "/bin" // where all else is, too
	}), string(filepath.ListSeparator))
}

func process() managertest.Process {
	return managertest.Process{Args: os.Args[1:], Getenv: os.Getenv, Stdout: os.Stdout, Stderr: os.Stderr}
}

// The scripts have besides the commands of all:
//
//	tools DIR [VERSION]   install the tools into DIR; those that tell their
//	                      version tell that
//	claude DIR            install the stand-in for Claude Code into DIR
//	manager systemd|launchd|cron DIR  put the stand-ins for a manager's programs,
//	                      and crontab's, into DIR, first in the PATH; its user's
//	                      manager is in reach, for cron none is
//	cron TEXT FILE        run the crontab's line that names TEXT as cron does, and
//	                      write into FILE when that is
//	port NAME             NAME is a port that nobody listens at
//	answers PORT          wait until somebody listens there
//	web NAME              a web server that is no hub; NAME is its port
//	cert CERT KEY         a certificate for 127.0.0.1, its own authority
//	home FILE [NOT...]    list what is in HOME, all but what is named
//
// The program herdr is the stand-in for herdr; none of its servers runs at
// first.
func TestScripts(t *testing.T) {
	testscript.Run(t, params(t, func(*testscript.Env) error { return nil }))
}

func params(t *testing.T, more func(*testscript.Env) error) testscript.Params {
	b := &builder{t: t, dir: t.TempDir(), built: map[string]func() error{}}
	p := script.Params(t)
	setup := p.Setup
	p.Setup = func(e *testscript.Env) error {
		if err := setup(e); err != nil {
			return err
		}
		home, err := os.MkdirTemp("", "si") // short, for socket paths
		if err != nil {
			return err
		}
		e.Defer(func() { os.RemoveAll(home) })
		e.Setenv("HOME", home)
		e.Setenv("SHELL", "/bin/sh")
		e.Setenv("FAKEHERDR_TIMINGS", "short")
		return more(e)
	}
	p.Cmds["tools"] = b.tools
	p.Cmds["claude"] = b.claude
	p.Cmds["manager"] = manager
	p.Cmds["cron"] = cron
	p.Cmds["port"] = port
	p.Cmds["answers"] = answers
	p.Cmds["web"] = web
	p.Cmds["cert"] = cert
	p.Cmds["home"] = home
	return p
}

func manager(ts *testscript.TestScript, _ bool, args []string) {
	programs := map[string][]string{"systemd": {"systemctl", "loginctl"}, "launchd": {"launchctl"}, "cron": {"systemctl", "launchctl"}}[args[0]]
	dir := ts.MkAbs(args[1])
	ts.Check(os.MkdirAll(dir, 0o755))
	for _, name := range append(programs, "crontab") {
		ts.Check(os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\nexec play-"+name+` "$@"`+"\n"), 0o755))
	}
	state := filepath.Join(dir, "state")
	ts.Check(os.Mkdir(state, 0o700))
	ts.Setenv("FAKE_CRONTAB", filepath.Join(dir, "crontab.txt"))
	ts.Setenv("PATH", dir+":"+ts.Getenv("PATH"))
	if args[0] == "cron" {
		return
	}
	ts.Setenv("FAKE_MANAGER", state)
	ts.Defer(func() { ts.Check(managertest.Stop(state)) }) // what a failed script left
}

func cron(ts *testscript.TestScript, _ bool, args []string) {
	when, err := managertest.Cron(managertest.Process{Getenv: ts.Getenv, Stdout: os.Stdout, Stderr: os.Stderr}, args[0])
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(strings.Join(when, "\n")+"\n"), 0o600))
}

func port(ts *testscript.TestScript, _ bool, args []string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	_, p, err := net.SplitHostPort(l.Addr().String())
	ts.Check(errors.Join(err, l.Close()))
	ts.Setenv(args[0], p)
}

func answers(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(world.Until("somebody listens at "+args[0], func() (bool, error) {
		conn, err := net.Dial("tcp", "127.0.0.1:"+args[0])
		if err != nil {
			return false, nil
		}
		return true, conn.Close()
	}))
}

func web(ts *testscript.TestScript, _ bool, args []string) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "Welcome!") }))
	ts.Defer(srv.Close)
	_, p, err := net.SplitHostPort(srv.Listener.Addr().String())
	ts.Check(err)
	ts.Setenv(args[0], p)
}

func cert(ts *testscript.TestScript, _ bool, args []string) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	ts.Check(err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "hub"}, NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	ts.Check(err)
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	ts.Check(err)
	for i, b := range []*pem.Block{{Type: "CERTIFICATE", Bytes: der}, {Type: "PRIVATE KEY", Bytes: secret}} {
		ts.Check(os.WriteFile(ts.MkAbs(args[i]), pem.EncodeToMemory(b), 0o600))
	}
}

// home lists every file, folder and link with its mode and content.
func home(ts *testscript.TestScript, _ bool, args []string) {
	var b strings.Builder
	root := ts.Getenv("HOME")
	ts.Check(filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if slices.Contains(args[1:], rel) {
			if e.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		return describe(&b, path, rel)
	}))
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(b.String()), 0o600))
}

func describe(b *strings.Builder, path, rel string) error {
	st, err := os.Lstat(path)
	if err != nil {
		return err
	}
	fmt.Fprintf(b, "%s %v", rel, st.Mode())
	switch {
	case st.Mode()&fs.ModeSymlink != 0:
		to, err := os.Readlink(path)
		fmt.Fprintf(b, " → %s\n", to)
		return err
	case st.Mode().IsRegular():
		text, err := os.ReadFile(path)
		fmt.Fprintf(b, " %x\n", sha256.Sum256(text))
		return err
	}
	b.WriteString("\n")
	return nil
}

// builder builds each program once.
type builder struct {
	t     *testing.T
	dir   string
	mu    sync.Mutex
	built map[string]func() error
}

// once builds what goes into a folder of its own, and returns that.
func (b *builder) once(ts *testscript.TestScript, name string, build func(dir string) error) string {
	dir := filepath.Join(b.dir, name)
	b.mu.Lock()
	if b.built[name] == nil {
		b.built[name] = sync.OnceValue(func() error { return build(dir) })
	}
	f := b.built[name]
	b.mu.Unlock()
	ts.Check(f())
	return dir
}

func (b *builder) tools(ts *testscript.TestScript, _ bool, args []string) {
	version := "1.0.0"
	if len(args) > 1 {
		version = args[1]
	}
	to := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(to, 0o755))
	for tool, v := range map[string]string{"shq": "1.0.0", "shq-mcp": "1.0.0", "shctl": "1.0.0", "shwatch": version, "shinstall": version, "shhub": version, "shrevive": version} {
		from := b.once(ts, tool+"-"+v, func(dir string) error {
			cmd := exec.Command("go", "build", "-ldflags", "-X sessionhub/cmd/internal/front.version="+v, "-o", filepath.Join(dir, tool), "sessionhub/cmd/"+tool)
			if out, err := cmd.CombinedOutput(); err != nil {
				return fmt.Errorf("build %s: %w\n%s", tool, err, out)
			}
			return nil
		})
		copyProgram(ts, filepath.Join(from, tool), filepath.Join(to, tool))
	}
	ts.Defer(func() { // a watcher that a failed script left
		cmd := exec.Command(filepath.Join(to, "shwatch"), "stop")
		cmd.Env = []string{"HOME=" + ts.Getenv("HOME"), "SESSIONHUB_STATE_DIR=" + ts.Getenv("SESSIONHUB_STATE_DIR")}
		if out, err := cmd.CombinedOutput(); err != nil {
			b.t.Errorf("stop the watcher: %v: %s", err, out)
		}
	})
}

func (b *builder) claude(ts *testscript.TestScript, _ bool, args []string) {
	from := b.once(ts, "claude", claudetest.BuildTo)
	to := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(to, 0o755))
	copyProgram(ts, filepath.Join(from, "claude"), filepath.Join(to, "claude"))
}

// copyProgram replaces a program as make install does: by a rename, as a
// running one can't be written to. A process of its own writes it: what this
// one has open for writing, a script that starts at this moment would inherit,
// and the program could not be run.
func copyProgram(ts *testscript.TestScript, from, to string) {
	if out, err := exec.Command("cp", from, to+".new").CombinedOutput(); err != nil {
		ts.Fatalf("%v: %s", err, out)
	}
	ts.Check(os.Rename(to+".new", to))
}
