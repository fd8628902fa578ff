package hubclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"sessionhub/lib/config"
	"sessionhub/lib/record"
)

func TestNewRefusesWhatWouldShowTheToken(t *testing.T) {
	for _, c := range []struct {
		url   string
		allow bool
		ok    bool
	}{
		{"http://127.0.0.1:7733", false, true},
		{"http://[::1]:7733", false, true},
		{"http://localhost:7733", false, true},
		{"https://hub.example.org", false, true},
		{"http://hub.example.org", false, false},
		{"http://hub.example.org", true, true},
		{"http://127.0.0.1.example.org", false, false},
		{"https://user:secret@hub.example.org", false, false},
		{"ftp://hub", false, false},
		{"hub:7733", false, false},
		{"", false, false},
	} {
		_, err := New(config.Config{ServerURL: c.url, AllowHTTP: c.allow}, "shm_x")
		if (err == nil) != c.ok || err != nil && !errors.Is(err, config.ErrInvalid) {
			t.Errorf("%q, allowed %v: %v", c.url, c.allow, err)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("the error shows a password: %v", err)
		}
	}
}

func TestClassify(t *testing.T) {
	for _, c := range []struct {
		status int
		typ    string
		want   Class
		exit   int
	}{
		{200, "", Delivered, 0}, {408, "", Retry, 69}, {429, "", Retry, 69}, {500, "", Retry, 69}, {503, "", Retry, 69},
		{401, "", Denied, 77}, {403, "", Denied, 77}, {404, "", Missing, 65}, {400, "", Refused, 65}, {409, "", Refused, 65},
		{413, "", Refused, 65}, {422, "", Refused, 65}, {422, record.ProblemKeyReused, Delivered, 65},
	} {
		t.Run(fmt.Sprint(c.status, c.typ), func(t *testing.T) {
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Authorization") != "Bearer shm_x" || r.Header.Get("Idempotency-Key") != "k" {
					t.Errorf("headers %v", r.Header)
				}
				w.Header().Set("Content-Type", record.ProblemType)
				if c.status == 200 {
					w.Header().Set("Content-Type", "application/json")
				}
				w.WriteHeader(c.status)
				fmt.Fprintf(w, `{"type":%q,"title":"T","status":%d,"detail":"why\u001b[31m"}`, c.typ, c.status)
			}))
			defer srv.Close()
			hub, err := New(config.Config{ServerURL: srv.URL}, "shm_x")
			if err != nil {
				t.Fatal(err)
			}
			err = hub.PutTitle(context.Background(), "k", "a", record.Title{Title: "x"})
			if got := Classify(err); got != c.want {
				t.Errorf("class %d, want %d: %v", got, c.want, err)
			}
			var e *Error
			if errors.As(err, &e) && (e.ExitCode() != c.exit || e.Error() != "title: why") {
				t.Errorf("exit %d, %q", e.ExitCode(), e)
			}
		})
	}
}

func TestNoAnswerIsOneLine(t *testing.T) {
	srv := httptest.NewServer(http.NotFoundHandler())
	url := srv.URL
	srv.Close()
	hub, err := New(config.Config{ServerURL: url}, "shm_x")
	if err != nil {
		t.Fatal(err)
	}
	_, err = hub.Sessions(context.Background(), SessionFilter{})
	if Classify(err) != Retry || strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), "shm_x") {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := hub.Sessions(ctx, SessionFilter{}); Classify(err) != Retry {
		t.Errorf("cancelled: %v", err)
	}
}

// A certificate that nobody trusts here is told as that, not as a hub that is down.
func TestAnUntrustedCertificate(t *testing.T) {
	srv := httptest.NewTLSServer(http.NotFoundHandler())
	defer srv.Close()
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	hub, err := New(config.Config{ServerURL: srv.URL}, "shm_x")
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = hub.Health(t.Context())
	if !Untrusted(err) || !strings.Contains(err.Error(), "must trust who signed its certificate") || strings.Contains(err.Error(), "shhub serve") {
		t.Errorf("got %v", err)
	}
}

// What answers in a hub's place, such as a network's sign-in page or a proxy,
// takes no record and no token: a "200 OK" of it is no receipt, and its 404 no
// refusal.
func TestAStrangerTakesNothing(t *testing.T) {
	var leaked string
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { leaked = r.Header.Get("Authorization") }))
	defer other.Close()
	for name, h := range map[string]http.HandlerFunc{
		"redirect": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other.URL, http.StatusFound) },
		"page":     func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>sign in</html>") },
		"404":      http.NotFound,
		"400":      func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "bad", http.StatusBadRequest) },
		"empty":    func(http.ResponseWriter, *http.Request) {},
	} {
		t.Run(name, func(t *testing.T) {
			srv := httptest.NewServer(h)
			defer srv.Close()
			hub, err := New(config.Config{ServerURL: srv.URL}, "shm_x")
			if err != nil {
				t.Fatal(err)
			}
			err = hub.PutTitle(context.Background(), "k", "a", record.Title{Title: "x"})
			if Classify(err) != Retry || !strings.Contains(err.Error(), "is no hub") {
				t.Errorf("class %d: %v", Classify(err), err)
			}
		})
	}
	if leaked != "" {
		t.Errorf("the token went elsewhere: %q", leaked)
	}
}

func TestHealth(t *testing.T) {
	now := time.Now()
	for name, c := range map[string]struct {
		body string
		date string
		skew time.Duration
		ok   bool
	}{
		"a hub":           {`{"status":"ok","version":"1.2.3"}`, now.UTC().Format(http.TimeFormat), 0, true},
		"behind":          {`{"status":"ok","version":"1.2.3"}`, now.Add(time.Hour).UTC().Format(http.TimeFormat), -time.Hour, true},
		"without a time":  {`{"status":"ok","version":"1.2.3"}`, "yesterday", 0, true},
		"something else":  {`{"up":true}`, "", 0, false},
		"no JSON at all":  {`ok`, "", 0, false},
		"another service": {`{"status":"degraded"}`, "", 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				w.Header().Set("Date", c.date)
				fmt.Fprint(w, c.body)
			}))
			defer srv.Close()
			client, err := New(config.Config{ServerURL: srv.URL}, "")
			if err != nil {
				t.Fatal(err)
			}
			h, skew, err := client.Health(t.Context())
			if (err == nil) != c.ok {
				t.Fatalf("%+v, %v", h, err)
			}
			if c.ok && h.Version != "1.2.3" {
				t.Errorf("version %q", h.Version)
			}
			if off := skew.By - c.skew; skew.Known != (c.ok && c.date != "yesterday") || off.Abs() > 2*time.Second {
				t.Errorf("skew %+v, want %s", skew, c.skew)
			}
		})
	}
}
