package bundle

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"sessionhub/lib/record"
)

// file is what a bundle is unpacked to.
type file interface {
	io.Writer
	Close() error
}

func (o *Options) open(path string) (file, error) {
	if o.create != nil {
		return o.create(path)
	}
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
}

// Extract unpacks a bundle into the folder dir, which must not exist yet: into
// a private folder beside it, renamed when all of the bundle was checked, so
// that dir is there whole or not at all (field report A45). Files are 0600 and
// folders 0700; modes and links are in the manifest, for the one who applies
// it to judge.
func Extract(r io.Reader, dir string, opt Options) (record.Manifest, error) {
	if _, err := os.Lstat(dir); err == nil {
		return record.Manifest{}, fmt.Errorf("unpack bundle: %s exists already", dir)
	}
	tmp, err := os.MkdirTemp(filepath.Dir(dir), "."+filepath.Base(dir)+"-*") // 0700
	if err != nil {
		return record.Manifest{}, fmt.Errorf("unpack bundle: %w", err)
	}
	m, err := extract(r, tmp, opt)
	if err == nil {
		if err = os.Rename(tmp, dir); err == nil {
			return m, nil
		}
		err = fmt.Errorf("unpack bundle: %w", err)
	}
	if rerr := os.RemoveAll(tmp); rerr != nil {
		err = errors.Join(err, rerr)
	}
	return record.Manifest{}, err
}

func extract(r io.Reader, tmp string, opt Options) (record.Manifest, error) {
	return Read(r, opt, func(e record.ManifestEntry, content io.Reader) error {
		if e.Link != "" {
			return nil
		}
		path := filepath.Join(tmp, filepath.FromSlash(e.Name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return fmt.Errorf("unpack bundle: %w", err)
		}
		f, err := opt.open(path)
		if err != nil {
			return fmt.Errorf("unpack bundle: %w", err)
		}
		return fill(f, content)
	})
}

// fill writes a file and closes it.
func fill(f file, content io.Reader) error {
	w := &sink{w: f}
	_, err := io.CopyBuffer(w, onlyReader{content}, make([]byte, bufferSize))
	if w.err != nil { // as against reading
		err = fmt.Errorf("unpack bundle: %w", w.err)
	}
	if cerr := f.Close(); err == nil && cerr != nil {
		err = fmt.Errorf("unpack bundle: %w", cerr)
	}
	return err
}

// sink keeps the error of a write.
type sink struct {
	w   io.Writer
	err error
}

func (s *sink) Write(p []byte) (int, error) {
	n, err := s.w.Write(p)
	s.err = err
	return n, err
}

// Held is a bundle that was checked whole, still packed.
type Held struct {
	Manifest record.Manifest
	f        *os.File
}

// Hold reads a bundle into a private file below the folder dir and checks all
// of it. The file has no name any more when Hold returns, so that nothing of
// it stays, whatever becomes of the process.
func Hold(r io.Reader, dir string, opt Options) (*Held, error) {
	f, err := nameless(dir)
	if err != nil {
		return nil, fmt.Errorf("hold bundle: %w", err)
	}
	w := &sink{w: f}
	if opt.create != nil {
		if w.w, err = opt.create(f.Name()); err != nil {
			return nil, errors.Join(err, f.Close())
		}
	}
	m, err := Check(io.TeeReader(r, w), opt)
	if w.err != nil {
		err = fmt.Errorf("hold bundle: %w", w.err)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &Held{Manifest: m, f: f}, nil
}

func nameless(dir string) (*os.File, error) {
	tmp, err := os.MkdirTemp(dir, "bundle-*") // 0700
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(tmp, "held"), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if rerr := os.RemoveAll(tmp); err == nil && rerr != nil {
		err = errors.Join(rerr, f.Close())
	}
	return f, err
}

// Copy writes the bundle to w.
func (h *Held) Copy(w io.Writer) error {
	if _, err := h.f.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("hold bundle: %w", err)
	}
	if _, err := io.Copy(w, h.f); err != nil {
		return fmt.Errorf("write bundle: %w", err)
	}
	return nil
}

// Close gives its room back.
func (h *Held) Close() error { return h.f.Close() }
