package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"sessionhub/cmd/internal/script"
	"sessionhub/lib/bundle"
	"sessionhub/lib/claude"
	"sessionhub/lib/claude/claudetest"
	"sessionhub/lib/record"
	"sessionhub/lib/seal"
)

func TestMain(m *testing.M) { script.Main(m, "shmove", main) }

// The scripts have, besides the others' commands, stock age and
//
//	machine NAME          go on as another machine, with its own home and state
//	bundle FROM TO FILE   let FROM pack a bundle for TO's key
//	damage FILE N         flip a bit of the byte at N per mille of a file
//	cut FILE N            cut a file at N per mille
//	session ID CWD        write a session's transcript, which names CWD
//	private DIR           nothing is left in a state directory but keys and locks
func TestScripts(t *testing.T) {
	bin := t.TempDir()
	if out, err := exec.Command("go", "build", "-o", filepath.Join(bin, "age"), "filippo.io/age/cmd/age").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	p := script.Params(t)
	setup := p.Setup
	program := claudetest.Build(t)
	p.Setup = func(e *testscript.Env) error {
		e.Setenv("PATH", program+string(os.PathListSeparator)+bin+string(os.PathListSeparator)+e.Getenv("PATH"))
		return setup(e)
	}
	p.Cmds["machine"] = func(ts *testscript.TestScript, _ bool, args []string) {
		ts.Setenv("HOME", ts.MkAbs(args[0]))
		ts.Setenv("SESSIONHUB_STATE_DIR", ts.MkAbs(args[0]+"/state"))
		ts.Setenv("SESSIONHUB_MACHINE", filepath.Base(args[0]))
		ts.Check(os.MkdirAll(ts.MkAbs(args[0]), 0o700))
	}
	p.Cmds["bundle"] = func(ts *testscript.TestScript, _ bool, args []string) {
		var b bytes.Buffer
		from, to := keysOf(ts, args[0]), keysOf(ts, args[1])
		_, err := bundle.Write(&b, aManifest(args[0], from, to), someFiles(), 0, from.Sign)
		ts.Check(err)
		ts.Check(os.WriteFile(ts.MkAbs(args[2]), b.Bytes(), 0o600))
	}
	p.Cmds["session"] = func(ts *testscript.TestScript, _ bool, args []string) {
		cwd, err := filepath.EvalSymlinks(ts.MkAbs(args[1]))
		ts.Check(err)
		dir := claude.Home(filepath.Join(ts.Getenv("HOME"), ".claude")).Project(cwd)
		ts.Check(os.MkdirAll(dir, 0o700))
		line := fmt.Sprintf(`{"type":"user","sessionId":%q,"cwd":%q,"message":{"content":"remember 4711"}}`+"\n", args[0], cwd)
		ts.Check(os.WriteFile(filepath.Join(dir, args[0]+".jsonl"), []byte(line), 0o600))
		trust := fmt.Sprintf(`{"projects":{%q:{"hasTrustDialogAccepted":true}}}`, cwd)
		ts.Check(os.WriteFile(filepath.Join(ts.Getenv("HOME"), ".claude.json"), []byte(trust), 0o600))
	}
	p.Cmds["damage"] = func(ts *testscript.TestScript, _ bool, args []string) {
		b, at := place(ts, args)
		b[at] ^= 4
		ts.Check(os.WriteFile(ts.MkAbs(args[0]), b, 0o600))
	}
	p.Cmds["cut"] = func(ts *testscript.TestScript, _ bool, args []string) {
		b, at := place(ts, args)
		ts.Check(os.WriteFile(ts.MkAbs(args[0]), b[:at], 0o600))
	}
	p.Cmds["private"] = func(ts *testscript.TestScript, _ bool, args []string) {
		list, err := os.ReadDir(ts.MkAbs(args[0]))
		ts.Check(err)
		for _, f := range list {
			if n := f.Name(); n != "keys.json" && n != "keys.offered.json" && n != "state.lock" {
				ts.Fatalf("%s was left behind", n)
			}
		}
	}
	testscript.Run(t, p)
}

func place(ts *testscript.TestScript, args []string) ([]byte, int) {
	b, err := os.ReadFile(ts.MkAbs(args[0]))
	ts.Check(err)
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	return b, len(b) * n / 1000
}

func keysOf(ts *testscript.TestScript, machine string) *seal.Keys {
	k, err := seal.Load(ts.MkAbs(machine + "/.config/sessionhub"))
	ts.Check(err)
	return k
}

func aManifest(machine string, from, to *seal.Keys) record.Manifest {
	m := record.Manifest{
		V: record.Version, Move: "0197a3d2-7c1a-7c11-9d2e-0d9d0a6a1b11", Session: "0b5c1f9e-2d2c-4a57-9a3e-5c4f0d1e2a3b", From: machine,
		Recipient: to.Public.Recipient, At: record.At(time.Date(2026, 11, 30, 20, 0, 0, 0, time.UTC)), Claude: "2.1.332",
		Git: record.ManifestGit{Remote: "https://example.org/app", Branch: "main", Head: strings.Repeat("a", 40), Top: "/home/dev/app"},
		Dir: ".", Cwd: "/home/dev/app",
	}
	from.Bind(&m)
	return m
}

func someFiles() []bundle.File {
	text := func(name, content string) bundle.File {
		return bundle.File{Name: name, Mode: 0o644, Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(content)), nil }}
	}
	return []bundle.File{
		text("transcript.jsonl", strings.Repeat(`{"type":"user"}`+"\n", 20_000)),
		text("untracked/notes.md", "# notes\n"),
		{Name: "untracked/latest", Mode: 0o777, Link: "notes.md"},
	}
}
