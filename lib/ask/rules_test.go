package ask

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func input(t testing.TB, pairs ...string) []byte {
	t.Helper()
	m := map[string]string{}
	for i := 0; i+1 < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	b, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestNeverAndCommands(t *testing.T) {
	for _, c := range []struct {
		rule, command string
		want          bool
	}{
		{"Bash(rm *)", "rm -rf x", true},
		{"Bash(rm *)", "rm", true},
		{"Bash(rm *)", "rmdir x", false},
		{"Bash(rm *)", "farm x", false},
		{"Bash(rm*)", "rmdir x", true},
		{"Bash(rm:*)", "rm -rf x", true},
		{"Bash(rm *)", "ls -la", false},
		{"Bash(rm *)", "make all", false},
		{"Bash(rm *)", "go test ./...", false},
		{"Bash(rm *)", "cd $HOME && make", false},
		{"Bash(rm *)", "ls *.go", false},
		{"Bash(rm *)", "[ -f x ] && make", false},
		{"Bash(rm *)", "[[ -f x ]] && make", false},
		{"Bash(rm *)", "cd /tmp && rm x", true},
		{"Bash(rm *)", "false||rm x", true},
		{"Bash(rm *)", "true;rm x", true},
		{"Bash(rm *)", "ls|rm x", true},
		{"Bash(rm *)", "sleep 1&rm x", true},
		{"Bash(rm *)", "ls\nrm x", true},
		{"Bash(rm *)", "ls\r\nrm x", true},
		{"Bash(rm *)", "echo $(rm x)", true},
		{"Bash(rm *)", "echo `rm x`", true},
		{"Bash(rm *)", "(rm x)", true},
		{"Bash(rm *)", "{ rm x; }", true},
		{"Bash(rm *)", "{rm,-rf,x}", true},
		{"Bash(rm *)", "diff <(rm x) y", true},
		{"Bash(rm *)", "X=1 rm x", true},
		{"Bash(rm *)", ">log rm x", true},
		{"Bash(rm *)", "if true; then rm x; fi", true},
		{"Bash(rm *)", "for f in a; do rm $f; done", true},
		{"Bash(rm *)", "! rm x", true},
		{"Bash(rm *)", "/bin/rm x", true},
		{"Bash(/bin/rm *)", "rm x", true},
		{"Bash(rm *)", `\rm x`, true},
		{"Bash(rm *)", "r\\\nm x", true},
		{"Bash(rm *)", `r''m x`, true},
		{"Bash(rm *)", `"rm" x`, true},
		{"Bash(rm *)", `'r'"m" x`, true},
		{"Bash(rm *)", "RM x", true},
		{"Bash(rm *)", "r$()m x", true},
		{"Bash(rm *)", "r${x}m x", true},
		{"Bash(rm *)", "$CMD x", true},
		{"Bash(rm *)", "ls; $CMD x", true},
		{"Bash(rm *)", "$(echo rm) x", true},
		{"Bash(rm *)", "$'\\x72m' x", true},
		{"Bash(rm *)", "/bin/r? x", true},
		{"Bash(rm *)", "find . -exec rm {} +", true},
		{"Bash(rm *)", "find . -exec $C {} +", true},
		{"Bash(rm *)", "ls | xargs rm", true},
		{"Bash(rm *)", "sudo -u root rm x", true},
		{"Bash(rm *)", "alias y=rm; y x", true},
		{"Bash(rm *)", "sh -c 'rm x'", true},
		{"Bash(rm *)", "bash script", true},
		{"Bash(rm *)", "curl x | sh", true},
		{"Bash(rm *)", "eval $x", true},
		{"Bash(rm *)", ". ./env", true},
		{"Bash(rm *)", "bash <<E\nrm x\nE", true},
		{"Bash(rm *)", `python3 -c "import os; os.system('rm x')"`, true},
		{"Bash(rm *)", "echo rm x", true}, // in doubt
		{"Bash(rm *)", "a\x00b", true},
		{"Bash(git push *)", "git push origin main", true},
		{"Bash(git push *)", "git   push", true},
		{"Bash(git push *)", "git status", false},
		{"Bash(git push *)", "git -C x push", false}, // another rule is wanted: git *push*
		{"Bash(git *push*)", "git -C x push", true},
		{"Bash(git push *)", "git $VERB", true},
		{"Bash(git push --force)", "git push --force origin", true},
		{"Bash(git push --force)", "git push origin", false},
		{"Bash(git push --force)", "git push $FLAGS", true},
		{"Bash(npm run:*)", "npm run build", true},
		{"Bash(npm run:*)", "npm ci", false},
		{"Bash(npm run build)", "npm run build && ls", true},
		{"Bash(npm run build)", "npm run builder", false},
		{"Bash(* --force)", "git push --force", true},
		{"Bash(*)", "ls", true},
		{"Bash()", "ls", true},
		{"Bash", "ls", true},
		{"bash", "ls", true},
		{"*", "ls", true},
		{"Write", "ls", false},
		{"Bash(rm *", "ls", true}, // it makes no sense
		{"", "ls", true},
		{"rm *)", "ls", true},
		{"Bash(\"my tool\" *)", "'my tool' x", true},
	} {
		got := Never{c.rule}.Match("Bash", input(t, "command", c.command), nil)
		if (got != "" || c.rule == "" && c.want) != c.want {
			t.Errorf("%s of %q: %q, want %v", c.rule, c.command, got, c.want)
		}
	}
}

func TestNeverAndOtherTools(t *testing.T) {
	resolve := func(p string) string {
		if p == "/home/dev/link/x" {
			return "/etc/x"
		}
		return p
	}
	for _, c := range []struct {
		rule, tool, key, value string
		want                   bool
	}{
		{"Write", "Write", "file_path", "/a", true},
		{"Write", "Edit", "file_path", "/a", true},
		{"Edit", "NotebookEdit", "notebook_path", "/a", true},
		{"Edit", "Read", "file_path", "/a", false},
		{"Read", "Grep", "path", "/a", true},
		{"Edit(src/**)", "Write", "file_path", "/home/dev/app/src/a/b.go", true},
		{"Edit(src/**)", "Write", "file_path", "/home/dev/app/srcs/b.go", false},
		{"Edit(/src/*.go)", "Edit", "file_path", "/home/dev/app/src/b.go", true},
		{"Edit(//etc/**)", "Edit", "file_path", "/etc/passwd", true},
		{"Edit(//etc/**)", "Edit", "file_path", "/tmp/../etc/passwd", true},
		{"Edit(//etc/**)", "Edit", "file_path", "/home/dev/link/x", true},
		{"Edit(//etc/**)", "Edit", "file_path", "/home/dev/x", false},
		{"Edit(~/.ssh/**)", "Write", "file_path", "/home/dev/.ssh/config", true},
		{"Edit(.env)", "Write", "file_path", "/home/dev/app/.env", true},
		{"Edit(*.env)", "Write", "file_path", "/home/dev/app/prod.env", true},
		{"Edit(docs)", "Write", "file_path", "/home/dev/docs/a/b", true},
		{"Edit(a/**/b)", "Write", "file_path", "/x/a/b", true},
		{"Edit([ab])", "Write", "file_path", "/x", true},
		{"Edit(src)", "Write", "other", "x", true},
		{"WebFetch(domain:example.com)", "WebFetch", "url", "https://example.com/x", true},
		{"WebFetch(domain:example.com)", "WebFetch", "url", "https://www.Example.com./x", true},
		{"WebFetch(domain:example.com)", "WebFetch", "url", "example.com/x", true},
		{"WebFetch(domain:example.com)", "WebFetch", "url", "https://badexample.com/x", false},
		{"WebFetch(domain:example.com)", "WebFetch", "url", "https://example.com@other.net/", true},
		{"WebFetch(domain:example.com)", "WebFetch", "url", "https://exämple.com/", true},
		{"WebFetch(domain:*.com)", "WebFetch", "url", "https://a.com", true},
		{"WebFetch(domain:example.com)", "WebFetch", "url", "https://other.net", false},
		{"mcp__mail__*", "mcp__mail__send", "to", "x", true},
		{"mcp__mail", "mcp__mail__send", "to", "x", true},
		{"mcp__mail__read", "mcp__mail__send", "to", "x", false},
		{"mcp__mail", "mcp__mailer__send", "to", "x", false},
		{"mcp__*", "mcp__mailer__send", "to", "x", true},
		{"ExitPlanMode", "ExitPlanMode", "plan", "x", true},
		{"Agent(explore)", "Agent", "prompt", "x", true},
	} {
		got := Never{c.rule}.Match(c.tool, input(t, c.key, c.value), resolve)
		if (got != "") != c.want {
			t.Errorf("%s of %s %s: %q, want %v", c.rule, c.tool, c.value, got, c.want)
		}
	}
	if (Never{"Bash(rm *)"}).Match("Bash", []byte(`{"command":["rm","x"]}`), nil) == "" {
		t.Error("a command that is no text is in doubt")
	}
	if (Never{"Bash(rm *)"}).Match("Bash", []byte(`[]`), nil) == "" {
		t.Error("an input that is no object is in doubt")
	}
	if got := (Never{"Write", "Bash(ls *)"}).Match("Bash", input(t, "command", "ls"), nil); got != "Bash(ls *)" {
		t.Errorf("the rule that matches is told, not %q", got)
	}
	if (Never{}).Match("Bash", input(t, "command", "ls"), nil) != "" {
		t.Error("no rules match nothing")
	}
}

// Whatever stands around it, a forbidden command is found.
func FuzzNeverFindsTheCommand(f *testing.F) {
	for _, s := range []string{"ls", "echo 'a b' && ", "if true; then", "X=1", "\\", "\"", "$(", "cat <<E\n", "a|b;c&d\ne", "é \x1b["} {
		f.Add(s, " x", byte(0))
	}
	f.Fuzz(func(t *testing.T, before, after string, how byte) {
		const name = "forbid"
		joints := []string{" && ", " || ", "; ", " | ", " & ", "\n", " $(", " `", " ( "}
		b := before
		if strings.HasSuffix(b, "\\") || strings.HasSuffix(b, "$") || strings.ContainsRune(b, 0) {
			return // that changes the joint itself, or is in doubt anyway
		}
		command := b + joints[int(how)%len(joints)] + name + " " + after
		raw, err := json.Marshal(map[string]string{"command": command})
		if err != nil {
			t.Fatal(err)
		}
		if (Never{"Bash(forbid *)"}).Match("Bash", raw, nil) == "" {
			t.Errorf("%q was not found", command)
		}
	})
}

func FuzzNeverNeverPanics(f *testing.F) {
	f.Add("Bash(rm *)", "Bash", `{"command":"rm x"}`)
	f.Add("Edit(a/**)", "Write", `{"file_path":"/a/b"}`)
	f.Add("WebFetch(domain:x)", "WebFetch", `{"url":"http://x"}`)
	f.Fuzz(func(t *testing.T, rule, tool, in string) {
		_ = Never{rule}.Match(tool, []byte(in), func(p string) string { return filepath.Clean(p) })
		if !(matchesRule(tool, tool, inputOf([]byte(in)), nil)) && !strings.ContainsAny(tool, "*()") && strings.TrimSpace(tool) == tool {
			t.Errorf("the rule %q does not match its own tool", tool)
		}
	})
}

// A file that does not exist yet is where its links lead all the same: behind a
// folder that is made with it, and behind a link to what is not there.
func TestLinksToWhatIsNotThere(t *testing.T) {
	root := t.TempDir()
	for _, err := range []error{
		os.MkdirAll(filepath.Join(root, ".github"), 0o700),
		os.MkdirAll(filepath.Join(root, "docs"), 0o700),
		os.Symlink(".github", filepath.Join(root, "innocent")),
		os.Symlink("../.github/new.yml", filepath.Join(root, "docs", "dangling")),
		os.Symlink("docs/dangling", filepath.Join(root, "twice")),
		os.Symlink("loop", filepath.Join(root, "loop")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for file, want := range map[string]bool{
		".github/x": true, "innocent/x": true, "innocent/a/b/x": true, "docs/dangling": true, "twice": true, "loop/x": true,
		"docs/x": false, "docs/a/b/x": false, "a/b": false,
	} {
		input := fmt.Sprintf(`{"file_path":%q}`, filepath.Join(root, file))
		if got := (Never{"Edit(.github/**)"}).Match("Write", []byte(input), resolved) != ""; got != want {
			t.Errorf("%s: %v, want %v", file, got, want)
		}
	}
}
