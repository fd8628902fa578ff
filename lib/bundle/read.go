package bundle

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/klauspost/compress/zstd"

	"sessionhub/lib/record"
)

// Options are what a reader insists on.
type Options struct {
	// Verify says whether the signature over the manifest's bytes is good, and
	// its signer the one to trust for that manifest. It must be set.
	Verify func(m *record.Manifest, manifest, signature []byte) error

	// What the manifest must say, where it is not "".
	Recipient, Move, Session, From string

	Limit int64 // of the sum of all entries in bytes; 0 is DefaultLimit

	create func(path string) (file, error) // in place of the file system, for a test
}

// Visit is given each entry and, of a file, its content, which it need not
// read. The content is not proven before Read has returned without an error.
type Visit func(e record.ManifestEntry, content io.Reader) error

// Read reads a bundle to its end and checks all of it: the signature before
// anything else, then names and sizes as the manifest has them, then each
// entry. Errors about the bundle wrap ErrUnsound; those of Verify, of visit
// and of reading r are handed on.
func Read(r io.Reader, opt Options, visit Visit) (record.Manifest, error) {
	f := newFrame(r)
	z, err := zstd.NewReader(f, zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderLowmem(true), zstd.WithDecoderConcurrency(decoders))
	if err != nil {
		return record.Manifest{}, readError(f, err)
	}
	defer z.Close()
	in := &meter{r: z, f: f, left: maxManifest + maxSignature + headRoom}
	rd := &reader{opt: opt, in: in, tar: tar.NewReader(in), visit: visit, buf: make([]byte, bufferSize)}
	m, err := rd.all()
	if err != nil {
		return record.Manifest{}, readError(f, err)
	}
	return m, nil
}

// Check is Read for one who only wants to know.
func Check(r io.Reader, opt Options) (record.Manifest, error) { return Read(r, opt, nil) }

const (
	// decoders is how many goroutines decode: blocks, sequences and checksum
	// are pipelined.
	decoders = 4
	headRoom = 64 << 10 // for the tar headers before the manifest is known
)

// readError tells what was wrong with the source from what was wrong with the
// bundle.
func readError(f *frame, err error) error {
	if source := f.source.Load(); source != nil && !errors.Is(err, ErrUnsound) {
		return fmt.Errorf("read bundle: %w", *source)
	}
	return err
}

// meter counts what is unpacked, and stops a bundle that unpacks to more than
// its manifest accounts for.
type meter struct {
	r          io.Reader
	f          *frame
	read, left int64
}

func (m *meter) Read(p []byte) (int, error) {
	if m.left == 0 {
		return 0, unsound("it unpacks to more than its manifest says")
	}
	n, err := m.r.Read(p[:min(int64(len(p)), m.left)])
	m.read += int64(n)
	m.left -= int64(n)
	if err != nil && err != io.EOF && !errors.Is(err, ErrUnsound) && m.f.source.Load() == nil {
		err = unsound("%s", strings.TrimPrefix(err.Error(), "zstd: "))
	}
	return n, err
}

type reader struct {
	opt   Options
	in    *meter
	tar   *tar.Reader
	visit Visit
	buf   []byte
}

func (r *reader) all() (record.Manifest, error) {
	m, err := r.head()
	if err != nil {
		return m, err
	}
	r.in.left = room(m.Entries)
	for i := range m.Entries {
		if err := r.entry(&m.Entries[i]); err != nil {
			return m, err
		}
	}
	return m, r.end()
}

// room is the most that the tar of these entries, and its end, can have.
func room(entries []record.ManifestEntry) int64 {
	blocks := int64(tarRecord/tarBlock + 2)
	for i := range entries {
		e := &entries[i]
		extended := int64(len(e.Name)+len(e.Link))/tarBlock + 4 // header and records of PAX
		blocks += e.Size/tarBlock + 2 + extended
	}
	return blocks * tarBlock
}

// head reads manifest and signature and checks both.
func (r *reader) head() (record.Manifest, error) {
	var m record.Manifest
	manifest, err := r.own(ManifestName, maxManifest)
	if err != nil {
		return m, err
	}
	signature, err := r.own(SignatureName, maxSignature)
	if err != nil {
		return m, err
	}
	if err := json.Unmarshal(manifest, &m); err != nil {
		return m, unsound("%s: %s", ManifestName, jsonError(err))
	}
	if err := m.Validate(); err != nil {
		return m, unsound("%s: %w", ManifestName, err)
	}
	var s record.Signature
	if err := json.Unmarshal(signature, &s); err != nil {
		return m, unsound("%s: %s", SignatureName, jsonError(err))
	}
	sig, err := base64.StdEncoding.Strict().DecodeString(s.Signature)
	switch {
	case err != nil:
		return m, unsound("%s: the signature is not base64", SignatureName)
	case s.V != record.Version:
		return m, unsound(`%s: "v" is %d, not %d`, SignatureName, s.V, record.Version)
	case s.Signer != m.Signer:
		return m, unsound("%s: its signer is not the manifest's", SignatureName)
	}
	if err := r.opt.Verify(&m, manifest, sig); err != nil {
		return m, err
	}
	if err := r.expected(&m); err != nil {
		return m, err
	}
	return m, CheckEntries(m.Entries, r.opt.Limit)
}

// jsonError is an error of the decoder without what a hostile input put in.
func jsonError(err error) string {
	return strings.Trim(shown(strings.TrimPrefix(err.Error(), "json: ")), `"`)
}

func (r *reader) expected(m *record.Manifest) error {
	for _, f := range []struct{ what, got, want string }{
		{"it belongs to move", m.Move, r.opt.Move},
		{"it holds session", m.Session, r.opt.Session},
		{"it comes from machine", m.From, r.opt.From},
	} {
		if f.want != "" && f.got != f.want {
			return unsound("%s %s, not %s", f.what, f.got, f.want)
		}
	}
	if r.opt.Recipient != "" && m.Recipient != r.opt.Recipient {
		return unsound("it is for another machine's key")
	}
	return nil
}

// own reads one of the bundle's own entries.
func (r *reader) own(name string, limit int64) ([]byte, error) {
	h, err := r.next(name)
	if err != nil {
		return nil, err
	}
	if h.Typeflag != tar.TypeReg || h.Size > limit {
		return nil, unsound("%s is no file of at most %d bytes", name, limit)
	}
	var b bytes.Buffer
	b.Grow(int(h.Size) + bytes.MinRead) // the limit bounds it
	if _, err := b.ReadFrom(r.tar); err != nil {
		return nil, tarError(err)
	}
	return b.Bytes(), nil
}

// next is the next header, which must be that of name.
func (r *reader) next(name string) (*tar.Header, error) {
	h, err := r.tar.Next()
	switch {
	case err == io.EOF:
		return nil, unsound("%s is missing", shown(name))
	case err != nil:
		return nil, tarError(err)
	case h.Typeflag == tar.TypeXGlobalHeader:
		return nil, unsound("it has a global header")
	case h.Name != name:
		return nil, unsound("%s stands where %s belongs", shown(h.Name), shown(name))
	}
	for key := range h.PAXRecords {
		if strings.HasPrefix(key, "GNU.sparse.") {
			return nil, unsound("entry %s: it is sparse", shown(name))
		}
	}
	return h, nil
}

// tarError is an error of the tar, unless the stream below it had one.
func tarError(err error) error {
	switch {
	case errors.Is(err, ErrUnsound):
		return err
	case errors.Is(err, io.ErrUnexpectedEOF):
		return unsound("it ends too early")
	case errors.Is(err, tar.ErrHeader), errors.Is(err, tar.ErrFieldTooLong):
		return unsound("its tar is malformed")
	}
	return err
}

func (r *reader) entry(e *record.ManifestEntry) error {
	h, err := r.next(e.Name)
	if err != nil {
		return err
	}
	kind, want := "link", byte(tar.TypeSymlink)
	if e.Link == "" {
		kind, want = "file", tar.TypeReg
	}
	switch {
	case h.Typeflag != want:
		return unsound("entry %s: it is no %s", shown(e.Name), kind)
	case h.Size != e.Size || h.Mode != int64(e.Mode) || h.Linkname != e.Link:
		return unsound("entry %s: size, mode or target are not the manifest's", shown(e.Name))
	case e.Link != "":
		return r.show(*e, bytes.NewReader(nil))
	}
	sum := sha256.New()
	content := io.TeeReader(r.tar, sum)
	if err := r.show(*e, content); err != nil {
		return err
	}
	if _, err := io.CopyBuffer(onlyWriter{io.Discard}, content, r.buf); err != nil {
		return tarError(err)
	}
	if hex.EncodeToString(sum.Sum(nil)) != e.SHA256 {
		return unsound("entry %s: its content is not the manifest's", shown(e.Name))
	}
	return nil
}

// onlyWriter hides the other methods of a writer, so that a copy uses its
// buffer.
type onlyWriter struct{ io.Writer }

func (r *reader) show(e record.ManifestEntry, content io.Reader) error {
	if r.visit == nil {
		return nil
	}
	return tarError(r.visit(e, content))
}

// end reads the tar's own end, two blocks of zeros, which may be filled up to
// a whole record with more of them.
func (r *reader) end() error {
	began := r.in.read
	padding := (tarBlock - began%tarBlock) % tarBlock // of the last entry
	h, err := r.tar.Next()
	switch {
	case err == nil:
		return unsound("%s is not in its manifest", shown(h.Name))
	case err != io.EOF:
		return tarError(err)
	case r.in.read-began != padding+2*tarBlock:
		return unsound("it ends too early")
	}
	for r.in.read%tarRecord != 0 {
		n, err := r.in.Read(r.buf[:min(int64(len(r.buf)), tarRecord-r.in.read%tarRecord)])
		if len(bytes.Trim(r.buf[:n], "\x00")) > 0 {
			return unsound("something follows the end of its tar")
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
	n, err := r.in.Read(r.buf[:1])
	if n > 0 {
		return unsound("something follows the end of its tar")
	}
	if err == io.EOF {
		return nil
	}
	return err
}
