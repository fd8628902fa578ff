package seal

import (
	"errors"
	"fmt"
	"io"

	"filippo.io/age"
)

// Seal encrypts to w for a recipient as age does. What was written is whole
// only once Close returned nil; without it nobody can open it.
func Seal(w io.Writer, recipient string) (io.WriteCloser, error) {
	r, err := parseRecipient(recipient)
	if err != nil {
		return nil, err
	}
	sealed, err := age.Encrypt(w, r)
	if err != nil {
		return nil, fmt.Errorf("seal: %w", err)
	}
	return sealed, nil
}

// Open decrypts what was sealed for this machine. What it gives is authentic,
// and whole once io.EOF was read; a cut or a change is ErrSealed.
func (k *Keys) Open(r io.Reader) (io.Reader, error) {
	src := &source{r: r}
	plain, err := age.Decrypt(src, k.identity)
	var other *age.NoIdentityMatchError
	switch {
	case errors.As(err, &other):
		return nil, fmt.Errorf("%w: it is not sealed for this machine's key (%s)", ErrSealed, k.Public.Fingerprint)
	case err != nil && src.err != nil:
		return nil, fmt.Errorf("read: %w", src.err)
	case err != nil:
		return nil, fmt.Errorf("%w: it is no sealed bundle, or its head is damaged", ErrSealed)
	}
	return &opened{plain: plain, src: src}, nil
}

// source keeps the error of reading, other than the end.
type source struct {
	r   io.Reader
	err error
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	if err != nil && err != io.EOF {
		s.err = err
	}
	return n, err
}

type opened struct {
	plain io.Reader
	src   *source
}

func (o *opened) Read(p []byte) (int, error) {
	n, err := o.plain.Read(p)
	switch {
	case err == nil || err == io.EOF:
		return n, err
	case o.src.err != nil:
		return n, fmt.Errorf("read: %w", o.src.err)
	}
	return n, fmt.Errorf("%w: it was cut or changed on its way", ErrSealed)
}
