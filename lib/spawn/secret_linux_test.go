package spawn_test

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"sessionhub/lib/spawn"
)

// Field report A50: after a start a secret is in the agent's own environment and
// nowhere else: in no argv or environment of any process, on no screen, in no
// inventory, in no log and on no disk.
func TestA50ASecretIsNowhereElse(t *testing.T) {
	for _, layout := range []string{spawn.LayoutWorkspace, spawn.LayoutSplit} {
		t.Run(layout, func(t *testing.T) {
			each(t, func(p *place) {
				secret := "hush-" + p.runtime + layout + strconv.Itoa(os.Getpid())
				p.start(p.spec("first", "sh", "-c", "echo ready; sleep 300; :")) // so that the second one is split off
				s := p.spec("keeper", "sh", "-c", "echo ready; sleep 300; :")
				s.Layout, s.SecretEnv = layout, map[string]string{"API_TOKEN": secret}
				a := p.start(s)
				if env, err := os.ReadFile("/proc/" + strconv.Itoa(a.PID) + "/environ"); err != nil || !bytes.Contains(env, []byte("API_TOKEN="+secret)) {
					t.Fatalf("the agent itself lacks it: %v", err)
				}
				for _, where := range p.holders(secret, a.PID) {
					t.Errorf("it is in %s", where)
				}
				for what, text := range p.shown() {
					if strings.Contains(text, secret) {
						t.Errorf("%s shows it", what)
					}
				}
				filepath.WalkDir(p.root, func(path string, e fs.DirEntry, err error) error {
					if err == nil && e.Type().IsRegular() {
						if b, err := os.ReadFile(path); err == nil && bytes.Contains(b, []byte(secret)) {
							t.Errorf("it is in the file %s", path)
						}
					}
					return nil
				})
				for _, name := range []string{"first", "keeper"} {
					if err := p.Stop(t.Context(), "s1", name, true); err != nil {
						t.Error(err)
					}
				}
				p.clean()
			})
		})
	}
}

// holders are the processes that hold a text in argv or environment, but the
// agent, what it started, and this test.
func (p *place) holders(text string, agent int) (list []string) {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, d := range dirs {
		pid, _ := strconv.Atoi(filepath.Base(d))
		if pid == os.Getpid() || below(pid, agent) {
			continue
		}
		for _, f := range []string{"cmdline", "environ"} {
			if b, err := os.ReadFile(filepath.Join(d, f)); err == nil && bytes.Contains(b, []byte(text)) {
				list = append(list, f+" of "+d)
			}
		}
	}
	return list
}

// below tells whether a process is, or descends from, another.
func below(pid, ancestor int) bool {
	for pid > 1 {
		if pid == ancestor {
			return true
		}
		b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if err != nil {
			return false
		}
		f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
		pid, _ = strconv.Atoi(f[1])
	}
	return false
}

// shown is what the multiplexer tells of its panes.
func (p *place) shown() map[string]string {
	calls := map[string][]string{
		"the screens": {"sh", "-c", "for i in $(tmux -L shspawn-s1 list-panes -aF '#{pane_id}'); do tmux -L shspawn-s1 capture-pane -pS - -t $i; done"},
		"the options": {"sh", "-c", "tmux -L shspawn-s1 show-options -g; tmux -L shspawn-s1 show-environment -g; tmux -L shspawn-s1 list-panes -aF '#{pane_start_command} #{pane_title}'"},
	}
	if p.runtime == "herdr" {
		calls = map[string][]string{
			"the snapshot": {"herdr", "--session", "shspawn-s1", "api", "snapshot"},
			"the screens":  {"sh", "-c", `for i in $(herdr --session shspawn-s1 api snapshot | grep -o '"pane_id":"[^"]*"' | cut -d'"' -f4 | sort -u); do herdr --session shspawn-s1 pane read $i --source recent; done`},
		}
	}
	shown := map[string]string{}
	for what, argv := range calls {
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Env = append([]string{}, p.Environ...)
		for i, kv := range cmd.Env {
			if strings.HasPrefix(kv, "HERDR_SOCKET_PATH=") || strings.HasPrefix(kv, "TMUX=") {
				cmd.Env[i] = "X=y"
			}
		}
		out, err := cmd.CombinedOutput()
		if err != nil || len(out) == 0 {
			p.t.Errorf("%s: %v %s", what, err, out)
		}
		shown[what] = string(out)
	}
	return shown
}
