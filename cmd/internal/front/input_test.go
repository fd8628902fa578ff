package front

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
)

// reading is a tool whose verb reads standard input and takes what goes wrong
// for bad data.
func reading(got *string) Tool {
	return Tool{Name: "t", Verbs: []Verb{{Name: "read", Run: func(ctx context.Context, c *Call) error {
		b, err := io.ReadAll(c.Input(ctx))
		*got = string(b)
		if err != nil {
			return Fail(ExitData, errors.Join(errors.New("what was read is no record"), err))
		}
		return nil
	}}}}
}

func TestInput(t *testing.T) {
	var got string
	want := strings.Repeat("0123456789", 100_000)
	if code := reading(&got).Run(t.Context(), Env{Args: []string{"read"}, Stdin: strings.NewReader(want), Getenv: func(string) string { return "" }}); code != 0 || got != want {
		t.Errorf("%d, %d bytes", code, len(got))
	}
}

// Ctrl-C ends a verb that waits for standard input.
func TestInputEndsWithTheContext(t *testing.T) {
	in, out := io.Pipe()
	defer out.Close()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		out.Write([]byte("a beginning"))
		cancel()
	}()
	var got string
	var said bytes.Buffer
	if code := reading(&got).Run(ctx, Env{Args: []string{"read"}, Stdin: in, Stderr: &said, Getenv: func(string) string { return "" }}); code != ExitInterrupted || said.Len() > 0 {
		t.Errorf("%d %s", code, &said)
	}
}
