package bundle

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"sessionhub/lib/record"
	"sessionhub/lib/seal"
)

func TestRefusedManifests(t *testing.T) {
	k, other := ours(t), ours(t)
	b := write(t, k, small()...)
	for _, c := range []struct {
		name string
		opt  Options
		why  string
	}{
		{"another move", Options{Verify: seal.Self, Move: "another"}, "belongs to move " + aMove},
		{"another session", Options{Verify: seal.Self, Session: "another"}, "holds session " + aSession},
		{"another source", Options{Verify: seal.Self, From: "laptop"}, "comes from machine tower"},
		{"another recipient", Options{Verify: seal.Self, Recipient: other.Public.Recipient}, "another machine's key"},
		{"over the limit", Options{Verify: seal.Self, Limit: 1000}, "limit of 1000 bytes"},
	} {
		t.Run(c.name, func(t *testing.T) { refused(t, b, c.opt, c.why) })
	}
	_, err := Check(bytes.NewReader(b), Options{Verify: seal.By(other.Public.Signer)})
	if !errors.Is(err, seal.ErrSignature) {
		t.Errorf("another signer: %v", err)
	}
	m := manifest(k)
	m.Signer = other.Public.Signer // who claims to be another
	var forged bytes.Buffer
	if _, err := Write(&forged, m, small(), 0, k.Sign); err != nil {
		t.Fatal(err)
	}
	if _, err := Check(&forged, Options{Verify: seal.By(other.Public.Signer)}); !errors.Is(err, seal.ErrSignature) {
		t.Errorf("a forged signer: %v", err)
	}
}

// Nothing of the manifest is believed, and no entry read, before the signature.
func TestSignatureComesFirst(t *testing.T) {
	k := ours(t)
	_, _, err := contents(bytes.NewReader(write(t, k, small()...)), Options{Verify: func(*record.Manifest, []byte, []byte) error { return errInjected }})
	if !errors.Is(err, errInjected) {
		t.Fatalf("got %v", err)
	}
	_, err = Read(bytes.NewReader(write(t, k, small()...)), Options{Verify: func(*record.Manifest, []byte, []byte) error { return errInjected }},
		func(record.ManifestEntry, io.Reader) error { t.Error("an entry was shown"); return nil })
	if !errors.Is(err, errInjected) {
		t.Errorf("got %v", err)
	}
}

func TestRefusedTars(t *testing.T) {
	k := ours(t)
	m := manifest(k)
	files := []File{plainFile("transcript.jsonl", "abc"), plainFile("untracked/a", "xyz"), link("untracked/l", "a")}
	m.Entries = entries(t, files)
	head := func(name string, kind byte) tar.Header {
		return tar.Header{Typeflag: kind, Name: name, Mode: 0o644, Format: tar.FormatPAX}
	}
	first := func(w *tar.Writer) { putText(t, w, "transcript.jsonl", "abc") }
	linked := func(w *tar.Writer) {
		h := head("untracked/l", tar.TypeSymlink)
		h.Linkname, h.Mode = "a", 0o777
		put(t, w, h, "")
	}
	for _, c := range []struct {
		name string
		fill func(w *tar.Writer)
		why  string
	}{
		{"a missing entry", func(w *tar.Writer) { first(w) }, `"untracked/a" is missing`},
		{"another order", func(w *tar.Writer) { putText(t, w, "untracked/a", "xyz"); first(w); linked(w) }, `"untracked/a" stands where "transcript.jsonl" belongs`},
		{"one more", func(w *tar.Writer) {
			first(w)
			putText(t, w, "untracked/a", "xyz")
			linked(w)
			putText(t, w, "untracked/b", "")
		}, `"untracked/b" is not in its manifest`},
		{"a hostile one more", func(w *tar.Writer) {
			first(w)
			putText(t, w, "untracked/a", "xyz")
			linked(w)
			putText(t, w, "../\x1b[2Jx", "")
		}, `"../<U+001B>[2Jx" is not in its manifest`},
		{"other content", func(w *tar.Writer) { putText(t, w, "transcript.jsonl", "abd") }, "content is not the manifest's"},
		{"shorter", func(w *tar.Writer) { putText(t, w, "transcript.jsonl", "ab") }, "not the manifest's"},
		{"longer", func(w *tar.Writer) { putText(t, w, "transcript.jsonl", "abcd") }, "not the manifest's"},
		{"another mode", func(w *tar.Writer) {
			h := head("transcript.jsonl", tar.TypeReg)
			h.Size, h.Mode = 3, 0o4644
			put(t, w, h, "abc")
		}, "not the manifest's"},
		{"a hard link", func(w *tar.Writer) {
			first(w)
			h := head("untracked/a", tar.TypeLink)
			h.Linkname = "transcript.jsonl"
			put(t, w, h, "")
		}, "is no file"},
		{"a link in place of a file", func(w *tar.Writer) {
			h := head("transcript.jsonl", tar.TypeSymlink)
			h.Linkname = "/etc/passwd"
			put(t, w, h, "")
		}, "is no file"},
		{"a file in place of a link", func(w *tar.Writer) { first(w); putText(t, w, "untracked/a", "xyz"); putText(t, w, "untracked/l", "") }, "is no link"},
		{"another target", func(w *tar.Writer) {
			first(w)
			putText(t, w, "untracked/a", "xyz")
			h := head("untracked/l", tar.TypeSymlink)
			h.Linkname, h.Mode = "/etc", 0o777
			put(t, w, h, "")
		}, "not the manifest's"},
		{"a character device", func(w *tar.Writer) { put(t, w, head("transcript.jsonl", tar.TypeChar), "") }, "is no file"},
		{"a block device", func(w *tar.Writer) { put(t, w, head("transcript.jsonl", tar.TypeBlock), "") }, "is no file"},
		{"a fifo", func(w *tar.Writer) { put(t, w, head("transcript.jsonl", tar.TypeFifo), "") }, "is no file"},
		{"a folder", func(w *tar.Writer) { put(t, w, head("untracked/", tar.TypeDir), "") }, `"untracked/" stands where`},
		{"a global header", func(w *tar.Writer) {
			put(t, w, tar.Header{Typeflag: tar.TypeXGlobalHeader, PAXRecords: map[string]string{"path": "transcript.jsonl"}, Format: tar.FormatPAX}, "")
		}, "global header"},
	} {
		t.Run(c.name, func(t *testing.T) { refused(t, forge(t, k, m, c.fill), trusting(), c.why) })
	}
}

func TestRefusedHeads(t *testing.T) {
	k := ours(t)
	m := manifest(k)
	m.Entries = []record.ManifestEntry{}
	raw, signature, err := head(&m, k.Sign)
	if err != nil {
		t.Fatal(err)
	}
	made := func(pairs ...string) []byte {
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		for i := 0; i < len(pairs); i += 2 {
			putText(t, w, pairs[i], pairs[i+1])
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return compress(t, b.Bytes())
	}
	mf, sg := string(raw), string(signature)
	if _, err := Check(bytes.NewReader(made(ManifestName, mf, SignatureName, sg)), trusting()); err != nil {
		t.Fatal("the right one is refused:", err)
	}
	signed := func(manifest string) string {
		sig, err := k.Sign([]byte(manifest))
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf(`{"v":1,"signer":%q,"signature":%q}`, k.Public.Signer, b64(sig))
	}
	for _, c := range []struct {
		name string
		b    []byte
		why  string
	}{
		{"nothing", nil, "empty"},
		{"an empty tar", made(), `"manifest.json" is missing`},
		{"no signature", made(ManifestName, mf), `"signature.json" is missing`},
		{"signature last, as in a tar by hand", made(ManifestName, mf, "transcript.jsonl", "", SignatureName, sg), "stands where"},
		{"signature first", made(SignatureName, sg, ManifestName, mf), "stands where"},
		{"manifest no JSON", made(ManifestName, "{", SignatureName, sg), "manifest.json: unexpected end"},
		{"manifest of another kind", made(ManifestName, `{"v":1,"move":7}`, SignatureName, sg), "cannot unmarshal number"},
		{"another version", made(ManifestName, strings.Replace(mf, `"v":1`, `"v":2`, 1), SignatureName, sg), `"v" is 2`},
		{"a move that is a path", made(ManifestName, strings.Replace(mf, aMove, "../x", 1), SignatureName, sg), `"move"`},
		{"signature no JSON", made(ManifestName, mf, SignatureName, "x"), "signature.json"},
		{"signature no base64", made(ManifestName, mf, SignatureName, `{"v":1,"signature":"*"}`), "not base64"},
		{"signature of another version", made(ManifestName, mf, SignatureName, strings.Replace(sg, `"v":1`, `"v":2`, 1)), `"v" is 2`},
		{"signature by another", made(ManifestName, mf, SignatureName, `{"v":1,"signature":"","signer":"x"}`), "not the manifest's"},
		{"a huge manifest", made(ManifestName, strings.Repeat(" ", maxManifest+1), SignatureName, sg), "no file of at most"},
		{"a huge signature", made(ManifestName, mf, SignatureName, strings.Repeat(" ", maxSignature+1)), "no file of at most"},
		{"no tar", compress(t, bytes.Repeat([]byte("x"), 2000)), "tar is malformed"},
		{"a bomb before the manifest", compress(t, make([]byte, 100<<20)), "missing"},
	} {
		t.Run(c.name, func(t *testing.T) { refused(t, c.b, trusting(), c.why) })
	}
	t.Run("a changed manifest", func(t *testing.T) {
		b := made(ManifestName, strings.Replace(mf, `"branch":"main"`, `"branch":"evil"`, 1), SignatureName, sg)
		if _, err := Check(bytes.NewReader(b), trusting()); !errors.Is(err, seal.ErrSignature) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("entries that are null", func(t *testing.T) {
		mf := strings.Replace(mf, `"entries":[]`, `"entries":null`, 1)
		if _, err := Check(bytes.NewReader(made(ManifestName, mf, SignatureName, signed(mf))), trusting()); err != nil {
			t.Errorf("got %v", err)
		}
	})
}

// A bundle that unpacks to more than its manifest accounts for is left as soon
// as it does.
func TestBombs(t *testing.T) {
	k := ours(t)
	plain := unpack(t, write(t, k, plainFile("transcript.jsonl", "abc")))
	end := len(bytes.TrimRight(plain, "\x00"))
	end += tarBlock - end%tarBlock
	for _, c := range []struct {
		name string
		tail []byte
		why  string
	}{
		{"zeros after the end", make([]byte, 200<<20), "follows the end of its tar"},
		{"headers without number", bytes.Repeat(extended(t), 20_000), "unpacks to more than its manifest says"},
	} {
		t.Run(c.name, func(t *testing.T) {
			refused(t, compress(t, append(bytes.Clone(plain[:end]), c.tail...)), trusting(), c.why)
		})
	}
}

// A sparse entry would unpack to more than the tar has of it. Neither tar's nor
// Go's writer makes this one.
func TestRefusedSparse(t *testing.T) {
	k := ours(t)
	m := manifest(k)
	m.Entries = entries(t, []File{plainFile("transcript.jsonl", "abc")})
	parts := make([]byte, tarBlock) // the map: one part, at 0, of 3 bytes
	copy(parts, "1\n0\n3\n")
	h := tar.Header{Typeflag: tar.TypeReg, Name: "transcript.jsonl", Mode: 0o644, Size: tarBlock + 3, Format: tar.FormatPAX, PAXRecords: map[string]string{
		"GNX.sparse.major": "1", "GNX.sparse.minor": "0", "GNX.sparse.realsize": "3", "GNX.sparse.name": "transcript.jsonl",
	}}
	b := unpack(t, forge(t, k, m, func(w *tar.Writer) { put(t, w, h, string(parts)+"abc") }))
	refused(t, compress(t, bytes.ReplaceAll(b, []byte("GNX."), []byte("GNU."))), trusting(), "it is sparse")
}

// extended is a PAX header that belongs to no entry.
func extended(t *testing.T) []byte {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	put(t, w, tar.Header{Typeflag: tar.TypeReg, Name: "x", PAXRecords: map[string]string{"comment": strings.Repeat("x", 600)}, Format: tar.FormatPAX}, "")
	return b.Bytes()[:b.Len()-tarBlock]
}

func TestRefusedTails(t *testing.T) {
	k := ours(t)
	b := write(t, k, small()...)
	plain := unpack(t, b)
	padded := append(bytes.Clone(plain), make([]byte, tarRecord-len(plain)%tarRecord)...)
	if _, err := Check(bytes.NewReader(compress(t, padded)), trusting()); err != nil {
		t.Errorf("padded to a record, as tar does: %v", err)
	}
	last := bytes.Clone(padded)
	last[len(last)-1] = 1
	skippable := []byte{0x50, 0x2a, 0x4d, 0x18, 2, 0, 0, 0, 'h', 'i'}
	for _, c := range []struct {
		name string
		b    []byte
		why  string
	}{
		{"a byte after the frame", append(bytes.Clone(b), 0), "follows its zstd frame"},
		{"a frame after the frame", append(bytes.Clone(b), compress(t, nil)...), "follows its zstd frame"},
		{"the same again", append(bytes.Clone(b), b...), "follows its zstd frame"},
		{"a skippable frame after it", append(bytes.Clone(b), skippable...), "follows its zstd frame"},
		{"a skippable frame before it", append(bytes.Clone(skippable), b...), "no zstd frame"},
		{"a byte after the tar", compress(t, append(bytes.Clone(plain), 1)), "follows the end of its tar"},
		{"a byte in the padding", compress(t, last), "follows the end of its tar"},
		{"zeros after the record", compress(t, append(bytes.Clone(padded), 0)), "follows the end of its tar"},
		{"a tar after the tar", compress(t, append(bytes.Clone(plain), plain...)), "follows the end of its tar"},
		{"half an end", compress(t, plain[:len(plain)-tarBlock]), "ends too early"},
		{"no end", compress(t, plain[:len(plain)-2*tarBlock]), "ends too early"},
		{"a tar without zstd", plain, "no zstd frame"},
	} {
		t.Run(c.name, func(t *testing.T) { refused(t, c.b, trusting(), c.why) })
	}
}

func TestRefusedWindows(t *testing.T) {
	k := ours(t)
	plain := unpack(t, write(t, k, small()...))
	e, err := zstd.NewWriter(nil, zstd.WithWindowSize(16<<20))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	e.Reset(&b)
	if _, err := e.Write(plain); err != nil {
		t.Fatal(err)
	}
	if err := e.Flush(); err != nil { // a frame of unknown size
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	refused(t, b.Bytes(), trusting(), "zstd window of 16777216 bytes")
	// One segment is a window of the frame's size.
	refused(t, []byte{0x28, 0xb5, 0x2f, 0xfd, 0xa0, 0, 0, 0, 0x10, 1, 0, 0}, trusting(), "zstd window")
	refused(t, []byte{0x28, 0xb5, 0x2f, 0xfd, 0x01, 0x50, 7, 1, 0, 0}, trusting(), "dictionary")
	refused(t, []byte{0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x50, 7, 0, 0}, trusting(), "malformed")
}

// Field report A45: a stream that is cut leaves no half-unpacked tree.
func TestCutAnywhere(t *testing.T) {
	k := ours(t)
	b := write(t, k, small()...)
	for n := range b {
		if _, err := Check(bytes.NewReader(b[:n]), trusting()); !errors.Is(err, ErrUnsound) {
			t.Errorf("cut at %d of %d: %v", n, len(b), err)
		}
	}
	plain := unpack(t, b)
	for n := 0; n < len(plain); n += tarBlock {
		for _, at := range []int{n, n + 1} {
			if _, err := Check(bytes.NewReader(stored(plain[:at])), trusting()); !errors.Is(err, ErrUnsound) {
				t.Errorf("the tar cut at %d of %d: %v", at, len(plain), err)
			}
		}
	}
}

// A flipped bit is found, or it changes nothing that the bundle says: zstd's
// header has bits that don't matter.
func TestABitFlippedAnywhere(t *testing.T) {
	k := ours(t)
	b := write(t, k, small()...)
	wantM, want, err := contents(bytes.NewReader(b), trusting())
	if err != nil {
		t.Fatal(err)
	}
	for i := range b {
		bad := bytes.Clone(b)
		bad[i] ^= 1 << (i % 8)
		m, got, err := contents(bytes.NewReader(bad), trusting())
		if err == nil && (fmt.Sprint(m) != fmt.Sprint(wantM) || fmt.Sprint(got) != fmt.Sprint(want)) {
			t.Errorf("bit %d of byte %d: read as something else", i%8, i)
		}
	}
	plain := unpack(t, b)
	for i := 0; i < len(plain); i += 11 { // meets every bit of a header's fields, and ends soon
		bad := bytes.Clone(plain)
		bad[i] ^= 1 << (i % 8)
		m, got, err := contents(bytes.NewReader(stored(bad)), trusting())
		if err == nil && (fmt.Sprint(m) != fmt.Sprint(wantM) || fmt.Sprint(got) != fmt.Sprint(want)) {
			t.Errorf("bit %d of byte %d of the tar: read as something else", i%8, i)
		}
	}
}
