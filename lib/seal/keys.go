package seal

import (
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"filippo.io/age"

	"sessionhub/lib/record"
	"sessionhub/lib/state"
)

// The key files, in the config directory.
const (
	IdentityFile = "move.key"  // an age identity file
	SigningFile  = "move.sign" // Ed25519, PKCS#8, PEM
)

// maxKeyFile bounds a key file; a hybrid identity with its comments has some
// 2 KiB.
const maxKeyFile = 16 << 10

// Keys are this machine's.
type Keys struct {
	Public  record.MoveKey
	Created []string // the paths of the files that Load had to make

	identity age.Identity
	signer   ed25519.PrivateKey
}

// Load reads the keys in a config directory, and makes those that are not
// there: a hybrid post-quantum age identity (an X25519 one that is there is
// taken, too) and an Ed25519 key. Of two processes that do so at once, both
// end with the same keys. A file that others can read, or that is another
// user's, is refused with ErrKeyFile.
func Load(dir string) (*Keys, error) {
	k := &Keys{}
	b, err := k.loadOrCreate(filepath.Join(dir, IdentityFile), newIdentity)
	if err != nil {
		return nil, err
	}
	if err := k.setIdentity(b); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrKeyFile, filepath.Join(dir, IdentityFile), err)
	}
	if b, err = k.loadOrCreate(filepath.Join(dir, SigningFile), newSigner); err != nil {
		return nil, err
	}
	if err := k.setSigner(b); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrKeyFile, filepath.Join(dir, SigningFile), err)
	}
	k.Public.Fingerprint = record.Fingerprint(k.Public.Recipient, k.Public.Signer)
	return k, nil
}

func (k *Keys) setIdentity(b []byte) error {
	list, err := age.ParseIdentities(bytes.NewReader(b))
	if err != nil {
		return errors.New("it is no age identity file") // the parser's words may quote the key
	}
	if len(list) != 1 {
		return fmt.Errorf("it holds %d identities, and one is wanted", len(list))
	}
	switch id := list[0].(type) {
	case *age.HybridIdentity:
		k.Public.Recipient = id.Recipient().String()
	case *age.X25519Identity:
		k.Public.Recipient = id.Recipient().String()
	default:
		return errors.New("its identity is neither hybrid (AGE-SECRET-KEY-PQ-1…) nor X25519 (AGE-SECRET-KEY-1…)")
	}
	k.identity = list[0]
	return nil
}

func (k *Keys) setSigner(b []byte) error {
	block, rest := pem.Decode(b)
	if block == nil || block.Type != "PRIVATE KEY" || len(bytes.TrimSpace(rest)) > 0 {
		return errors.New("it is not one PKCS#8 key in PEM")
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return errors.New("it is not one PKCS#8 key in PEM")
	}
	signer, ok := key.(ed25519.PrivateKey)
	if !ok {
		return errors.New("its key is not Ed25519")
	}
	k.signer = signer
	k.Public.Signer = base64.StdEncoding.EncodeToString(signer.Public().(ed25519.PublicKey))
	return nil
}

func newIdentity() ([]byte, error) {
	id, err := age.GenerateHybridIdentity()
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	// As age-keygen writes it.
	return fmt.Appendf(nil, "# created: %s\n# public key: %s\n%s\n", time.Now().UTC().Format(time.RFC3339), id.Recipient(), id), nil
}

func newSigner() ([]byte, error) {
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}

func (k *Keys) loadOrCreate(path string, make func() ([]byte, error)) ([]byte, error) {
	b, err := readPrivate(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return b, err
	}
	if b, err = make(); err != nil {
		return nil, err
	}
	switch err := create(path, b); {
	case errors.Is(err, fs.ErrExist): // another process was first
		return readPrivate(path)
	case err != nil:
		return nil, err
	}
	k.Created = append(k.Created, path)
	return b, nil
}

// readPrivate reads a file that must be this user's and no other's to read.
func readPrivate(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a fifo would wait for a writer
	if errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrKeyFile, err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrKeyFile, err)
	}
	sys, known := st.Sys().(*syscall.Stat_t)
	switch {
	case !st.Mode().IsRegular():
		return nil, fmt.Errorf("%w: %s is no regular file", ErrKeyFile, path)
	case known && int(sys.Uid) != os.Geteuid():
		return nil, fmt.Errorf("%w: %s belongs to user id %d, not %d: change its owner, or set SESSIONHUB_CONFIG", ErrKeyFile, path, sys.Uid, os.Geteuid())
	case st.Mode().Perm()&0o077 != 0:
		return nil, fmt.Errorf("%w: others can read %s (mode %04o): run chmod 600 on it, and make new keys if they may have", ErrKeyFile, path, st.Mode().Perm())
	}
	b, err := io.ReadAll(io.LimitReader(f, maxKeyFile+1))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrKeyFile, err)
	}
	if len(b) > maxKeyFile {
		return nil, fmt.Errorf("%w: %s is larger than %d bytes", ErrKeyFile, path, maxKeyFile)
	}
	return b, nil
}

// create makes a file with its whole content, or fails with fs.ErrExist: a
// link, unlike a rename, never replaces another process's file.
func create(path string, b []byte) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make a key: %w", err)
	}
	f, err := os.CreateTemp(dir, "."+filepath.Base(path)+"-*") // 0600
	if err != nil {
		return fmt.Errorf("make a key: %w", err)
	}
	defer os.Remove(f.Name())
	_, err = f.Write(b)
	if serr := f.Sync(); err == nil {
		err = serr
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Link(f.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("make a key: %w", err)
	}
	return state.SyncDir(dir)
}
