package claude

import "strings"

// BridgeID is a Remote Control session's id as links hold it, of the one that
// the registry or a transcript names: cse_X and session_X are the same.
func BridgeID(bridge string) (id string, ok bool) {
	for _, prefix := range []string{"cse_", "session_"} {
		if rest, has := strings.CutPrefix(bridge, prefix); has && wordy(rest) {
			return "session_" + rest, true
		}
	}
	return "", false
}

// wordy reports whether s is made of letters, digits, '-' and '_' alone.
func wordy(s string) bool {
	for _, c := range []byte(s) {
		if !isWord(c) && c != '-' && c != '_' {
			return false
		}
	}
	return s != ""
}
