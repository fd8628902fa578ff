//go:build !linux

package claude

import (
	"context"
	"fmt"
	"runtime"
	"time"
)

// psWait bounds one run of ps, which takes some 20 ms; Claude Code itself
// gives it a second.
const psWait = 3 * time.Second

// NewTable returns the process table of this machine. An error says that it
// can't be read, which proves nothing of any process.
func NewTable() (Table, error) {
	ctx, cancel := context.WithTimeout(context.Background(), psWait)
	defer cancel()
	out, err := ps(ctx).Output()
	if err != nil {
		return nil, fmt.Errorf("read the process table with ps: %w", err)
	}
	return parsePS(string(out)), nil
}

// PIDDomain is what Claude Code writes as pidDomain here.
func PIDDomain() string { return runtime.GOOS }

// HomeOf is the folder that a running Claude Code uses. Only Linux tells; here
// ok is false.
func HomeOf(int) (h Home, ok bool) { return "", false }
