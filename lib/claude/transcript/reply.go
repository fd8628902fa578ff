package transcript

import (
	"bytes"
	"encoding/json"
	"time"
)

// LastReply is when the model last said something of its own, in the last
// 256 KiB of a transcript: a message that is no error. Zero when it did not.
func LastReply(path string) (at time.Time, err error) {
	err = lastLines(path, func(line []byte) bool {
		if !bytes.Contains(line, []byte(`"assistant"`)) {
			return false
		}
		var l struct {
			Type       string    `json:"type"`
			IsAPIError bool      `json:"isApiErrorMessage"`
			Timestamp  time.Time `json:"timestamp"`
			Message    struct {
				Model string `json:"model"`
			} `json:"message"`
		}
		if json.Unmarshal(line, &l) != nil || l.Type != "assistant" || l.IsAPIError || l.Message.Model == synthetic {
			return false
		}
		at = l.Timestamp
		return true
	})
	return at, err
}

// synthetic is the model of what Claude Code itself writes in its place.
const synthetic = "<synthetic>"
