package script

import (
	"context"
	"io"
	"os"
	"testing"
	"time"

	"sessionhub/cmd/internal/front"
)

// Interrupted checks that Ctrl-C ends verbs that wait for standard input, which a
// terminal does not end.
func Interrupted(t *testing.T, tool front.Tool, verbs ...[]string) {
	env := map[string]string{"HOME": t.TempDir(), "PATH": os.Getenv("PATH"), "CLAUDE_CODE_SESSION_ID": "0b5c1f9e-2d2c-4a57-9a3e-1f0c52b8d1aa"}
	for _, args := range verbs {
		in, out := io.Pipe()
		defer out.Close()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		over := make(chan int, 1)
		go func() {
			over <- tool.Run(ctx, front.Env{Args: args, Stdin: in, Stdout: io.Discard, Stderr: io.Discard, Getenv: func(k string) string { return env[k] }})
		}()
		if _, err := out.Write([]byte("{")); err != nil { // it reads
			t.Fatal(err)
		}
		cancel()
		select {
		case code := <-over:
			if code != front.ExitInterrupted {
				t.Errorf("%q: status %d", args, code)
			}
		case <-time.After(20 * time.Second):
			t.Errorf("%q goes on", args)
		}
	}
}
