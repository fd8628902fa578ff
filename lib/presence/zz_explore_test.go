//go:build realclaude && explore

package presence

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sessionhub/lib/record"
)

func dumpRegistry(r *realRun, what string) {
	files, _ := filepath.Glob(filepath.Join(r.s.Home(), ".claude", "sessions", "*.json"))
	fmt.Println("==", what)
	for _, f := range files {
		b, _ := os.ReadFile(f)
		fmt.Println("  ", string(b))
	}
	v := look(r.t, r.s)
	fmt.Println("   verdict:", say(v))
	trs, _ := filepath.Glob(filepath.Join(r.s.Home(), ".claude", "projects", "*", "*.jsonl"))
	for _, f := range trs {
		b, _ := os.ReadFile(f)
		ls := strings.Split(strings.TrimSpace(string(b)), "\n")
		for _, l := range ls[max(0, len(ls)-4):] {
			fmt.Println("   ..", filepath.Base(f)[:8], l[:min(len(l), 230)])
		}
	}
}

func TestExplore(t *testing.T) {
	r := newRealRun(t)
	r.typed("claude")
	first := r.is(record.Idle, anyID)
	r.typed("before left [[sleep 1000]]")
	r.is(record.Working, anyID)
	r.is(record.Idle, anyID)
	dumpRegistry(r, "before left")
	r.keys("left")
	time.Sleep(3 * time.Second)
	r.keys("ctrl+c")
	r.keys("ctrl+c")
	time.Sleep(2 * time.Second)
	dumpRegistry(r, "after ctrl-c in the view")
	fmt.Println(r.screen())
	r.typed("claude --resume " + first)
	time.Sleep(4 * time.Second)
	dumpRegistry(r, "resumed the first")
	fmt.Println(r.screen())
	r.typed("go on here")
	time.Sleep(3 * time.Second)
	dumpRegistry(r, "a prompt there")
	r.typed("/bg")
	time.Sleep(4 * time.Second)
	dumpRegistry(r, "after /bg")
	fmt.Println(r.screen())
}
