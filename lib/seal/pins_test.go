package seal

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"sessionhub/lib/record"
	"sessionhub/lib/state"
)

func newPins(t *testing.T) *Pins {
	at := time.Date(2026, 11, 30, 20, 0, 0, 0, time.UTC)
	var mu sync.Mutex
	return &Pins{Dir: state.Dir(filepath.Join(t.TempDir(), "state")), Now: func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		at = at.Add(time.Second)
		return at
	}}
}

func TestTheFirstKeyIsPinned(t *testing.T) {
	p, a, b := newPins(t), load(t).Public, load(t).Public
	if _, ok, err := p.Lookup("tower"); ok || err != nil {
		t.Errorf("before: %v, %v", ok, err)
	}
	for range 2 {
		if err := p.Meet("tower", a); err != nil {
			t.Fatal(err)
		}
	}
	pin, ok, err := p.Lookup("tower")
	if err != nil || !ok || pin.MoveKey != a || pin.PinnedAt.String() != "2026-11-30T20:00:01.000Z" {
		t.Errorf("%+v, %v, %v", pin.PinnedAt, ok, err)
	}
	err = p.Meet("tower", b)
	var changed *ChangedError
	if !errors.As(err, &changed) {
		t.Fatalf("a changed key: %v", err)
	}
	for _, want := range []string{a.Fingerprint, b.Fingerprint, "shmove key trust tower"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q lacks %q", err, want)
		}
	}
	if pin, _, _ := p.Lookup("tower"); pin.MoveKey != a {
		t.Error("the changed key was taken")
	}
	if err := p.Meet("laptop", b); err != nil { // another machine's own
		t.Error(err)
	}
	if offered, ok, err := p.Offered("tower"); err != nil || !ok || offered.MoveKey != b {
		t.Errorf("offered: %v, %v", ok, err)
	}
	if err := p.Trust("tower", b); err != nil {
		t.Fatal(err)
	}
	if err := p.Meet("tower", b); err != nil {
		t.Error(err)
	}
	if _, ok, _ := p.Offered("tower"); ok {
		t.Error("a trusted key still waits for trust")
	}
	if st, err := os.Stat(p.Dir.Keys()); err != nil || st.Mode() != 0o600 {
		t.Errorf("%v, %v", st, err)
	}
	raw := map[string]map[string]string{}
	file, err := os.ReadFile(p.Dir.Keys())
	if err != nil || json.Unmarshal(file, &raw) != nil || raw["tower"]["recipient"] != b.Recipient || raw["tower"]["signer"] != b.Signer ||
		raw["tower"]["fingerprint"] != b.Fingerprint || raw["tower"]["pinned_at"] == "" {
		t.Errorf("keys.json: %v, %.200s", err, file)
	}
}

func TestRefusedKeys(t *testing.T) {
	p, k := newPins(t), load(t).Public
	wrong := k
	wrong.Fingerprint = "SHA256:x"
	for name, err := range map[string]error{
		"a fingerprint of another": p.Meet("tower", wrong),
		"no recipient":             p.Meet("tower", record.MoveKey{Signer: k.Signer, Fingerprint: record.Fingerprint("", k.Signer)}),
		"no signer":                p.Trust("tower", record.MoveKey{Recipient: k.Recipient, Fingerprint: record.Fingerprint(k.Recipient, "")}),
		"a machine that is a path": p.Trust("../tower", k),
		"no machine":               p.Trust("", k),
	} {
		if !errors.Is(err, ErrKey) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Pins that can't be read are never taken for none.
func TestBrokenPinsTrustNobody(t *testing.T) {
	p, k := newPins(t), load(t)
	if err := p.Dir.Ensure(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p.Dir.Keys(), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	m := record.Manifest{From: "tower"}
	k.Bind(&m)
	sig, err := k.Sign([]byte("x"))
	if err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{
		"meet": p.Meet("tower", k.Public), "trust": p.Trust("tower", k.Public), "verify": p.Verify(&m, []byte("x"), sig),
	} {
		if err == nil || !strings.Contains(err.Error(), "keys.json") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if b, err := os.ReadFile(p.Dir.Keys()); err != nil || string(b) != "{" {
		t.Errorf("the file was changed: %q, %v", b, err)
	}
}

func TestVerifyAsksThePins(t *testing.T) {
	p, k, other := newPins(t), load(t), load(t)
	m := record.Manifest{From: "tower"}
	k.Bind(&m)
	sig, err := k.Sign([]byte("manifest"))
	if err != nil {
		t.Fatal(err)
	}
	verify := func() error { return p.Verify(&m, []byte("manifest"), sig) }
	if err := p.Verify(&m, []byte("another"), sig); !errors.Is(err, ErrSignature) {
		t.Errorf("a bad signature: %v", err)
	}
	if _, ok, _ := p.Offered("tower"); ok {
		t.Error("the key of a bad signature was kept")
	}
	var unknown *UnknownError
	if err := verify(); !errors.As(err, &unknown) || !strings.Contains(err.Error(), k.Public.Fingerprint) {
		t.Errorf("an unknown machine: %v", err)
	}
	if _, ok, _ := p.Lookup("tower"); ok {
		t.Error("a bundle pinned its own key")
	}
	offered, ok, err := p.Offered("tower")
	if err != nil || !ok || offered.MoveKey != k.Public {
		t.Errorf("offered: %v, %v", ok, err)
	}
	if err := p.Trust("tower", offered.MoveKey); err != nil {
		t.Fatal(err)
	}
	if err := verify(); err != nil {
		t.Error(err)
	}
	if err := p.Trust("tower", other.Public); err != nil {
		t.Fatal(err)
	}
	var changed *ChangedError
	if err := verify(); !errors.As(err, &changed) || changed.Pinned != other.Public.Fingerprint || changed.Offered != k.Public.Fingerprint {
		t.Errorf("another key: %v", err)
	}
	m.FromRecipient = "" // an older writer
	if err := verify(); !errors.Is(err, ErrSignature) || !strings.Contains(err.Error(), other.Public.Fingerprint) {
		t.Errorf("another key without its recipient: %v", err)
	}
	m.From = "laptop"
	if err := verify(); !errors.As(err, &unknown) || !strings.Contains(err.Error(), "--from "+k.Public.Signer) {
		t.Errorf("an unknown machine without its recipient: %v", err)
	}
}

func TestOfferedKeysAreBounded(t *testing.T) {
	p, k := newPins(t), load(t)
	sig, err := k.Sign([]byte("x"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range maxOffered + 5 {
		m := record.Manifest{From: fmt.Sprintf("m%d", i)}
		k.Bind(&m)
		var unknown *UnknownError
		if err := p.Verify(&m, []byte("x"), sig); !errors.As(err, &unknown) {
			t.Fatal(err)
		}
	}
	all := map[string]Pin{}
	if err := state.ReadJSON(p.Dir.KeysOffered(), &all); err != nil || len(all) != maxOffered {
		t.Errorf("%d, %v", len(all), err)
	}
	if _, ok := all["m4"]; ok {
		t.Error("the oldest stayed")
	}
	if _, ok := all[fmt.Sprintf("m%d", maxOffered+4)]; !ok {
		t.Error("the newest went")
	}
}

// Many processes change the pins at once: none is lost.
func TestPinsAreChangedUnderTheLock(t *testing.T) {
	p, k := newPins(t), load(t).Public
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			own := &Pins{Dir: p.Dir, Now: time.Now}
			if err := own.Meet(fmt.Sprintf("m%d", i), k); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for i := range 20 {
		if _, ok, err := p.Lookup(fmt.Sprintf("m%d", i)); !ok || err != nil {
			t.Errorf("m%d: %v, %v", i, ok, err)
		}
	}
}
