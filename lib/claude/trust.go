package claude

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// settingsFile is where Claude Code keeps, among much else, which folders are
// trusted: beside the default folder, within one that CLAUDE_CONFIG_DIR names.
const settingsFile = ".claude.json"

// Trusted reports whether Claude Code would start in dir without asking whether
// it is trusted: dir, or a folder above it within the repository whose top is
// top, was accepted before. Trust does not reach from outside into a repository
// (seen with 2.1.332). Both are absolute, links resolved. A home without a
// settings file trusts nothing.
func Trusted(h Home, dir, top string) (bool, error) {
	trusted := map[string]bool{}
	for _, path := range []string{filepath.Join(string(h), settingsFile), filepath.Join(filepath.Dir(string(h)), settingsFile)} {
		b, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return false, fmt.Errorf("read Claude's settings: %w", err)
		}
		var s struct {
			Projects map[string]struct {
				Accepted bool `json:"hasTrustDialogAccepted"`
			} `json:"projects"`
		}
		if err := json.Unmarshal(b, &s); err != nil {
			return false, fmt.Errorf("read Claude's settings, %s: %w", path, err)
		}
		for dir, p := range s.Projects {
			trusted[dir] = trusted[dir] || p.Accepted
		}
	}
	for d := dir; ; d = filepath.Dir(d) {
		if trusted[d] {
			return true, nil
		}
		if d == top || d == filepath.Dir(d) {
			return false, nil
		}
	}
}
