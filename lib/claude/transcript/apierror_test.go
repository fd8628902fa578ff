package transcript

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func write(t *testing.T, lines ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "t.jsonl")
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

const (
	limitLine = `{"type":"assistant","isApiErrorMessage":true,"error":"rate_limit","apiError":"usage_limit_reached","apiErrorStatus":429,"timestamp":"2026-11-30T20:53:51.418Z","quotaLimits":{"resetsAt":1796072050,"rateLimitType":"five_hour"},"message":{"content":[{"type":"text","text":"hit"}]}}`
	typedLine = `{"type":"user","message":{"content":"go on"}}`
	bookLine  = `{"type":"last-prompt","lastPrompt":"a \"message\": x"}`
)

func TestLastError(t *testing.T) {
	for _, c := range []struct {
		name  string
		lines []string
		ok    bool
	}{
		{"the last message", []string{typedLine, limitLine}, true},
		{"with a final newline and book-keeping behind it", []string{limitLine, bookLine, ""}, true},
		{"a prompt came after it", []string{limitLine, typedLine}, false},
		{"a reply came after it", []string{limitLine, `{"type":"assistant","message":{"content":[]}}`}, false},
		{"a note that no person typed came after it", []string{limitLine, `{"type":"user","isMeta":true,"message":{"content":"x"}}`}, true},
		{"half a line came after it", []string{limitLine, `{"type":"user","message":{"cont`}, true},
		{"rubbish", []string{"rubbish", "}{"}, false},
		{"nothing", nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			e, ok, err := LastError(write(t, c.lines...))
			if err != nil || ok != c.ok {
				t.Fatalf("%+v, %v, %v", e, ok, err)
			}
			if ok && (e.Kind != "rate_limit" || !e.Limit || e.Status != 429 || e.LimitType != "five_hour" || e.Text != "hit" || !e.ResetsAt.Equal(time.Unix(1796072050, 0))) {
				t.Errorf("%+v", e)
			}
		})
	}
	if _, ok, err := LastError(filepath.Join(t.TempDir(), "none")); ok || err != nil {
		t.Errorf("no transcript yet: %v, %v", ok, err)
	}
	if _, _, err := LastError(t.TempDir()); err == nil {
		t.Error("a folder is no transcript")
	}
}

// It reads the end alone.
func TestLastErrorOfALongTranscript(t *testing.T) {
	filler := strings.Repeat(`{"type":"attachment","message":"`+strings.Repeat("x", 1000)+`"}`+"\n", 1000)
	if _, ok, err := LastError(write(t, filler+limitLine)); !ok || err != nil {
		t.Error(ok, err)
	}
	if _, ok, err := LastError(write(t, limitLine+"\n"+filler)); ok || err != nil {
		t.Error("an error before the end was found:", ok, err)
	}
}

// Every error that the real program was seen to write is read as one.
func TestCapturedErrors(t *testing.T) {
	b, err := os.ReadFile("testdata/api-error-messages.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	limits, n := 0, 0
	for line := range bytes.Lines(b) {
		e, v := asError(bytes.TrimSpace(line))
		if v != isError || e.Text == "" || e.Kind == "" || e.At.IsZero() {
			t.Errorf("%v %+v: %.120s", v, e, line)
		}
		n++
		if e.Limit {
			limits++
		}
		if e.Limit != bytes.Contains(line, []byte(`"apiError":"usage_limit_reached"`)) {
			t.Errorf("%+v", e)
		}
	}
	if n < 10 || limits == 0 || limits == n {
		t.Errorf("%d limits of %d errors", limits, n)
	}
}

func FuzzAsError(f *testing.F) {
	for _, s := range []string{limitLine, typedLine, bookLine, "", "{", `{"type":"assistant","isApiErrorMessage":true,"message":5}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(_ *testing.T, line []byte) { asError(line) })
}
