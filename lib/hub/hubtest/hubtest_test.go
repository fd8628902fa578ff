package hubtest_test

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"sessionhub/lib/hub/hubtest"
)

const at = `"at":"2026-11-30T20:00:00.000Z"`

func put(t *testing.T, h *hubtest.Hub, path, body string) (int, error) {
	t.Helper()
	method := http.MethodPut
	if strings.HasSuffix(path, "/events") || strings.HasSuffix(path, "/reports") {
		method = http.MethodPost
	}
	req, err := http.NewRequest(method, h.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+h.MachineToken)
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(req)
	if err != nil {
		return 0, err
	}
	io.Copy(io.Discard, res.Body)
	return res.StatusCode, res.Body.Close()
}

func TestFaults(t *testing.T) {
	h := hubtest.Start(t)
	event := func(id string) string {
		return `{"id":"` + id + `",` + at + `,"kind":"state","body":{"agent_state":"idle"}}`
	}
	if code, err := put(t, h, "/v1/sessions/a", `{}`); code != http.StatusOK {
		t.Fatal(code, err)
	}
	for fault, want := range map[hubtest.Fault]int{hubtest.Unavailable: 503, hubtest.Broken: 500, hubtest.Unauthorized: 401} {
		h.SetFault(fault)
		if code, err := put(t, h, "/v1/sessions/a/events", event("e1")); code != want || err != nil {
			t.Errorf("fault %d: %d, %v", fault, code, err)
		}
	}
	h.SetFault(hubtest.Hang)
	hung := make(chan error, 1)
	go func() { _, err := put(t, h, "/v1/sessions/a/events", event("e1")); hung <- err }()
	h.SetFault(hubtest.DropAnswer)
	if err := <-hung; err == nil {
		t.Error("a hung request was answered")
	}
	if _, err := put(t, h, "/v1/sessions/a/events", event("e2")); err == nil {
		t.Error("an answer arrived that was to be lost")
	}
	h.SetFault(hubtest.None)
	if !slices.Contains(h.EventIDs(), "e2") {
		t.Errorf("a request whose answer was lost was not carried out: %v", h.EventIDs())
	}
	if h.Served() != 1 {
		t.Errorf("%d requests were served without a fault, want 1", h.Served())
	}
}

// The same file, address and tokens; every key is still known.
func TestRestartKeepsAll(t *testing.T) {
	h := hubtest.Start(t)
	url := h.URL
	for _, path := range []string{"/v1/sessions/a", "/v1/sessions/a/reports", "/v1/sessions/a/reports"} {
		if code, err := put(t, h, path, `{"id":"r1","done":"it"}`); code != http.StatusOK {
			t.Fatal(code, err)
		}
		h.Restart()
	}
	h.Down()
	if _, err := put(t, h, "/v1/sessions/a", `{}`); err == nil {
		t.Error("a hub that is down answered")
	}
	if got := h.Counts([]string{"r1", "r2"}); got["r1"] != 1 || got["r2"] != 0 {
		t.Errorf("counts %v", got)
	}
	h.Up()
	if h.URL != url {
		t.Errorf("the address changed to %s", h.URL)
	}
	if code, err := put(t, h, "/v1/sessions/a/reports", `{"id":"r1","done":"something else"}`); code != http.StatusUnprocessableEntity {
		t.Errorf("the key of before the restart: %d, %v", code, err)
	}
}
