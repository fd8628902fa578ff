package bundle

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"sessionhub/lib/record"
	"sessionhub/lib/seal"
)

const (
	aMove    = "0197a3d2-7c1a-7c11-9d2e-0d9d0a6a1b11"
	aSession = "0b5c1f9e-2d2c-4a57-9a3e-5c4f0d1e2a3b"
)

// ours are the keys of both machines in the tests of a process.
func ours(t testing.TB) *seal.Keys {
	t.Helper()
	dir := t.TempDir()
	k, err := seal.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func manifest(k *seal.Keys) record.Manifest {
	m := record.Manifest{
		V: record.Version, Move: aMove, Session: aSession, From: "tower", Recipient: k.Public.Recipient,
		At: record.At(time.Date(2026, 11, 30, 20, 0, 0, 0, time.UTC)), Claude: "2.1.332",
		Git: record.ManifestGit{Remote: "https://example.org/app", Branch: "main", Head: strings.Repeat("a", 40), Top: "/home/dev/app"},
		Dir: ".", Cwd: "/home/dev/app",
	}
	k.Bind(&m)
	return m
}

func plainFile(name, content string) File {
	return File{Name: name, Mode: 0o644, Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(content)), nil }}
}

func link(name, target string) File { return File{Name: name, Mode: 0o777, Link: target} }

// small is a bundle with one of everything.
func small() []File {
	return []File{
		plainFile("transcript.jsonl", strings.Repeat(`{"type":"user"}`+"\n", 300)),
		plainFile("sidecar/subagents/agent-1.jsonl", "{}\n"),
		plainFile("file-history/0b5c/a@v1", "old\n"),
		plainFile("staged.patch", "diff\n"),
		plainFile("changes.patch", "diff --git\n"),
		plainFile("untracked/notes/späť.md", "# notes\n"),
		plainFile("untracked/"+strings.Repeat("long/", 40)+"x", ""),
		link("untracked/latest", "notes/späť.md"),
	}
}

func write(t testing.TB, k *seal.Keys, files ...File) []byte {
	t.Helper()
	var b bytes.Buffer
	if _, err := Write(&b, manifest(k), files, 0, k.Sign); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func trusting() Options { return Options{Verify: seal.Self} }

// contents reads a bundle as a map from names to content; links are "→target".
func contents(r io.Reader, opt Options) (record.Manifest, map[string]string, error) {
	got := map[string]string{}
	m, err := Read(r, opt, func(e record.ManifestEntry, content io.Reader) error {
		b, err := io.ReadAll(content)
		got[e.Name] = string(b)
		if e.Link != "" {
			got[e.Name] = "→" + e.Link
		}
		return err
	})
	return m, got, err
}

func unpack(t testing.TB, b []byte) []byte {
	t.Helper()
	d, err := zstd.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	plain, err := io.ReadAll(d)
	if err != nil {
		t.Fatal(err)
	}
	return plain
}

func compress(t testing.TB, b []byte) []byte {
	t.Helper()
	e, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	return e.EncodeAll(b, nil)
}

// stored is a frame of blocks that are not compressed, which costs nothing.
func stored(b []byte) []byte {
	frame := []byte{0x28, 0xb5, 0x2f, 0xfd, 0, 0x38} // a window of 128 KiB, no checksum
	for {
		n := min(len(b), maxBlock)
		head := n << 3
		if n == len(b) {
			head |= 1
		}
		frame = append(append(frame, byte(head), byte(head>>8), byte(head>>16)), b[:n]...)
		if b = b[n:]; len(b) == 0 {
			return frame
		}
	}
}

// entries are the manifest's entries of files, unchecked.
func entries(t testing.TB, files []File) []record.ManifestEntry {
	t.Helper()
	list := []record.ManifestEntry{}
	for _, f := range files {
		e := record.ManifestEntry{Name: f.Name, Mode: uint32(f.Mode), Link: f.Link}
		if f.Link == "" {
			r, err := f.Open()
			if err != nil {
				t.Fatal(err)
			}
			b, err := io.ReadAll(r)
			if err != nil {
				t.Fatal(err)
			}
			e.Size, e.SHA256 = int64(len(b)), sum(string(b))
		}
		list = append(list, e)
	}
	return list
}

func sum(s string) string {
	b := sha256.Sum256([]byte(s))
	return hex.EncodeToString(b[:])
}

// forge makes a bundle whose manifest says m, rightly signed, and whose tar is
// what fill writes after that.
func forge(t testing.TB, k *seal.Keys, m record.Manifest, fill func(w *tar.Writer)) []byte {
	t.Helper()
	raw, signature, err := head(&m, k.Sign)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	putText(t, w, ManifestName, string(raw))
	putText(t, w, SignatureName, string(signature))
	fill(w)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return compress(t, b.Bytes())
}

func putText(t testing.TB, w *tar.Writer, name, content string) {
	t.Helper()
	put(t, w, tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: int64(len(content)), Format: tar.FormatPAX}, content)
}

func put(t testing.TB, w *tar.Writer, h tar.Header, content string) {
	t.Helper()
	if err := w.WriteHeader(&h); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(w, content); err != nil {
		t.Fatal(err)
	}
}

// refused checks that a bundle is refused as unsound, with these words, in one
// plain line, and that unpacking leaves nothing.
func refused(t *testing.T, b []byte, opt Options, want string) {
	t.Helper()
	_, err := Check(bytes.NewReader(b), opt)
	if !errors.Is(err, ErrUnsound) || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
	if err != nil && strings.ContainsFunc(err.Error(), func(r rune) bool { return r < ' ' || r == 0x7f }) {
		t.Errorf("a control character in %q", err)
	}
	dir := t.TempDir()
	if _, err := Extract(bytes.NewReader(b), dir+"/out", opt); err == nil {
		t.Error("unpacked")
	}
	if _, err := Hold(bytes.NewReader(b), dir, opt); err == nil {
		t.Error("held")
	}
	empty(t, dir)
}

func empty(t *testing.T, dir string) {
	t.Helper()
	left, err := os.ReadDir(dir)
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

var errInjected = fmt.Errorf("write: %w", os.ErrDeadlineExceeded)
