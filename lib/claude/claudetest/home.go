package claudetest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// Key is a made-up key that the real Claude Code takes without asking in a
// home made by RealHome.
const Key = "sk-ant-made-up-key-for-tests-0123456789"

// approvedTail is how much of a key's end Claude Code remembers as approved.
const approvedTail = 20

// RealHome prepares a home directory in which the real Claude Code starts
// without its onboarding and trusts the given directories.
func RealHome(t testing.TB, home string, trusted ...string) {
	t.Helper()
	projects := map[string]any{}
	for _, d := range trusted {
		projects[d] = map[string]any{"hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true}
	}
	b, err := json.Marshal(map[string]any{
		"hasCompletedOnboarding": true, "theme": "dark", "numStartups": 3,
		"customApiKeyResponses": map[string]any{"approved": []string{Key[len(Key)-approvedTail:]}, "rejected": []string{}},
		"projects":              projects,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, ".claude.json"), b, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(home, ".claude"), 0o700); err != nil {
		t.Fatal(err)
	}
}

// RealEnv is the environment in which the real Claude Code talks to a stand-in
// of the Messages API and to nobody else.
func RealEnv(api string) []string { return append(quietEnv(api), "ANTHROPIC_API_KEY="+Key) }

// RealSubscriptionEnv is RealEnv for a Claude Code that believes it is signed
// in with a subscription: only then it tells of usage limits.
func RealSubscriptionEnv(api string) []string {
	return append(quietEnv(api), "CLAUDE_CODE_OAUTH_TOKEN=made-up-token-for-tests")
}

func quietEnv(api string) []string {
	return []string{
		"ANTHROPIC_BASE_URL=" + api,
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_TELEMETRY=1", "DISABLE_AUTOUPDATER=1", "DISABLE_ERROR_REPORTING=1",
	}
}

// RealBin is the real Claude Code that CLAUDE_BIN names.
func RealBin(t testing.TB) string {
	t.Helper()
	bin := os.Getenv("CLAUDE_BIN")
	if bin == "" {
		t.Fatal("CLAUDE_BIN names no Claude Code: `make test` installs it and names it")
	}
	return bin
}
