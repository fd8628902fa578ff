// Package transcript reads single facts from transcripts of Claude Code. It is a
// package of its own so that hooks, which run for every event, link little.
package transcript

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"time"
)

// APIError is a turn that an error of the API ended, as the transcript tells
// it. The text is made for people and changes with every version; the other
// fields are what Claude Code itself goes by.
type APIError struct {
	Kind      string    // rate_limit, server_error, authentication_failed, billing_error, …
	Status    int       // of HTTP; 0 for an error of the network
	Limit     bool      // a usage limit, not a passing 429
	LimitType string    // five_hour, seven_day, …
	ResetsAt  time.Time // of the limit; zero when it is not told
	Text      string    // as shown on the screen
	At        time.Time
}

// errorTail is how much of a transcript's end is searched for an error, in
// bytes: the error is one of its last lines.
const errorTail = 256 << 10

// usageLimit is the apiError of a usage limit (seen with 2.1.332).
const usageLimit = "usage_limit_reached"

// LastError is the error that ended the last turn of a transcript. ok is
// false when the last turn did not end in one, or there is no transcript yet.
// It reads the file's last 256 KiB.
func LastError(path string) (e APIError, ok bool, err error) {
	err = lastLines(path, func(line []byte) bool {
		found, v := asError(line)
		if v == isError {
			e, ok = found, true
		}
		return v != notMessage
	})
	return e, ok, err
}

func readTail(f *os.File, n int64) ([]byte, error) {
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	from := max(st.Size()-n, 0)
	return io.ReadAll(io.NewSectionReader(f, from, st.Size()-from))
}

type verdict int

const (
	notMessage verdict = iota // book-keeping, or no line at all
	isError
	otherMessage
)

// asError reads a line of a transcript as an API error. What is neither a
// person's nor the model's message says nothing.
func asError(line []byte) (APIError, verdict) {
	var l struct {
		Type           string    `json:"type"`
		IsMeta         bool      `json:"isMeta"`
		IsAPIError     bool      `json:"isApiErrorMessage"`
		Error          string    `json:"error"`
		APIError       string    `json:"apiError"`
		APIErrorStatus int       `json:"apiErrorStatus"`
		Timestamp      time.Time `json:"timestamp"`
		QuotaLimits    struct {
			ResetsAt      int64  `json:"resetsAt"` // Unix time in s
			RateLimitType string `json:"rateLimitType"`
		} `json:"quotaLimits"`
		Message struct {
			Content json.RawMessage `json:"content"`
		} `json:"message"`
	}
	if !bytes.Contains(line, []byte(`"isApiErrorMessage"`)) && !bytes.Contains(line, []byte(`"message"`)) {
		return APIError{}, notMessage
	}
	err := json.Unmarshal(line, &l)
	var typ *json.UnmarshalTypeError
	if err != nil && !errors.As(err, &typ) {
		return APIError{}, notMessage
	}
	switch {
	case l.Type == "assistant" && l.IsAPIError:
	case l.Type == "assistant", l.Type == "user" && !l.IsMeta:
		return APIError{}, otherMessage
	default:
		return APIError{}, notMessage
	}
	e := APIError{
		Kind: l.Error, Status: l.APIErrorStatus, At: l.Timestamp, Text: firstText(l.Message.Content),
		Limit: l.APIError == usageLimit, LimitType: l.QuotaLimits.RateLimitType,
	}
	if l.QuotaLimits.ResetsAt > 0 {
		e.ResetsAt = time.Unix(l.QuotaLimits.ResetsAt, 0).UTC()
	}
	return e, isError
}

// firstText is the first text of a message's content: a string, or a list of
// blocks.
func firstText(content json.RawMessage) string {
	var s string
	if json.Unmarshal(content, &s) == nil {
		return s
	}
	var blocks []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(content, &blocks) == nil {
		for _, b := range blocks {
			if b.Text != "" {
				return b.Text
			}
		}
	}
	return ""
}
