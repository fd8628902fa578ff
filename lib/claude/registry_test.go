package claude

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

func writeEntry(t *testing.T, h Home, name string, v any) {
	t.Helper()
	if err := os.MkdirAll(h.Sessions(), 0o700); err != nil {
		t.Fatal(err)
	}
	b, ok := v.(string)
	if !ok {
		raw, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		b = string(raw)
	}
	if err := os.WriteFile(filepath.Join(h.Sessions(), name), []byte(b), 0o600); err != nil {
		t.Fatal(err)
	}
}

func sessionsOf(list []Process) string {
	var ids []string
	for _, p := range list {
		ids = append(ids, p.SessionID)
	}
	return strings.Join(ids, " ")
}

// Field reports A13 and A35: the registry names processes that were killed,
// and process ids that other programs have by now.
func TestA13A35OnlyLivingProcessesCount(t *testing.T) {
	table := thisTable(t)
	self, ok := table.Find(os.Getpid())
	if !ok || self.Start == "" || self.Parent == 0 {
		t.Fatalf("this process: %+v, %v", self, ok)
	}
	dead := exec.Command("true")
	if err := dead.Run(); err != nil {
		t.Fatal(err)
	}
	zombie := exec.Command("true")
	if err := zombie.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { zombie.Wait() })
	waitZombie(t, table, zombie.Process.Pid)
	zombieNow, _ := table.Find(zombie.Process.Pid)

	h := Home(t.TempDir())
	entry := func(pid int, id, start, domain string) Process {
		return Process{PID: pid, SessionID: id, ProcStart: start, PIDDomain: domain, Kind: KindInteractive, Entrypoint: EntryCLI}
	}
	me := strconv.Itoa(os.Getpid()) + ".json"
	for _, c := range []struct {
		name string
		file string
		v    any
		want string
	}{
		{"alive", me, entry(os.Getpid(), "A", self.Start, ""), "A"},
		{"another process by now", me, entry(os.Getpid(), "A", "1", ""), ""},
		{"another machine's", me, entry(os.Getpid(), "A", self.Start, "linux:0000:pid:[1]"), ""},
		{"ended", strconv.Itoa(dead.Process.Pid) + ".json", entry(dead.Process.Pid, "A", "1", ""), ""},
		{"a zombie", strconv.Itoa(zombie.Process.Pid) + ".json", entry(zombie.Process.Pid, "A", zombieNow.Start, ""), ""},
		{"half written", me, `{"pid":` + strconv.Itoa(os.Getpid()), ""},
		{"the wrong name", "1.json", entry(os.Getpid(), "A", self.Start, ""), ""},
		{"process 0", "0.json", entry(0, "A", "", ""), ""},
		{"no session yet", me, entry(os.Getpid(), "", self.Start, ""), ""},
		{"a key file", strconv.Itoa(os.Getpid()) + ".key", "secret", ""},
		{"fields of another type", me, map[string]any{"pid": os.Getpid(), "sessionId": "A", "procStart": self.Start, "status": 7, "cwd": []int{1}, "name": nil}, "A"},
		{"a pid of another type", me, map[string]any{"pid": "x", "sessionId": "A", "procStart": self.Start}, ""},
		{"a list", me, "[1]", ""},
		{"empty", me, "", ""},
		{"an old entry", me, map[string]any{"pid": os.Getpid(), "sessionId": "A", "startedAt": self.Began.UnixMilli()}, "A"},
		{"an old entry of another process", me, map[string]any{"pid": os.Getpid(), "sessionId": "A", "startedAt": self.Began.Add(-time.Hour).UnixMilli()}, ""},
		{"an old entry without a time", me, map[string]any{"pid": os.Getpid(), "sessionId": "A"}, "A"},
		{"larger than any", me, `{"x":"` + strings.Repeat("y", maxFile) + `"}`, ""},
		{"unknown fields", me, map[string]any{"pid": os.Getpid(), "sessionId": "A", "procStart": self.Start, "new": []int{1}}, "A"},
	} {
		t.Run(c.name, func(t *testing.T) {
			os.RemoveAll(h.Sessions())
			writeEntry(t, h, c.file, c.v)
			list, err := h.Live(table)
			if err != nil || sessionsOf(list) != c.want {
				t.Errorf("live %q, %v, want %q", sessionsOf(list), err, c.want)
			}
		})
	}
}

func waitZombie(t *testing.T, table Table, pid int) {
	t.Helper()
	for range 20_000 {
		if p, ok := table.Find(pid); ok && p.Zombie {
			return
		}
		exec.Command("true").Run() // time passes
	}
	t.Fatal("the child did not end")
}

func thisTable(t *testing.T) Table {
	t.Helper()
	table, err := NewTable()
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func TestOnlyThisMachinesDomainCounts(t *testing.T) {
	table := thisTable(t)
	for _, c := range []struct {
		domain string
		want   bool
	}{
		{PIDDomain(), true},
		{"", true},                    // an old entry
		{"plan9:tower", true},         // a form that nobody knows yet
		{"linux:0000:pid:[1]", false}, // another machine's, by a shared home
		{PIDDomain() + "1", runtime.GOOS != "linux"},
		{"win32:tower", false},
		{"darwin", runtime.GOOS != "linux"},
	} {
		if got := table.SameDomain(c.domain); got != c.want {
			t.Errorf("%q: %v", c.domain, got)
		}
	}
}

func TestThisProcessBeganNow(t *testing.T) {
	p, _ := thisTable(t).Find(os.Getpid())
	if age := time.Since(p.Began); age < -2*time.Second || age > time.Hour {
		t.Errorf("began %s ago", age)
	}
}

func TestAnUnreadableRegistryIsAnError(t *testing.T) {
	h := Home(t.TempDir())
	if err := os.WriteFile(h.Sessions(), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Live(thisTable(t)); err == nil || errors.Is(err, ErrNoRegistry) {
		t.Errorf("got %v", err)
	}
}

func TestNoRegistry(t *testing.T) {
	if _, err := Home(t.TempDir()).Live(thisTable(t)); !errors.Is(err, ErrNoRegistry) {
		t.Errorf("got %v", err)
	}
}

func TestInteractive(t *testing.T) {
	for _, c := range []struct {
		p    Process
		want bool
	}{
		{Process{Kind: "interactive", Entrypoint: "cli"}, true},
		{Process{Kind: "interactive", Entrypoint: "sdk-cli"}, false},
		{Process{Kind: "bg", Entrypoint: "cli"}, false},
		{Process{Kind: "daemon"}, false},
		{Process{Kind: "daemon-worker"}, false},
		{Process{}, true}, // an old entry
	} {
		if got := c.p.Interactive(); got != c.want {
			t.Errorf("%+v: %v", c.p, got)
		}
	}
}

func TestAPathIsNoSession(t *testing.T) {
	if _, ok := Home(t.TempDir()).Transcript("../../etc/passwd"); ok {
		t.Error("a path was taken for an id")
	}
}
