package bundle

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"sessionhub/lib/record"
	"sessionhub/lib/seal"
)

// Decoding is done by several goroutines, so that two runs of one input don't
// cover the same: fuzz with -fuzzminimizetime 5x, or most of the time goes into
// making inputs smaller.

// FuzzReader reads anything as a bundle: it is refused, or sound.
func FuzzReader(f *testing.F) {
	k := ours(f)
	whole := write(f, k, small()...)
	f.Add(whole, false)
	f.Add(write(f, k), false)
	f.Add(whole[:len(whole)/2], false)
	f.Add(unpack(f, whole), true) // put into a frame here, so that changes get past zstd
	f.Add(unpack(f, write(f, k, plainFile("transcript.jsonl", "abc"))), true)
	f.Add([]byte{0x50, 0x2a, 0x4d, 0x18, 2, 0, 0, 0, 'h', 'i'}, false)
	f.Fuzz(func(t *testing.T, b []byte, pack bool) {
		if pack {
			b = stored(b)
		}
		for _, verify := range []func(*record.Manifest, []byte, []byte) error{seal.Self, func(*record.Manifest, []byte, []byte) error { return nil }} {
			m, got, err := contents(bytes.NewReader(b), Options{Verify: verify, Limit: 1 << 20})
			if err != nil {
				if !errors.Is(err, ErrUnsound) && !errors.Is(err, seal.ErrSignature) && !errors.Is(err, seal.ErrKey) {
					t.Fatalf("neither sound nor unsound: %v", err)
				}
				continue
			}
			if len(got) != len(m.Entries) {
				t.Fatalf("%d of %d entries", len(got), len(m.Entries))
			}
			for _, e := range m.Entries {
				inside(t, e.Name)
				if e.Link == "" && (sum(got[e.Name]) != e.SHA256 || int64(len(got[e.Name])) != e.Size) {
					t.Fatalf("%q is not what the manifest says", e.Name)
				}
			}
		}
	})
}

// inside fails unless a name stays in the folder that it is joined to.
func inside(t *testing.T, name string) {
	t.Helper()
	if !filepath.IsLocal(name) || filepath.Clean(name) != name || strings.ContainsAny(name, "\\\x00\n\x1b") {
		t.Fatalf("%q got through", name)
	}
}

// FuzzTarNames puts two names, rightly signed, into a bundle: what is let
// through is unpacked to two files in their folder.
func FuzzTarNames(f *testing.F) {
	for _, pair := range [][2]string{
		{"transcript.jsonl", "untracked/a"}, {"untracked/a", "untracked/A"}, {"untracked/../x", "untracked/l"}, {"untracked/é", "untracked/e\u0301"},
		{"untracked/l", "untracked/l/x"}, {"/etc/passwd", "sidecar/\x00"}, {"untracked/.git/config", "untracked/a\\b"}, {"untracked/" + strings.Repeat("a/", 100) + "b", "x"},
	} {
		f.Add(pair[0], pair[1], "")
		f.Add(pair[0], pair[1], "../target")
	}
	k := ours(f)
	f.Fuzz(func(t *testing.T, a, b, target string) {
		m := manifest(k)
		m.Entries = []record.ManifestEntry{{Name: a, Size: 1, Mode: 0o644, SHA256: sum("a")}, {Name: b, Size: 1, Mode: 0o644, SHA256: sum("b")}}
		if target != "" {
			m.Entries[0] = record.ManifestEntry{Name: a, Mode: 0o777, Link: target}
		}
		forged, ok := tryForge(t, k, m)
		if !ok { // not even a tar
			return
		}
		dir := filepath.Join(t.TempDir(), "out")
		if _, err := Extract(bytes.NewReader(forged), dir, trusting()); err != nil {
			if !errors.Is(err, ErrUnsound) {
				t.Fatalf("neither sound nor unsound: %v", err)
			}
			return
		}
		inside(t, a)
		inside(t, b)
		if strings.EqualFold(a, b) || strings.HasPrefix(b, a+"/") || strings.HasPrefix(a, b+"/") {
			t.Fatalf("%q and %q got through", a, b)
		}
	})
}

func tryForge(t *testing.T, k *seal.Keys, m record.Manifest) ([]byte, bool) {
	raw, signature, err := head(&m, k.Sign)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	putText(t, w, ManifestName, string(raw))
	putText(t, w, SignatureName, string(signature))
	for i, content := range []string{"a", "b"} {
		h := header(&m, m.Entries[i])
		if err := w.WriteHeader(h); err != nil {
			return nil, false
		}
		if h.Size > 0 {
			if _, err := io.WriteString(w, content); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return stored(b.Bytes()), true
}

// FuzzManifest reads any manifest, rightly signed: one that is let through
// says nothing that a path, a sum of sizes or a decision could stumble over.
func FuzzManifest(f *testing.F) {
	k := ours(f)
	m := manifest(k)
	m.Entries = entries(f, small())
	good, err := json.Marshal(m)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte(`{"v":1,"entries":[{"name":"untracked/a","size":9223372036854775807}]}`))
	f.Add([]byte(`{"V":1,"v":2}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, manifest []byte) {
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		putText(t, w, ManifestName, string(manifest))
		var said record.Manifest
		signer := ""
		if json.Unmarshal(manifest, &said) == nil {
			signer = said.Signer
		}
		signature, err := json.Marshal(record.Signature{V: 1, Signer: signer})
		if err != nil {
			t.Fatal(err)
		}
		putText(t, w, SignatureName, string(signature))
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		checked := false
		m, err := Check(bytes.NewReader(stored(b.Bytes())), Options{Verify: func(m *record.Manifest, raw, _ []byte) error {
			checked = bytes.Equal(raw, manifest)
			return nil
		}})
		if err != nil {
			if !errors.Is(err, ErrUnsound) {
				t.Fatalf("neither sound nor unsound: %v", err)
			}
			return
		}
		if !checked || len(m.Entries) > 0 { // the tar has none
			t.Fatalf("let through: checked %v, %d entries", checked, len(m.Entries))
		}
		if err := m.Validate(); err != nil {
			t.Fatal(err)
		}
	})
}
