package doctor

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"sessionhub/lib/text"
)

// stopWait is how long a server may take to end when its input closes.
const stopWait = time.Second

// AskTools starts an MCP server and asks for the names of its tools.
func AskTools(ctx context.Context, argv, env []string) (names []string, err error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = env
	var errs words
	cmd.Stderr = &errs
	defer func() {
		if s := errs.line(); err != nil && s != "" {
			err = fmt.Errorf("%w: %s", err, s)
		}
	}()
	client := sdk.NewClient(&sdk.Implementation{Name: "sessionhub-doctor", Version: "1"}, nil)
	session, err := client.Connect(ctx, &sdk.CommandTransport{Command: cmd, TerminateDuration: stopWait}, nil)
	if err != nil {
		return nil, err
	}
	defer session.Close() // how the server ends is its own affair
	list, err := session.ListTools(ctx, nil)
	if err != nil {
		return nil, err
	}
	for _, t := range list.Tools {
		names = append(names, t.Name)
	}
	return names, nil
}

// words is what a server says on its standard error, which it may do while it is
// read here.
type words struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// maxWords bounds what is kept, in bytes.
const maxWords = 4096

func (w *words) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if room := maxWords - w.b.Len(); room > 0 {
		w.b.Write(b[:min(room, len(b))])
	}
	return len(b), nil
}

func (w *words) line() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return text.Line(w.b.String())
}
