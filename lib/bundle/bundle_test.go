package bundle

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	"sessionhub/lib/record"
	"sessionhub/lib/seal"
)

func b64(b []byte) string { return base64.StdEncoding.EncodeToString(b) }

func TestRoundTrip(t *testing.T) {
	k := ours(t)
	files := small()
	b := write(t, k, files...)
	m, got, err := contents(iotest.OneByteReader(bytes.NewReader(b)), Options{
		Verify: seal.By(k.Public.Signer), Recipient: k.Public.Recipient, Move: aMove, Session: aSession, From: "tower",
	})
	if err != nil {
		t.Fatal(err)
	}
	if m.Signer != k.Public.Signer || len(m.Entries) != len(files) || len(got) != len(files) {
		t.Errorf("got %+v, %q", m, got)
	}
	dir := filepath.Join(t.TempDir(), "out")
	if _, err := Extract(bytes.NewReader(b), dir, trusting()); err != nil {
		t.Fatal(err)
	}
	for _, e := range m.Entries {
		path := filepath.Join(dir, e.Name)
		st, err := os.Lstat(path)
		if e.Link != "" {
			if !errors.Is(err, fs.ErrNotExist) || got[e.Name] != "→"+e.Link {
				t.Errorf("the link %s: %v, %v", e.Name, st, err)
			}
			continue
		}
		content, rerr := os.ReadFile(path)
		if err != nil || rerr != nil || st.Mode() != 0o600 || string(content) != got[e.Name] {
			t.Errorf("%s: %v, %v, %v", e.Name, st, err, rerr)
		}
	}
	for _, folder := range []string{"", "untracked", "untracked/notes"} {
		if st, err := os.Stat(filepath.Join(dir, folder)); err != nil || st.Mode().Perm() != 0o700 {
			t.Errorf("%q: %v, %v", folder, st.Mode(), err)
		}
	}
	if _, err := Extract(bytes.NewReader(b), dir, trusting()); err == nil {
		t.Error("unpacked over what is there")
	}
}

func TestPropertyWhatIsWrittenIsRead(t *testing.T) {
	k := ours(t)
	rapid.Check(t, func(t *rapid.T) {
		seg := rapid.StringMatching(`[a-zA-Z0-9äÖ日_ .-]{0,12}[a-z0-9]`)
		want := map[string]string{}
		var files []File
		for i := range rapid.IntRange(0, 20).Draw(t, "files") {
			top := rapid.SampledFrom([]string{"sidecar", "file-history", "untracked"}).Draw(t, "top")
			parts := rapid.SliceOfN(seg, 1, 6).Draw(t, "segments")
			name := fmt.Sprintf("%s/%d/%s", top, i, strings.Join(parts, "/"))
			if top == "untracked" && rapid.Bool().Draw(t, "link") {
				target := rapid.StringMatching(`[a-z./ü]{1,150}`).Draw(t, "target")
				files, want[name] = append(files, link(name, target)), "→"+target
				continue
			}
			content := string(rapid.SliceOfN(rapid.Byte(), 0, 2000).Draw(t, "content"))
			content = strings.Repeat(content, rapid.IntRange(0, 200).Draw(t, "times"))
			f := plainFile(name, content)
			f.Mode = fs.FileMode(rapid.IntRange(0, 0o777).Draw(t, "mode"))
			files, want[name] = append(files, f), content
		}
		var b bytes.Buffer
		wrote, err := Write(&b, manifest(k), files, 0, k.Sign)
		if err != nil {
			t.Fatal(err)
		}
		m, got, err := contents(&b, trusting())
		if err != nil {
			t.Fatal(err)
		}
		if fmt.Sprint(wrote) != fmt.Sprint(m) || len(got) != len(want) {
			t.Fatalf("wrote %v, read %v", wrote, m)
		}
		for name, content := range want {
			if got[name] != content {
				t.Fatalf("%q differs", name)
			}
		}
		for i := range files {
			if m.Entries[i].Name != files[i].Name || fs.FileMode(m.Entries[i].Mode) != files[i].Mode {
				t.Fatalf("%+v is not of %q", m.Entries[i], files[i].Name)
			}
		}
	})
}

// A file must be the same both times that it is read.
func TestAFileThatChangesIsNamed(t *testing.T) {
	k := ours(t)
	changing := func(versions ...string) File {
		return File{Name: "transcript.jsonl", Mode: 0o600, Open: func() (io.ReadCloser, error) {
			v := versions[0]
			versions = versions[1:]
			return io.NopCloser(strings.NewReader(v)), nil
		}}
	}
	for _, second := range []string{"abd", "abcd", "ab", ""} {
		var b bytes.Buffer
		_, err := Write(&b, manifest(k), []File{changing("abc", second)}, 0, k.Sign)
		if !errors.Is(err, ErrChanged) || !strings.Contains(err.Error(), `"transcript.jsonl"`) {
			t.Errorf("%q: %v", second, err)
		}
		if _, err := Check(&b, trusting()); err == nil {
			t.Errorf("%q: what was written by then is a bundle", second)
		}
	}
	described, err := Describe([]File{changing("abc")}, 0)
	if err != nil {
		t.Fatal(err)
	}
	m := manifest(k)
	m.Entries = described
	if _, err := Write(io.Discard, m, []File{changing("abd")}, 0, k.Sign); !errors.Is(err, ErrChanged) {
		t.Errorf("described before: %v", err)
	}
	if _, err := Write(io.Discard, m, []File{plainFile("staged.patch", "abc")}, 0, k.Sign); err == nil || !strings.Contains(err.Error(), "is not of file") {
		t.Errorf("another file: %v", err)
	}
	if _, err := Write(io.Discard, m, nil, 0, k.Sign); err == nil {
		t.Error("no file for an entry")
	}
}

func TestWriterLimits(t *testing.T) {
	k := ours(t)
	endless := File{Name: "transcript.jsonl", Open: func() (io.ReadCloser, error) { return io.NopCloser(zeros{}), nil }}
	if _, err := Write(io.Discard, manifest(k), []File{endless}, 1<<20, k.Sign); !errors.Is(err, ErrUnsound) || !strings.Contains(err.Error(), "limit") {
		t.Errorf("an endless file: %v", err)
	}
	gone := File{Name: "transcript.jsonl", Open: func() (io.ReadCloser, error) { return nil, fs.ErrNotExist }}
	if _, err := Write(io.Discard, manifest(k), []File{gone}, 0, k.Sign); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "transcript.jsonl") {
		t.Errorf("a missing file: %v", err)
	}
	var many []File
	for i := range 60_000 {
		many = append(many, plainFile(fmt.Sprintf("untracked/node_modules/package-%d/index.js", i), ""))
	}
	if _, err := Write(io.Discard, manifest(k), many, 0, k.Sign); !errors.Is(err, ErrUnsound) || !strings.Contains(err.Error(), "60000 entries") {
		t.Errorf("very many files: %v", err)
	}
	if _, err := Write(io.Discard, record.Manifest{}, nil, 0, k.Sign); err == nil || !strings.Contains(err.Error(), `"v" is 0`) {
		t.Errorf("no manifest: %v", err)
	}
	if _, err := Write(io.Discard, manifest(k), nil, 0, func([]byte) ([]byte, error) { return nil, errInjected }); !errors.Is(err, errInjected) {
		t.Errorf("no signature: %v", err)
	}
	if _, err := Write(&full{left: 10}, manifest(k), small(), 0, k.Sign); !errors.Is(err, errInjected) {
		t.Errorf("a full disk: %v", err)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// full is a file on a disk that has room for so many bytes.
type full struct{ left int }

func (f *full) Write(p []byte) (int, error) {
	n := min(f.left, len(p))
	f.left -= n
	if n < len(p) {
		return n, errInjected
	}
	return n, nil
}

func (f *full) Close() error { return nil }

// Field report A45: whatever stops it, what was unpacked by then is gone.
func TestAFullDiskLeavesNothing(t *testing.T) {
	k := ours(t)
	b := write(t, k, small()...)
	dir := t.TempDir()
	for left := 0; left < 1000; left += 111 {
		opt := trusting()
		opt.create = func(path string) (file, error) { return &full{left}, nil }
		if _, err := Extract(bytes.NewReader(b), filepath.Join(dir, "out"), opt); !errors.Is(err, errInjected) || errors.Is(err, ErrUnsound) {
			t.Errorf("unpack with room for %d: %v", left, err)
		}
		empty(t, dir)
		if _, err := Hold(bytes.NewReader(b), dir, opt); !errors.Is(err, errInjected) || errors.Is(err, ErrUnsound) {
			t.Errorf("hold with room for %d: %v", left, err)
		}
		empty(t, dir)
	}
}

// What reading the source gives is told as that, not as a fault of the bundle.
func TestAReadErrorIsNoUnsoundBundle(t *testing.T) {
	k := ours(t)
	b := write(t, k, small()...)
	for n := range len(b) {
		_, err := Check(io.MultiReader(bytes.NewReader(b[:n]), iotest.ErrReader(errInjected)), trusting())
		if !errors.Is(err, errInjected) || errors.Is(err, ErrUnsound) {
			t.Errorf("after %d bytes: %v", n, err)
		}
	}
}

func TestHeldIsTheSameBundle(t *testing.T) {
	k := ours(t)
	b := write(t, k, small()...)
	dir := t.TempDir()
	h, err := Hold(bytes.NewReader(b), dir, trusting())
	if err != nil {
		t.Fatal(err)
	}
	empty(t, dir) // also while it is held
	var got bytes.Buffer
	if err := h.Copy(&got); err != nil || !bytes.Equal(got.Bytes(), b) {
		t.Errorf("%v, %d bytes of %d", err, got.Len(), len(b))
	}
	if err := h.Copy(&full{left: 3}); !errors.Is(err, errInjected) {
		t.Errorf("a full disk: %v", err)
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
}

// Stock tools read it.
func TestStockTar(t *testing.T) {
	k := ours(t)
	path := filepath.Join(t.TempDir(), "b.tar.zst")
	if err := os.WriteFile(path, write(t, k, small()...), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("tar", "--zstd", "--quoting-style=literal", "-tf", path).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	want := ManifestName + "\n" + SignatureName + "\n"
	for _, f := range small() {
		want += f.Name + "\n"
	}
	if string(out) != want {
		t.Errorf("got\n%s, want\n%s", out, want)
	}
}

// The longest names and targets have room, however many there are.
func TestLongNames(t *testing.T) {
	k := ours(t)
	deep := strings.Repeat("a/", 2039)
	var files []File
	for i := range 300 {
		name := fmt.Sprintf("untracked/%s%03d", deep[:4082-4], i)
		files = append(files, link(name, strings.Repeat("b", maxPath)))
	}
	if _, err := Check(bytes.NewReader(write(t, k, files...)), trusting()); err != nil {
		t.Error(err)
	}
}

// Many jobs are one frame.
func TestALargeBundle(t *testing.T) {
	k := ours(t)
	line := strings.Repeat("the quick brown fox ", 50) + "\n"
	big := File{Name: "transcript.jsonl", Mode: 0o600, Open: func() (io.ReadCloser, error) {
		return io.NopCloser(io.LimitReader(&repeat{line: line}, 40<<20)), nil
	}}
	b := write(t, k, big, plainFile("untracked/a", "after"))
	m, err := Check(bytes.NewReader(b), trusting())
	if err != nil || m.Entries[0].Size != 40<<20 {
		t.Errorf("%v", err)
	}
}

type repeat struct {
	line string
	at   int
}

func (r *repeat) Read(p []byte) (int, error) {
	n := copy(p, r.line[r.at:])
	r.at = (r.at + n) % len(r.line)
	return n, nil
}
