package transcript

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// lastLines calls f for the lines of a transcript's last 256 KiB, the last one
// first, until it says that it has seen enough. A missing file has no lines.
func lastLines(path string, f func(line []byte) (enough bool)) error {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the transcript: %w", err)
	}
	defer file.Close()
	b, err := readTail(file, errorTail)
	if err != nil {
		return fmt.Errorf("read the transcript: %w", err)
	}
	for len(b) > 0 {
		i := bytes.LastIndexByte(b, '\n')
		if f(b[i+1:]) {
			return nil
		}
		b = b[:max(i, 0)]
	}
	return nil
}

// ContinuedIn is the session in which a transcript goes on, as after /bg; ""
// when it goes on itself. A message after that line means that it does.
func ContinuedIn(path string) (session string, err error) {
	err = lastLines(path, func(line []byte) bool {
		var l struct {
			Type    string `json:"type"`
			IsMeta  bool   `json:"isMeta"`
			Session string `json:"continuedInSessionId"`
		}
		if !bytes.Contains(line, []byte(`"continued-in"`)) && !bytes.Contains(line, []byte(`"message"`)) {
			return false
		}
		if json.Unmarshal(line, &l) != nil {
			return false
		}
		switch {
		case l.Type == "continued-in":
			session = l.Session
			return true
		case l.Type == "assistant", l.Type == "user" && !l.IsMeta:
			return true
		}
		return false
	})
	return session, err
}

// BridgeURL is the last Remote Control link that a transcript names, with
// whether a later line says that it was disconnected left open: a link proves
// only that it was printed (field report A27).
func BridgeURL(path string) (url string, err error) {
	err = lastLines(path, func(line []byte) bool {
		if !bytes.Contains(line, []byte(`"bridge_status"`)) {
			return false
		}
		var l struct {
			Subtype string `json:"subtype"`
			URL     string `json:"url"`
		}
		if json.Unmarshal(line, &l) == nil && l.Subtype == "bridge_status" && l.URL != "" {
			url = l.URL
		}
		return url != ""
	})
	return url, err
}

// LastDir is the directory that a transcript names last: of its last message,
// or of a later move to another one; "" when it names none in its last 256 KiB.
func LastDir(path string) (dir string, err error) {
	err = lastLines(path, func(line []byte) bool {
		var l struct {
			Cwd       string `json:"cwd"`
			Relocated string `json:"relocatedCwd"`
		}
		if json.Unmarshal(line, &l) == nil {
			dir = cmp.Or(l.Relocated, l.Cwd)
		}
		return dir != ""
	})
	return dir, err
}
