package digest

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// The transcripts in testdata were written by Claude Code 2.1.332 in runs of
// our own (long texts of the program were cut, names made neutral):
// 58f5e579 has a shell command, a skill, a prompt that was typed while it
// worked, three kinds of recaps, one that failed, a paste and a compact;
// de881802 a subagent, its notice, a large result, /rename and /compact;
// 89304000 what /clear began; 5d81dc25 is a `claude -p`, f57081b5 a background
// session at its limit, limit an automatic continuation, relocated a /cd out
// of a repository.
func TestDigestOfRealTranscripts(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.jsonl")
	if err != nil || len(paths) < 8 {
		t.Fatalf("%d transcripts, %v", len(paths), err)
	}
	schema, err := jsonschema.NewCompiler().Compile("../../docs/schema/digest.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			got, err := File(t.Context(), path, "the hint")
			if err != nil {
				t.Fatal(err)
			}
			have, err := json.MarshalIndent(got, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			v, err := jsonschema.UnmarshalJSON(bytes.NewReader(have))
			if err == nil {
				err = schema.Validate(v)
			}
			if err != nil {
				t.Error(err)
			}
			want, err := os.ReadFile(strings.TrimSuffix(path, ".jsonl") + ".json")
			if err != nil {
				t.Fatal(err)
			}
			if string(have)+"\n" != string(want) {
				t.Errorf("got\n%s\nwant\n%s", have, want)
			}
		})
	}
}
