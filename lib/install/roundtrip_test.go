package install

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sessionhub/lib/jsonedit"
)

// holdsOurs reports whether any command in the settings is one of ours, also
// where it does not count.
func holdsOurs(settings []byte) bool {
	return bytes.Contains(settings, []byte("hook")) && bytes.Contains(settings, []byte("shq"))
}

// checkRoundTrip holds plant and uproot to what they promise of any settings.
func checkRoundTrip(t interface{ Fatalf(string, ...any) }, settings []byte) {
	with, err := plant(settings, HookRows(), shqPath)
	if err != nil {
		return // refused, and nothing was written
	}
	d, err := jsonedit.Parse(with)
	if err != nil {
		t.Fatalf("%q became %q: %v", settings, with, err)
	}
	seen := map[string]int{}
	for _, p := range ours(d) {
		if p.program == shqPath && p.everywhere {
			seen[p.event+" "+p.hook]++
		}
	}
	for _, r := range HookRows() {
		if seen[r.Event+" "+r.Hook] != 1 {
			t.Fatalf("%q became %q: %s %s is there %d times", settings, with, r.Event, r.Hook, seen[r.Event+" "+r.Hook])
		}
	}
	if again, err := plant(with, HookRows(), shqPath); err != nil || !bytes.Equal(again, with) {
		t.Fatalf("%q: planted again: %q, %v", with, again, err)
	}
	without, err := uproot(with, settings)
	if err != nil {
		t.Fatalf("%q: %v", with, err)
	}
	if holdsOurs(settings) {
		if !reflect.DeepEqual(pruned(t, settings), pruned(t, without)) {
			t.Fatalf("%q became %q and then %q", settings, with, without)
		}
		return
	}
	if !bytes.Equal(without, settings) {
		t.Fatalf("%q became %q and then %q", settings, with, without)
	}
	rewritten := &bytes.Buffer{} // as Claude Code does when it saves a setting
	if err := json.Indent(rewritten, bytes.TrimPrefix(with, []byte("\xef\xbb\xbf")), "", "  "); err != nil {
		t.Fatalf("%v", err)
	}
	if without, err = uproot(rewritten.Bytes(), settings); err != nil || !reflect.DeepEqual(pruned(t, settings), pruned(t, without)) {
		t.Fatalf("%q became %q, was rewritten, and then %q, %v", settings, with, without, err)
	}
}

// pruned is what settings say, without entries of ours and what is empty then.
func pruned(t interface{ Fatalf(string, ...any) }, settings []byte) map[string]any {
	settings = bytes.TrimPrefix(settings, []byte("\xef\xbb\xbf"))
	v := map[string]any{}
	dec := json.NewDecoder(bytes.NewReader(settings))
	dec.UseNumber()
	if len(bytes.TrimSpace(settings)) > 0 {
		if err := dec.Decode(&v); err != nil {
			t.Fatalf("%q: %v", settings, err)
		}
	}
	hooks, _ := v["hooks"].(map[string]any)
	maps.DeleteFunc(hooks, func(_ string, list any) bool {
		groups, ok := list.([]any)
		if !ok {
			return false
		}
		kept := []any{}
		for _, g := range groups {
			if g = prunedGroup(g); g != nil {
				kept = append(kept, g)
			}
		}
		return len(kept) == 0
	})
	for event, list := range hooks {
		if groups, ok := list.([]any); ok {
			kept := []any{}
			for _, g := range groups {
				if g = prunedGroup(g); g != nil {
					kept = append(kept, g)
				}
			}
			hooks[event] = kept
		}
	}
	if hooks != nil && len(hooks) == 0 {
		delete(v, "hooks")
	}
	return v
}

func prunedGroup(g any) any {
	group, ok := g.(map[string]any)
	if !ok {
		return g
	}
	entries, ok := group["hooks"].([]any)
	if !ok {
		return g
	}
	kept, had := []any{}, false
	for _, e := range entries {
		entry, _ := e.(map[string]any)
		command, _ := entry["command"].(string)
		if name, _ := ourHook(command); name != "" {
			had = true
			continue
		}
		kept = append(kept, e)
	}
	if had && len(kept) == 0 && len(group) <= 2 {
		return nil
	}
	group["hooks"] = kept
	return group
}

func FuzzSettings(f *testing.F) {
	for _, s := range []string{
		"", "{}", "{ }\r\n", `{"model":"sonnet"}`, "{\n\t\"hooks\": {},\n\t\"x\": 1e999\n}", `{"hooks":{"Stop":[ ]},"hooks":{"Stop":[{"hooks":[{"command":"a"}]}]}}`,
		"\xef\xbb\xbf{\"hooks\": {\"SessionStart\": [{\"matcher\": \"startup\", \"hooks\": [{\"type\": \"command\", \"command\": \"/old/shq hook session-start\"}, {\"command\":\"echo\"}]}]}}",
		`{"hooks":{"Stop":[{"hooks":[{"command":"shq hook stop"},{"command":"'/a b/shq' hook stop"}]}],"SubagentStop":[1,[],{"hooks":{}}]}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, settings []byte) { checkRoundTrip(t, settings) })
}

// Whatever lies there as the backup, nothing of ours is left, and the rest is.
func FuzzUproot(f *testing.F) {
	planted, err := plant([]byte("{\"a\": 1}"), HookRows(), shqPath)
	if err != nil {
		f.Fatal(err)
	}
	for _, before := range []string{"", "{}", `{"hooks":{"Stop":[ ],"Stop":1}}`, `{"hooks":[]}`, "nonsense", "5"} {
		f.Add(planted, []byte(before))
	}
	f.Fuzz(func(t *testing.T, settings, before []byte) {
		without, err := uproot(settings, before)
		if err != nil || without == nil {
			return
		}
		d, err := parseSettings(without)
		if err != nil && !bytes.Equal(without, settings) {
			t.Fatalf("%q became %q: %v", settings, without, err)
		}
		if err == nil && left(d) > 0 {
			t.Fatalf("%q became %q", settings, without)
		}
		if err == nil && !reflect.DeepEqual(pruned(t, settings), pruned(t, without)) {
			t.Fatalf("%q became %q", settings, without)
		}
	})
}

func left(d *jsonedit.Doc) int { return len(ours(d)) }

// Settings as people write them: any spacing, shared groups, foreign entries,
// empty containers, doubled keys, entries of ours from before.
func TestSettingsProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { checkRoundTrip(t, []byte(drawSettings(t))) })
}

func drawSettings(t *rapid.T) string {
	space := rapid.SampledFrom([]string{"", "", " ", "\n", "\r\n", "\n  ", "\n\t", " \n    "})
	ws := func() string { return space.Draw(t, "space") }
	join := func(open string, items []string, shut string) string {
		return open + ws() + strings.Join(items, ws()+","+ws()) + ws() + shut
	}
	member := func(key, value string) string { return jsonedit.Quote(key) + ws() + ":" + ws() + value }
	times := func(most int, item func() string) []string {
		var list []string
		for range rapid.IntRange(0, most).Draw(t, "n") {
			list = append(list, item())
		}
		return list
	}
	command := rapid.SampledFrom([]string{"echo hi", "sessionhub hook stop", "/old/shq hook stop", "shq hook session-start", "'/a b/shq' hook context", "\"x\" # \\", "ünï"})
	entry := func() string {
		return join("{", append(times(1, func() string { return member("type", `"command"`) }), member("command", jsonedit.Quote(command.Draw(t, "command")))), "}")
	}
	group := func() string {
		return join("{", append(times(1, func() string { return member("matcher", `"Bash"`) }), member("hooks", join("[", times(3, entry), "]"))), "}")
	}
	event := rapid.SampledFrom([]string{"SessionStart", "Stop", "Stop", "PreToolUse", "Nope"})
	hooks := func() string {
		return member("hooks", join("{", times(4, func() string { return member(event.Draw(t, "event"), join("[", times(3, group), "]")) }), "}"))
	}
	other := func() string {
		return member(rapid.SampledFrom([]string{"model", "a\"b", "env", "hook"}).Draw(t, "key"), rapid.SampledFrom([]string{`"x"`, "1.50", "null", `[1,{"b":[]}]`, "{}"}).Draw(t, "value"))
	}
	items := append(times(2, other), times(2, hooks)...)
	items = append(items, times(2, other)...)
	return fmt.Sprintf("%s%s%s%s", rapid.SampledFrom([]string{"", "", "\xef\xbb\xbf"}).Draw(t, "bom"), ws(), join("{", items, "}"), ws())
}
