//go:build soak && realclaude

package e2e

import "testing"

// The real Claude Code, with 500 messages.
func TestSoakRealClaudeMailboxAtRandom(t *testing.T) { realRandom(t, 500) }
