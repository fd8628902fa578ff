package lib

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// floors are the packages from the ground up. Sub-packages stand on the floor
// of their parent.
var floors = [][]string{
	{"lib/lock", "lib/detach", "lib/text", "lib/runlog", "lib/jsonl", "lib/git", "lib/shell", "lib/jsonedit"},
	{"lib/record"},
	{"lib/config", "lib/state", "lib/queue", "lib/herdr", "lib/claude", "lib/hubclient", "lib/seal", "lib/bundle"},
	{"lib/presence", "lib/session", "lib/ask", "lib/mailbox", "lib/claude/claudetest"},
	{"lib/hook", "lib/watch", "lib/digest", "lib/mcp", "lib/control", "lib/revive", "lib/spawn", "lib/move", "lib/hub", "lib/install", "lib/doctor"},
	{"cmd", "examples"},
}

// sideways are the imports within a floor that are part of the design: paths
// of the state directory are the doors' common ground, and a client reads its
// configuration.
var sideways = map[string][]string{
	"lib/runlog":    {"lib/text"},
	"lib/git":       {"lib/text"},
	"lib/queue":     {"lib/state"},
	"lib/hubclient": {"lib/config"},
	"lib/seal":      {"lib/state"},
	"lib/session":   {"lib/presence"},
}

type goPackage struct {
	ImportPath   string
	Imports      []string
	TestImports  []string
	XTestImports []string
}

func TestFloors(t *testing.T) {
	for _, p := range listPackages(t) {
		name := strings.TrimPrefix(p.ImportPath, "sessionhub/")
		if name == "lib" {
			continue
		}
		own, base := floorOf(name)
		if own < 0 {
			t.Errorf("%s stands on no floor: add it to this test and to docs/architecture.md", name)
			continue
		}
		for _, imp := range p.Imports {
			imp, ours := strings.CutPrefix(imp, "sessionhub/")
			if !ours {
				continue
			}
			floor, impBase := floorOf(imp)
			same := floor == own && (impBase == base || slices.Contains(sideways[base], impBase))
			if floor > own || floor == own && !same {
				t.Errorf("%s imports %s, which is not on a floor below it", name, imp)
			}
		}
	}
}

// Doubles are for tests and the demo: no tool may carry one.
func TestFloorsToolsHoldNoDoubles(t *testing.T) {
	for _, p := range listPackages(t) {
		if !strings.HasPrefix(p.ImportPath, "sessionhub/cmd/sh") && !strings.Contains(p.ImportPath, "/cmd/internal/front") {
			continue
		}
		for _, imp := range p.Imports {
			if strings.HasSuffix(imp, "test") && strings.HasPrefix(imp, "sessionhub/") {
				t.Errorf("%s imports the double %s", p.ImportPath, imp)
			}
		}
	}
}

// shq is run for every event of every pane. The packages named here would add
// to its start, which is most of what it costs.
func TestFloorsShqIsLight(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "sessionhub/cmd/shq").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, dep := range strings.Fields(string(out)) {
		if dep == "net/http" || dep == "os/exec" || strings.Contains(dep, "modelcontextprotocol") || strings.Contains(dep, "sqlite") || dep == "regexp" {
			t.Errorf("shq links %s", dep)
		}
	}
}

func floorOf(name string) (floor int, base string) {
	floor = -1
	for i, list := range floors {
		for _, p := range list {
			if (name == p || strings.HasPrefix(name, p+"/")) && len(p) > len(base) {
				floor, base = i, p
			}
		}
	}
	return floor, base
}

func listPackages(t *testing.T) []goPackage {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports,TestImports,XTestImports", "sessionhub/...").Output()
	if err != nil {
		t.Fatal(err)
	}
	var list []goPackage
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p goPackage
		err := dec.Decode(&p)
		if errors.Is(err, io.EOF) {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, p)
	}
}
