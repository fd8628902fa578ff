package claude

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// The variables that move Claude Code's folder.
const (
	envConfigDir = "CLAUDE_CONFIG_DIR"
	envHome      = "HOME"
)

// DefaultHome is the folder that a Claude Code with such an environment uses:
// CLAUDE_CONFIG_DIR, else .claude in HOME. ok is false when neither is an
// absolute path.
func DefaultHome(getenv func(string) string) (h Home, ok bool) {
	if d := getenv(envConfigDir); d != "" {
		return Home(filepath.Clean(d)), filepath.IsAbs(d)
	}
	d := getenv(envHome)
	return Home(filepath.Join(d, ".claude")), filepath.IsAbs(d)
}

// fromEnviron is DefaultHome for a list of NAME=value.
func fromEnviron(env []string) (Home, bool) {
	return DefaultHome(func(name string) string {
		for _, kv := range env {
			if v, ok := strings.CutPrefix(kv, name+"="); ok {
				return v
			}
		}
		return ""
	})
}

// versionWait bounds `claude --version`, which starts a runtime of 400 MB: 0.1 s
// when the disk is warm.
const versionWait = 10 * time.Second

var versionText = regexp.MustCompile(`^(\d+\.\d+\.\d+\S*) \(Claude Code\)\s*$`)

// Version asks the program at bin which Claude Code it is, such as "2.1.332".
func Version(ctx context.Context, bin string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, versionWait)
	defer cancel()
	cmd := exec.CommandContext(ctx, bin, "--version")
	cmd.WaitDelay = time.Second // for what it may have started
	out, err := cmd.Output()
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	if err != nil {
		return "", fmt.Errorf("ask %s for its version: %w", bin, err)
	}
	m := versionText.FindSubmatch(out)
	if m == nil {
		return "", fmt.Errorf("ask %s for its version: its answer is not Claude Code's", bin)
	}
	return string(m[1]), nil
}

// Quiet is the environment of a call that only asks: it keeps Claude Code from
// updating itself, from telling its makers of the call, and from leaving files
// of that behind.
func Quiet() []string {
	return []string{"DISABLE_TELEMETRY=1", "DISABLE_AUTOUPDATER=1", "DISABLE_ERROR_REPORTING=1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1"}
}
