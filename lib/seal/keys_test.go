package seal

import (
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha512"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"filippo.io/age"

	"sessionhub/lib/record"
)

func load(t testing.TB) *Keys {
	t.Helper()
	k, err := Load(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestKeysAreMadeOnceAndPrivate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "config", "sessionhub")
	k, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(k.Created) != 2 || !strings.HasPrefix(k.Public.Recipient, "age1pq1") {
		t.Errorf("made %q, recipient %.20s", k.Created, k.Public.Recipient)
	}
	if err := CheckKey(k.Public); err != nil {
		t.Error(err)
	}
	again, err := Load(dir)
	if err != nil || again.Public != k.Public || len(again.Created) > 0 {
		t.Errorf("again: %v, made %q", err, again.Created)
	}
	if st, err := os.Stat(dir); err != nil || st.Mode().Perm() != 0o700 {
		t.Errorf("the folder: %v, %v", st.Mode(), err)
	}
	list, err := os.ReadDir(dir)
	if err != nil || len(list) != 2 {
		t.Errorf("left behind: %v, %v", list, err)
	}
	for _, name := range []string{IdentityFile, SigningFile} {
		if st, err := os.Stat(filepath.Join(dir, name)); err != nil || st.Mode() != 0o600 {
			t.Errorf("%s: %v, %v", name, st, err)
		}
	}
	if err := os.Remove(filepath.Join(dir, SigningFile)); err != nil {
		t.Fatal(err)
	}
	half, err := Load(dir)
	if err != nil || len(half.Created) != 1 || half.Public.Recipient != k.Public.Recipient || half.Public.Fingerprint == k.Public.Fingerprint {
		t.Errorf("with one of two: %v, made %q", err, half.Created)
	}
}

// An X25519 identity that its owner put there is taken.
func TestAnX25519IdentityIsTaken(t *testing.T) {
	dir := t.TempDir()
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	put(t, dir, IdentityFile, "# a comment\n"+id.String()+"\n", 0o600)
	k, err := Load(dir)
	if err != nil || k.Public.Recipient != id.Recipient().String() {
		t.Errorf("%v, %s", err, k.Public.Recipient)
	}
	roundTrip(t, k)
}

func put(t *testing.T, dir, name, content string, mode os.FileMode) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

func TestRefusedKeyFiles(t *testing.T) {
	id, err := newIdentity()
	if err != nil {
		t.Fatal(err)
	}
	signer, err := newSigner()
	if err != nil {
		t.Fatal(err)
	}
	other, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(other)
	if err != nil {
		t.Fatal(err)
	}
	rsaKey := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	for _, c := range []struct {
		name, file, content string
		mode                os.FileMode
		why                 string
	}{
		{"others read it", IdentityFile, string(id), 0o604, "run chmod 600"},
		{"the group reads it", IdentityFile, string(id), 0o640, "mode 0640"},
		{"others write it", SigningFile, string(signer), 0o602, "run chmod 600"},
		{"empty", IdentityFile, "", 0o600, "no age identity file"},
		{"nonsense", IdentityFile, "nonsense\n", 0o600, "no age identity file"},
		{"a cut identity", IdentityFile, string(id[:len(id)-3]), 0o600, "no age identity file"},
		{"two identities", IdentityFile, string(id) + string(id), 0o600, "2 identities"},
		{"a public key", IdentityFile, "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p\n", 0o600, "no age identity file"},
		{"huge", IdentityFile, strings.Repeat("# x\n", maxKeyFile), 0o600, "larger than"},
		{"no PEM", SigningFile, "nonsense", 0o600, "not one PKCS#8 key"},
		{"two keys", SigningFile, string(signer) + string(signer), 0o600, "not one PKCS#8 key"},
		{"PEM of nothing", SigningFile, "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", 0o600, "not one PKCS#8 key"},
		{"an RSA key", SigningFile, string(rsaKey), 0o600, "not Ed25519"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			put(t, dir, c.file, c.content, c.mode)
			_, err := Load(dir)
			if !errors.Is(err, ErrKeyFile) || !strings.Contains(err.Error(), c.why) || !strings.Contains(err.Error(), c.file) {
				t.Errorf("got %v", err)
			}
			if err != nil && (strings.Contains(err.Error(), "SECRET") || strings.Contains(err.Error(), "\n")) {
				t.Errorf("the error has the key, or several lines: %v", err)
			}
			if b, err := os.ReadFile(filepath.Join(dir, c.file)); err != nil || string(b) != c.content {
				t.Errorf("the file was changed: %v", err)
			}
		})
	}
	t.Run("a fifo", func(t *testing.T) {
		dir := t.TempDir()
		if err := syscall.Mkfifo(filepath.Join(dir, IdentityFile), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(dir); !errors.Is(err, ErrKeyFile) {
			t.Errorf("got %v", err)
		}
	})
}

// Another user's file is refused, also by root: it may change under our feet.
func TestAnotherUsersKeyFile(t *testing.T) {
	dir := t.TempDir()
	if _, err := Load(dir); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 {
		if err := os.Chown(filepath.Join(dir, IdentityFile), 65534, 65534); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(dir); !errors.Is(err, ErrKeyFile) || !strings.Contains(err.Error(), "belongs to user id 65534, not 0") {
			t.Errorf("got %v", err)
		}
		return
	}
	if err := os.Remove(filepath.Join(dir, IdentityFile)); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/hosts", filepath.Join(dir, IdentityFile)); err != nil { // root's
		t.Fatal(err)
	}
	if _, err := Load(dir); !errors.Is(err, ErrKeyFile) || !strings.Contains(err.Error(), "belongs to user id 0") {
		t.Errorf("got %v", err)
	}
}

const loadEnv = "SEAL_TEST_LOAD"

func TestMain(m *testing.M) {
	if dir := os.Getenv(loadEnv); dir != "" {
		k, err := Load(dir)
		if err != nil {
			os.Stderr.WriteString(err.Error())
			os.Exit(1)
		}
		os.Stdout.WriteString(k.Public.Fingerprint)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// Processes that make the keys at once end with the same ones.
func TestKeysAreMadeOnceByManyProcesses(t *testing.T) {
	for range 5 {
		dir := t.TempDir()
		var wg sync.WaitGroup
		got := make([]string, 8)
		for i := range got {
			wg.Go(func() {
				cmd := exec.Command(os.Args[0])
				cmd.Env = append(os.Environ(), loadEnv+"="+dir)
				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Errorf("%v: %s", err, out)
				}
				got[i] = string(out)
			})
		}
		wg.Wait()
		k, err := Load(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range got {
			if f != k.Public.Fingerprint {
				t.Errorf("one has %s, another %s", f, k.Public.Fingerprint)
			}
		}
		if list, err := os.ReadDir(dir); err != nil || len(list) != 2 {
			t.Errorf("left behind: %v, %v", list, err)
		}
	}
}

func TestSignatures(t *testing.T) {
	k, other := load(t), load(t)
	sig, err := k.Sign([]byte("manifest"))
	if err != nil {
		t.Fatal(err)
	}
	if err := VerifySignature(k.Public.Signer, []byte("manifest"), sig); err != nil {
		t.Error(err)
	}
	// As others would check it, by the contract alone.
	digest := sha512.Sum512([]byte("manifest"))
	if err := ed25519.VerifyWithOptions(k.signer.Public().(ed25519.PublicKey), digest[:], sig, &ed25519.Options{Hash: crypto.SHA512, Context: "sessionhub bundle v1"}); err != nil {
		t.Error(err)
	}
	pure := ed25519.Sign(k.signer, []byte("manifest"))
	for name, err := range map[string]error{
		"another text":      VerifySignature(k.Public.Signer, []byte("manifesT"), sig),
		"another signer":    VerifySignature(other.Public.Signer, []byte("manifest"), sig),
		"without a context": VerifySignature(k.Public.Signer, []byte("manifest"), pure),
		"none":              VerifySignature(k.Public.Signer, []byte("manifest"), nil),
		"cut":               VerifySignature(k.Public.Signer, []byte("manifest"), sig[:63]),
	} {
		if !errors.Is(err, ErrSignature) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, signer := range []string{"", "x", base64.StdEncoding.EncodeToString(make([]byte, 31)), k.Public.Signer + "\n", strings.TrimRight(k.Public.Signer, "=")} {
		if err := VerifySignature(signer, []byte("manifest"), sig); !errors.Is(err, ErrKey) {
			t.Errorf("signer %q: %v", signer, err)
		}
	}
}

// The fingerprint is what contract and manual say, so that others can make it.
func TestFingerprint(t *testing.T) {
	out, err := exec.Command("sh", "-c", `printf 'age1x\nc2lnbmVy' | sha256sum | cut -c1-64`).Output()
	if err != nil {
		t.Fatal(err)
	}
	b, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(record.Fingerprint("age1x", "c2lnbmVy"), "SHA256:"))
	if err != nil || hexOf(b) != strings.TrimSpace(string(out)) {
		t.Errorf("%v, %x, %s", err, b, out)
	}
	k := load(t).Public
	k.Fingerprint = record.Fingerprint("age1x", k.Signer)
	if err := CheckKey(k); !errors.Is(err, ErrKey) {
		t.Errorf("another's fingerprint: %v", err)
	}
}
