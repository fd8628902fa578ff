package main

import (
	"context"
	"io"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"sessionhub/lib/hub/store"
)

// A stream of changes does not hold up the end, and its client sees a whole
// answer, not a cut connection. Its token was made beside the running hub.
func TestServeEndsStreamsAtOnce(t *testing.T) {
	db := filepath.Join(t.TempDir(), "hub.db")
	addr, end := served(t, "--db", db)
	beside, err := store.Open(context.Background(), db)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := beside.AddToken(context.Background(), store.Token{Kind: store.KindUser, Name: "me", Scopes: []string{"read"}}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if err := beside.Close(); err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequest(http.MethodGet, "http://"+addr+"/v1/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+secret)
	res, err := http.DefaultClient.Do(req)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("stream: %v, %v", res, err)
	}
	defer res.Body.Close()
	began := time.Now()
	if code := end(); code != 0 {
		t.Errorf("exit %d", code)
	}
	if took := time.Since(began); took > drainWait/2 {
		t.Errorf("it took %s to end", took)
	}
	if _, err := io.ReadAll(res.Body); err != nil {
		t.Errorf("the stream was cut: %v", err)
	}
}

func TestServeListensToOthersOnlyWhenAsked(t *testing.T) {
	for listen, want := range map[string]bool{
		"127.0.0.1:1": true, "[::1]:1": true, "localhost:1": true, "127.3.2.1:1": true,
		":1": false, "0.0.0.0:1": false, "[::]:1": false, "192.0.2.1:1": false, "hub.example.org:1": false,
	} {
		if err := (serveOptions{listen: listen}).check(); (err == nil) != want {
			t.Errorf("%s: %v", listen, err)
		}
		for name, o := range map[string]serveOptions{"tls": {listen: listen, cert: "c", key: "k"}, "insecure": {listen: listen, insecure: true}} {
			if err := o.check(); err != nil {
				t.Errorf("%s with %s: %v", listen, name, err)
			}
		}
	}
}
