package bundle

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// What a bundle says of itself is what its schemas say.
func TestSchemas(t *testing.T) {
	k := ours(t)
	r := tar.NewReader(bytes.NewReader(unpack(t, write(t, k, small()...))))
	for _, name := range []string{"manifest", "signature"} {
		h, err := r.Next()
		if err != nil || h.Name != name+".json" {
			t.Fatalf("%v, %v", h, err)
		}
		v, err := jsonschema.UnmarshalJSON(r)
		if err != nil {
			t.Fatal(err)
		}
		valid(t, name, v)
	}
	key, err := json.Marshal(k.Public)
	if err != nil {
		t.Fatal(err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(key))
	if err != nil {
		t.Fatal(err)
	}
	valid(t, "move-key", v)
}

func valid(t *testing.T, name string, v any) {
	t.Helper()
	schema, err := jsonschema.NewCompiler().Compile(filepath.Join("..", "..", "docs", "schema", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(v); err != nil {
		t.Errorf("%s: %v", name, err)
	}
}
