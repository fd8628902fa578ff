package seal

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func hexOf(b []byte) string { return hex.EncodeToString(b) }

func sealed(t testing.TB, k *Keys, plain []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := Seal(&b, k.Public.Recipient)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(plain); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func opens(k *Keys, r io.Reader) ([]byte, error) {
	plain, err := k.Open(r)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(plain)
}

func roundTrip(t *testing.T, k *Keys) {
	t.Helper()
	plain := bytes.Repeat([]byte("text "), 50_000) // some of age's chunks
	got, err := opens(k, bytes.NewReader(sealed(t, k, plain)))
	if err != nil || !bytes.Equal(got, plain) {
		t.Errorf("%v, %d bytes of %d", err, len(got), len(plain))
	}
}

func TestSealAndOpen(t *testing.T) {
	k := load(t)
	roundTrip(t, k)
	b := sealed(t, k, []byte("text"))
	if _, err := opens(load(t), bytes.NewReader(b)); !errors.Is(err, ErrSealed) || !strings.Contains(err.Error(), "not sealed for this machine's key") {
		t.Errorf("another machine: %v", err)
	}
	if _, err := opens(k, iotest.ErrReader(io.ErrClosedPipe)); !errors.Is(err, io.ErrClosedPipe) || errors.Is(err, ErrSealed) {
		t.Errorf("a read error: %v", err)
	}
	_, err := opens(k, io.MultiReader(bytes.NewReader(b[:len(b)-1]), iotest.ErrReader(io.ErrClosedPipe)))
	if !errors.Is(err, io.ErrClosedPipe) || errors.Is(err, ErrSealed) {
		t.Errorf("a read error at the end: %v", err)
	}
	for _, r := range []string{"", "nonsense", "age1", "ssh-ed25519 AAAA", k.Public.Recipient + "x", strings.Repeat("a", 5000)} {
		if _, err := Seal(io.Discard, r); !errors.Is(err, ErrKey) {
			t.Errorf("recipient %.10q: %v", r, err)
		}
	}
}

// Whatever happens to a sealed file on its way, it is not opened to its end.
func TestDamageIsFound(t *testing.T) {
	k := load(t)
	plain := bytes.Repeat([]byte("text "), 30_000) // three chunks of 64 KiB
	b := sealed(t, k, plain)
	const chunk = 64<<10 + 16
	head := len(b) - (len(plain) + 3*16) - 16
	cuts := []int{0, 1, head / 2, head, head + 15, len(b) - 1}
	for at := head + 16; at < len(b); at += chunk {
		cuts = append(cuts, at, at+1, at+chunk/2)
	}
	for _, n := range cuts {
		if n >= len(b) {
			continue
		}
		if _, err := opens(k, bytes.NewReader(b[:n])); !errors.Is(err, ErrSealed) {
			t.Errorf("cut at %d of %d: %v", n, len(b), err)
		}
	}
	for _, tail := range [][]byte{{0}, b, make([]byte, chunk)} {
		if _, err := opens(k, bytes.NewReader(append(bytes.Clone(b), tail...))); !errors.Is(err, ErrSealed) {
			t.Errorf("%d bytes more: %v", len(tail), err)
		}
	}
	short := sealed(t, k, []byte("text"))
	for i := range short {
		bad := bytes.Clone(short)
		bad[i] ^= 1 << (i % 8)
		if got, err := opens(k, bytes.NewReader(bad)); !errors.Is(err, ErrSealed) {
			t.Errorf("bit %d of byte %d of %d: %v, %q", i%8, i, len(short), err, got)
		}
	}
	swapped := bytes.Clone(b[:head+16])
	swapped = append(append(append(swapped, b[head+16+chunk:head+16+2*chunk]...), b[head+16:head+16+chunk]...), b[head+16+2*chunk:]...)
	if _, err := opens(k, bytes.NewReader(swapped)); !errors.Is(err, ErrSealed) {
		t.Errorf("chunks exchanged: %v", err)
	}
}

// What was not closed can't be opened: a writer that fails leaves nothing that
// looks whole.
func TestUnclosedIsNotWhole(t *testing.T) {
	k := load(t)
	var b bytes.Buffer
	w, err := Seal(&b, k.Public.Recipient)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(make([]byte, 200_000)); err != nil {
		t.Fatal(err)
	}
	if _, err := opens(k, &b); !errors.Is(err, ErrSealed) {
		t.Errorf("got %v", err)
	}
}
