package spawn_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sessionhub/lib/spawn"
)

// A program that does not answer is told as that, not as one that somebody killed.
func TestARuntimeThatDoesNotAnswer(t *testing.T) {
	for _, runtime := range []string{"herdr", "tmux"} {
		p := newPlace(t, runtime)
		bin := t.TempDir()
		if err := os.WriteFile(filepath.Join(bin, runtime), []byte("#!/bin/sh\nexec sleep 60\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		path := os.Getenv("PATH")
		t.Setenv("PATH", bin+":"+path)
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		_, err := p.Start(ctx, p.spec("a1", "true"))
		cancel()
		t.Setenv("PATH", path)
		if !errors.Is(err, spawn.ErrRuntime) || !errors.Is(err, context.DeadlineExceeded) || strings.Contains(err.Error(), "killed") {
			t.Errorf("%s: %v", runtime, err)
		}
	}
}
