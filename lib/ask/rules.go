package ask

import (
	"encoding/json"
	"net/url"
	"path"
	"strings"
)

// Never are the rules of remote_answer_never, in Claude Code's own syntax:
// "Bash(rm *)", "Bash(npm run:*)", "Write", "Edit(src/**)",
// "WebFetch(domain:example.com)", "mcp__server__*". What one of them may match
// is answered at the screen alone. They are no permission rules that must fit
// exactly: in doubt a rule matches, as the screen is always there.
type Never []string

// Match is the first rule that may match the use of a tool, "" for none.
// Resolve gives the path behind a path's links ("" when it can't, and then a
// path rule matches); it may be nil.
func (n Never) Match(tool string, input []byte, resolve func(string) string) string {
	in := inputOf(input)
	for _, rule := range n {
		if matchesRule(rule, tool, in, resolve) {
			return rule
		}
	}
	return ""
}

// ruleInput are the fields of an input that rules speak of.
type ruleInput struct {
	command, path, url string
	bad                bool // it is no object, or one of them is no text
}

func inputOf(raw []byte) ruleInput {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil {
		return ruleInput{bad: true}
	}
	var in ruleInput
	for key, to := range map[string]*string{"command": &in.command, "url": &in.url, "file_path": &in.path, "notebook_path": &in.path, "path": &in.path} {
		if v, ok := fields[key]; ok && json.Unmarshal(v, to) != nil {
			in.bad = true
		}
	}
	return in
}

// edits and reads are the tools that Claude Code's rules of one name stand for,
// too: a rule for Edit is one for all that change files.
func edits(tool string) bool {
	switch tool {
	case "Edit", "Write", "MultiEdit", "NotebookEdit":
		return true
	}
	return false
}

func reads(tool string) bool {
	switch tool {
	case "Read", "Glob", "Grep", "LS", "NotebookRead":
		return true
	}
	return false
}

func matchesRule(rule, tool string, in ruleInput, resolve func(string) string) bool {
	rule = strings.TrimSpace(rule)
	name, content, has := strings.Cut(rule, "(")
	name = strings.TrimSpace(name)
	if name == "" || has && !strings.HasSuffix(content, ")") || !has && strings.Contains(rule, ")") {
		return true // it makes no sense: somebody meant something
	}
	if !namesTool(name, tool) {
		return false
	}
	content = strings.TrimSpace(strings.TrimSuffix(content, ")"))
	if !has || content == "" || content == "*" || in.bad {
		return true
	}
	switch {
	case in.command != "":
		return commandMatches(content, in.command)
	case edits(tool) || reads(tool):
		return in.path == "" || pathMatches(content, in.path, resolve)
	case in.url != "":
		return urlMatches(content, in.url)
	}
	return true // what a rule means for such a tool is not known
}

// namesTool reports whether a rule's name stands for a tool. "mcp__server" is
// every tool of that server.
func namesTool(name, tool string) bool {
	a, b := strings.ToLower(name), strings.ToLower(tool)
	switch {
	case glob(a, b), strings.HasPrefix(a, "mcp__") && glob(a+"__*", b):
		return true
	case edits(name) && edits(tool), reads(name) && reads(tool):
		return true
	}
	return false
}

// glob reports whether s as a whole fits a pattern in which * is any text.
func glob(pattern, s string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == s
	}
	rest, ok := strings.CutPrefix(s, parts[0])
	if !ok {
		return false
	}
	last := parts[len(parts)-1]
	for _, p := range parts[1 : len(parts)-1] {
		i := strings.Index(rest, p)
		if i < 0 {
			return false
		}
		rest = rest[i+len(p):]
	}
	return strings.HasSuffix(rest, last)
}

// pathMatches compares a path with a pattern as gitignore has them. What it
// begins from (the settings' folder, the home, the root) is not known here, so
// a pattern fits at any folder, and * passes over folders.
func pathMatches(pattern, file string, resolve func(string) string) bool {
	pattern = strings.ToLower(pattern)
	pattern = strings.TrimPrefix(pattern, "~")
	pattern = strings.TrimLeft(strings.TrimPrefix(pattern, "./"), "/")
	pattern = strings.TrimRight(pattern, "/")
	for strings.Contains(pattern, "**") {
		pattern = strings.ReplaceAll(pattern, "**", "*")
	}
	pattern = strings.ReplaceAll(pattern, "/*/", "*/") // "a/**/b" is also "a/b"
	if pattern == "" || strings.ContainsAny(pattern, "[]{}?!\\") {
		return true // more than is understood here
	}
	names := []string{file, path.Clean(file)}
	if resolve != nil {
		r := resolve(file)
		if r == "" { // where it leads can't be told
			return true
		}
		names = append(names, r)
	}
	for _, name := range names {
		name = "/" + strings.TrimLeft(strings.ToLower(name), "/")
		for _, p := range []string{"*/" + pattern, "*/" + pattern + "/*"} {
			if glob(p, name) || glob(p, name+"/") {
				return true
			}
		}
	}
	return false
}

// urlMatches compares an address with "domain:HOST", which stands for the hosts
// below it, too, or with a pattern for the whole address.
func urlMatches(content, address string) bool {
	host, ok := strings.CutPrefix(strings.ToLower(content), "domain:")
	if !ok {
		return glob("*"+strings.ToLower(content)+"*", strings.ToLower(address))
	}
	if !strings.Contains(address, "://") {
		address = "https://" + address
	}
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" || u.User != nil {
		return true
	}
	host = strings.Trim(strings.TrimSpace(host), ".")
	has := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	for _, c := range has {
		if c >= 0x80 { // a name in another spelling of itself
			return true
		}
	}
	return glob(host, has) || glob("*."+host, has)
}
