package lock

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

func TestOneHolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.lock")
	if held, err := Held(path); err != nil || held {
		t.Fatalf("a missing lock: held %v, %v", held, err)
	}
	l, err := Try(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Try(path); !errors.Is(err, ErrBusy) {
		t.Errorf("second Try: %v, want ErrBusy", err)
	}
	if held, err := Held(path); err != nil || !held {
		t.Errorf("held %v, %v", held, err)
	}
	if err := l.Release(); err != nil {
		t.Fatal(err)
	}
	if l, err = Try(path); err != nil {
		t.Fatalf("after the release: %v", err)
	}
	l.Release()
}

// Field report A36: taking a lock must not hang for ever.
func TestA36AcquireGivesUp(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.lock")
	l, err := Try(path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Release()
	if _, err := Acquire(path, 20*time.Millisecond); !errors.Is(err, ErrBusy) {
		t.Errorf("got %v, want ErrBusy", err)
	}
}

func TestAcquireGetsAReleasedLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.lock")
	l, err := Try(path)
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan error)
	go func() {
		l, err := Acquire(path, 10*time.Second)
		if err == nil {
			err = l.Release()
		}
		got <- err
	}()
	if err := l.Release(); err != nil {
		t.Fatal(err)
	}
	if err := <-got; err != nil {
		t.Error(err)
	}
}

// Field report A35: the process id in a lock file is a label; a lock whose
// file names a living process is free when nobody holds it.
func TestA35ContentDoesNotLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.lock")
	if err := os.WriteFile(path, []byte(strconv.Itoa(os.Getpid())), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := Try(path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Release()
	if err := l.Write("1\n"); err != nil {
		t.Fatal(err)
	}
	if b, _ := os.ReadFile(path); string(b) != "1\n" {
		t.Errorf("content %q", b)
	}
}

func TestAReplacedFileNoLongerStands(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.lock")
	l, err := Try(path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Release()
	if !l.Stands() {
		t.Error("a held lock does not stand")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	other, err := Try(path)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Release()
	if l.Stands() || !other.Stands() {
		t.Errorf("the old lock stands: %v, the new: %v", l.Stands(), other.Stands())
	}
}

func TestUnreachableFolder(t *testing.T) {
	_, err := Try(filepath.Join(t.TempDir(), "missing", "a.lock"))
	if err == nil || errors.Is(err, ErrBusy) {
		t.Errorf("got %v, want an error that is not ErrBusy", err)
	}
}
