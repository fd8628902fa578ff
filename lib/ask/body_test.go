package ask

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sessionhub/lib/config"
	"sessionhub/lib/record"
)

func TestWhatIsShown(t *testing.T) {
	long := strings.Repeat("é", 20<<10)
	for _, c := range []struct {
		name, input string
		cut         bool
		want        string
	}{
		{"as it is", `{"command":"ls"}`, false, `{"command":"ls"}`},
		{"escapes", "{\"command\":\"a\u202eb\\u001b[8m\"}", false, `{"command":"a\u202eb\u001b[8m"}`},
		{"beyond 16 bits", "{\"a\":\"\U000e0041\"}", false, `{"a":"\udb40\udc41"}`},
		{"numbers stay", `{"n":12345678901234567890.10}`, false, `{"n":12345678901234567890.10}`},
		{"no object", `[1]`, false, `{"value":[1]}`},
		{"a long text", `{"content":"` + long + `","file_path":"/x"}`, true, "[cut: "},
		{"many texts", `{"a":["` + strings.Repeat(`xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx","`, 500) + `"]}`, true, "[cut: "},
	} {
		got, cut := Shown(json.RawMessage(c.input), inputLimit)
		if cut != c.cut || len(got) > inputLimit || !json.Valid(got) || !strings.Contains(string(got), c.want) || !cut && string(got) != c.want {
			t.Errorf("%s: %v, %d bytes: %.100s", c.name, cut, len(got), got)
		}
	}
	f := &File{Ask: "x", Tool: "Write", Input: json.RawMessage(`{"content":"` + long + `"}`), InputSHA256: strings.Repeat("a", 64), Version: "2.1.332"}
	b := f.Body(config.Config{RemoteAnswer: true})
	if !b.Answerable || !b.InputCut || b.Why == "" {
		t.Errorf("%+v", b)
	}
	if err := f.Check(reply(f, record.Allow), config.Config{RemoteAnswer: true}); err == nil {
		t.Error("what was cut was allowed")
	}
	if err := f.Check(reply(f, record.Deny), config.Config{RemoteAnswer: true}); err != nil {
		t.Errorf("it can be denied: %v", err)
	}
	if b := f.Body(config.Config{}); b.Answerable || !strings.Contains(b.Why, "off") {
		t.Errorf("%+v", b)
	}
}

func TestAPlanThatWasChanged(t *testing.T) {
	file := filepath.Join(t.TempDir(), "plan.md")
	if err := os.WriteFile(file, []byte("another"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := &File{Ask: "x", Tool: toolPlan, Input: json.RawMessage(`{}`), Plan: "shown", PlanFile: file, InputSHA256: strings.Repeat("a", 64), Version: "2.1.332"}
	if err := f.Check(reply(f, record.Allow), config.Config{RemoteAnswer: true}); err == nil || !strings.Contains(err.Error(), "changed") {
		t.Errorf("%v", err)
	}
	f.Plan = "another"
	if err := f.Check(reply(f, record.Allow), config.Config{RemoteAnswer: true}); err != nil {
		t.Error(err)
	}
}
