package e2e

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// printed holds what the tools print against docs/schema, by the records of a
// run of the main job.
func (f *flow) printed(session string) {
	for _, c := range []struct {
		schema string
		tool   string
		args   []string
	}{
		{"session", "shctl", []string{"status", "--json", "--all"}},
		{"session", "shctl", []string{"show", "--json", session}},
		{"inbox-entry", "shctl", []string{"inbox", "--json"}},
		{"queue-stat", "shq", []string{"stat"}},
		{"item", "shq", []string{"cat"}},
		{"snapshot", "shwatch", []string{"snapshot", "--explain", "--herdr", f.w.Socket}},
		{"watcher-status", "shwatch", []string{"status"}},
		{"install-part", "shinstall", []string{"status"}},
		{"install-step", "shinstall", []string{"hooks", "--dry-run"}},
	} {
		out, err := f.w.Tool(c.tool, c.args...)
		if err != nil {
			f.t.Error(err)
			continue
		}
		validate(f.t, c.schema, out)
	}
}

func validate(t *testing.T, name string, lines []byte) {
	t.Helper()
	schema, err := jsonschema.NewCompiler().Compile(filepath.Join("..", "..", "..", "docs", "schema", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(lines) {
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(line))
		if err == nil {
			err = schema.Validate(v)
		}
		if err != nil {
			t.Errorf("%s: %v\n%s", name, err, line)
		}
	}
}
