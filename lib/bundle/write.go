package bundle

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"runtime"

	"github.com/klauspost/compress/zstd"

	"sessionhub/lib/record"
)

// window is how far back the compressor looks. A job is four windows, and
// memory is some 30 windows for each job at once: 512 KiB and two jobs keep it
// below 64 MiB, and cost 2 % of the size against the 2 MiB of zstd -3.
const (
	window  = 512 << 10
	maxJobs = 2
)

// File is one thing to be carried: a regular file, or a symbolic link when
// Link is set. Open is called twice, to hash and to copy.
type File struct {
	Name string      // in the bundle, as CheckName wants it
	Mode fs.FileMode // its permissions
	Link string      // target of a symbolic link
	Open func() (io.ReadCloser, error)
}

// Sign makes the 64 bytes of a signature over a manifest.
type Sign func(manifest []byte) ([]byte, error)

// Describe reads all files and makes their entries of the manifest. limit is
// of the sum of their sizes, 0 for DefaultLimit.
func Describe(files []File, limit int64) ([]record.ManifestEntry, error) {
	if limit <= 0 {
		limit = DefaultLimit
	}
	buf := make([]byte, bufferSize)
	entries := make([]record.ManifestEntry, len(files))
	left := limit
	for i := range files {
		e, err := describe(&files[i], left, buf)
		if err != nil {
			return nil, err
		}
		left -= e.Size
		entries[i] = e
	}
	return entries, CheckEntries(entries, limit)
}

func describe(f *File, left int64, buf []byte) (record.ManifestEntry, error) {
	e := record.ManifestEntry{Name: f.Name, Mode: uint32(f.Mode.Perm()), Link: f.Link}
	if err := CheckName(f.Name); err != nil || f.Link != "" {
		return e, err
	}
	r, err := f.Open()
	if err != nil {
		return e, fmt.Errorf("bundle %s: %w", shown(f.Name), err)
	}
	defer r.Close()
	sum := sha256.New()
	// One byte more than may be: an endless file ends here, too.
	e.Size, err = io.CopyBuffer(sum, io.LimitReader(onlyReader{r}, left+1), buf)
	if err != nil {
		return e, fmt.Errorf("bundle %s: %w", shown(f.Name), err)
	}
	if e.Size > left {
		return e, unsound("with %s its entries have more than the limit", shown(f.Name))
	}
	e.SHA256 = hex.EncodeToString(sum.Sum(nil))
	return e, nil
}

// onlyReader hides the other methods of a reader, so that a copy uses its
// buffer.
type onlyReader struct{ io.Reader }

// Write writes a bundle of the files and returns its manifest. m.Entries are
// Describe's of the same files, or nil to have them made here. A file that
// changed since it was described is an error that names it, and what was
// written by then is no bundle.
func Write(w io.Writer, m record.Manifest, files []File, limit int64, sign Sign) (record.Manifest, error) {
	var err error
	if m.Entries == nil {
		m.Entries, err = Describe(files, limit)
	} else {
		err = CheckEntries(m.Entries, limit)
	}
	if err != nil {
		return m, err
	}
	if m.NotCarried == nil {
		m.NotCarried = []record.NotCarried{}
	}
	manifest, signature, err := head(&m, sign)
	if err != nil {
		return m, err
	}
	// Jobs are compressed side by side into one frame.
	z, err := zstd.NewWriter(w, zstd.WithEncoderLevel(zstd.SpeedDefault), zstd.WithWindowSize(window),
		zstd.WithConcurrentBlocks(true), zstd.WithEncoderConcurrency(min(maxJobs, runtime.GOMAXPROCS(0))))
	if err != nil {
		return m, fmt.Errorf("bundle: %w", err)
	}
	if err := writeTar(z, &m, files, manifest, signature); err != nil {
		z.Reset(nil) // ends its goroutines without ending the frame
		return m, err
	}
	if err := z.Close(); err != nil {
		return m, fmt.Errorf("write bundle: %w", err)
	}
	return m, nil
}

// CheckManifest is the error that Write would give for a manifest.
func CheckManifest(m record.Manifest) error {
	if m.NotCarried == nil {
		m.NotCarried = []record.NotCarried{}
	}
	_, err := encode(&m)
	return err
}

func encode(m *record.Manifest) ([]byte, error) {
	if err := m.Validate(); err != nil {
		return nil, fmt.Errorf("bundle: manifest: %w", err)
	}
	manifest, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("bundle: manifest: %w", err)
	}
	manifest = append(manifest, '\n')
	if len(manifest) > maxManifest {
		return nil, unsound("its manifest has %d bytes for %d entries, over the limit of %d", len(manifest), len(m.Entries), maxManifest)
	}
	return manifest, nil
}

// head is the manifest and its signature, as they are written.
func head(m *record.Manifest, sign Sign) (manifest, signature []byte, err error) {
	if manifest, err = encode(m); err != nil {
		return nil, nil, err
	}
	sig, err := sign(manifest)
	if err != nil {
		return nil, nil, fmt.Errorf("bundle: sign: %w", err)
	}
	signature, err = json.Marshal(record.Signature{V: record.Version, Signer: m.Signer, Signature: base64.StdEncoding.EncodeToString(sig)})
	if err != nil {
		return nil, nil, fmt.Errorf("bundle: sign: %w", err)
	}
	return manifest, append(signature, '\n'), nil
}

func writeTar(w io.Writer, m *record.Manifest, files []File, manifest, signature []byte) error {
	if len(m.Entries) != len(files) {
		return fmt.Errorf("bundle: %d entries of %d files", len(m.Entries), len(files))
	}
	t := tar.NewWriter(w)
	put := func(name string, content []byte) error {
		if err := t.WriteHeader(header(m, record.ManifestEntry{Name: name, Size: int64(len(content)), Mode: 0o600})); err != nil {
			return fmt.Errorf("write bundle: %s: %w", name, err)
		}
		if _, err := t.Write(content); err != nil {
			return fmt.Errorf("write bundle: %s: %w", name, err)
		}
		return nil
	}
	if err := put(ManifestName, manifest); err != nil {
		return err
	}
	if err := put(SignatureName, signature); err != nil {
		return err
	}
	buf := make([]byte, bufferSize)
	for i := range files {
		if err := t.WriteHeader(header(m, m.Entries[i])); err != nil {
			return fmt.Errorf("write bundle: %s: %w", shown(files[i].Name), err)
		}
		if err := writeFile(t, &files[i], &m.Entries[i], buf); err != nil {
			return err
		}
	}
	if err := t.Close(); err != nil {
		return fmt.Errorf("write bundle: %w", err)
	}
	return nil
}

func header(m *record.Manifest, e record.ManifestEntry) *tar.Header {
	h := &tar.Header{Typeflag: tar.TypeReg, Name: e.Name, Size: e.Size, Mode: int64(e.Mode), ModTime: m.At.Truncate(1e9), Format: tar.FormatPAX}
	if e.Link != "" {
		h.Typeflag, h.Linkname = tar.TypeSymlink, e.Link
	}
	return h
}

// writeFile copies a file that must still be what its entry says.
func writeFile(w io.Writer, f *File, e *record.ManifestEntry, buf []byte) error {
	if f.Name != e.Name || f.Link != e.Link {
		return fmt.Errorf("bundle: entry %s is not of file %s", shown(e.Name), shown(f.Name))
	}
	if e.Link != "" {
		return nil
	}
	r, err := f.Open()
	if err != nil {
		return fmt.Errorf("bundle %s: %w", shown(f.Name), err)
	}
	defer r.Close()
	sum := sha256.New()
	n, err := io.CopyBuffer(io.MultiWriter(w, sum), io.LimitReader(r, e.Size), buf)
	if err != nil {
		return fmt.Errorf("write bundle: %s: %w", shown(f.Name), err)
	}
	more, err := io.CopyN(io.Discard, r, 1)
	if err != nil && err != io.EOF {
		return fmt.Errorf("bundle %s: %w", shown(f.Name), err)
	}
	if n != e.Size || more > 0 || hex.EncodeToString(sum.Sum(nil)) != e.SHA256 {
		return fmt.Errorf("bundle %s: %w", shown(f.Name), ErrChanged)
	}
	return nil
}

// ErrChanged says that a file is not what it was when it was described.
var ErrChanged = fmt.Errorf("it changed while it was packed; pack again when nothing writes to it")
