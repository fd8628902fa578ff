package hub

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"sessionhub/lib/hub/store"
)

// browse sends a request as a browser does.
func (h *testHub) browse(method, path, body, cookie string, headers ...string) *httptest.ResponseRecorder {
	h.t.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Host = "hub.example:7733"
	if cookie != "" {
		r.AddCookie(&http.Cookie{Name: cookieName, Value: cookie})
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.hub.ServeHTTP(w, r)
	return w
}

func TestThePageIsStaticAndShut(t *testing.T) {
	h := newTestHub(t)
	for path, want := range map[string]string{"/": "text/html; charset=utf-8", "/app.js": "text/javascript; charset=utf-8", "/app.css": "text/css; charset=utf-8", "/icon.svg": "image/svg+xml"} {
		w := h.browse("GET", path, "", "")
		head := w.Header()
		if w.Code != http.StatusOK || head.Get("Content-Type") != want || !strings.Contains(head.Get("Content-Security-Policy"), "script-src 'self'") ||
			strings.Contains(head.Get("Content-Security-Policy"), "unsafe") || head.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %d %v", path, w.Code, head)
		}
		if w = h.browse("GET", path, "", "", "If-None-Match", head.Get("ETag")); w.Code != http.StatusNotModified || w.Body.Len() > 0 {
			t.Errorf("%s again: %d", path, w.Code)
		}
	}
	if w := h.browse("GET", "/index.html", "", ""); w.Code != http.StatusNotFound {
		t.Errorf("/index.html: %d", w.Code)
	}
}

func TestLogIn(t *testing.T) {
	h := newTestHub(t)
	user := h.token(store.Token{Kind: store.KindUser, Name: "ann", Scopes: []string{"read", "ask"}})
	machine := h.token(store.Token{Kind: store.KindMachine, Name: "tower"})
	answerOnly := h.token(store.Token{Kind: store.KindUser, Name: "bob", Scopes: []string{"answer"}})
	for token, want := range map[string]int{user: 200, machine: 403, answerOnly: 403, "shu_nonsense": 401, "": 401} {
		w := h.browse("POST", "/login", `{"token":"`+token+`"}`, "")
		if w.Code != want || (len(w.Result().Cookies()) > 0) != (want == 200) {
			t.Errorf("%.4s: %d, want %d: %s", token, w.Code, want, w.Body)
		}
	}
	w := h.browse("POST", "/login", `{"token":"`+user+`"}`, "", "X-Forwarded-Proto", "https")
	c := w.Result().Cookies()[0]
	if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || !c.Secure || c.Path != "/" || c.MaxAge <= 0 || strings.Contains(w.Body.String(), user) {
		t.Errorf("the cookie is %+v, the answer %s", c, w.Body)
	}
	if w = h.browse("GET", "/v1/self", "", user); w.Code != 200 || strings.TrimSpace(w.Body.String()) != `{"name":"ann","scopes":["read","ask"]}` {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w = h.browse("POST", "/logout", "", user); w.Code != http.StatusNoContent || w.Result().Cookies()[0].MaxAge >= 0 {
		t.Errorf("%d %v", w.Code, w.Result().Cookies())
	}
}

// A cookie is sent by itself, so what another site's page sends in a person's
// name is refused; and a cookie is no more than its token.
func TestTheCookieIsForTheHubsOwnPage(t *testing.T) {
	h := newTestHub(t)
	user := h.token(store.Token{Kind: store.KindUser, Name: "ann", Scopes: []string{"read", "ask"}})
	const read = "/v1/inbox/blocked.1.s1/read"
	for _, c := range []struct {
		headers []string
		want    int
	}{
		{[]string{"Sec-Fetch-Site", "same-origin", "Origin", "http://hub.example:7733"}, 400}, // the id is none; it was let in
		{[]string{"Sec-Fetch-Site", "cross-site"}, 403},
		{[]string{"Sec-Fetch-Site", "same-site"}, 403},
		{[]string{"Origin", "https://evil.example"}, 403},
		{[]string{"Origin", "null"}, 403},
	} {
		if w := h.browse("POST", read, "{}", user, c.headers...); w.Code != c.want {
			t.Errorf("%v: %d, want %d: %s", c.headers, w.Code, c.want, w.Body)
		}
	}
	if w := h.browse("POST", "/login", `{"token":"`+user+`"}`, "", "Origin", "https://evil.example"); w.Code != 403 {
		t.Errorf("another site logs somebody in: %d", w.Code)
	}
	if w := h.browse("PUT", "/v1/machines/self/herdr-sessions", "{}", user); w.Code != 403 {
		t.Errorf("a person's cookie acts as a machine: %d", w.Code)
	}
	if w := h.browse("GET", "/v1/sessions", "", "shu_nonsense"); w.Code != 401 {
		t.Errorf("a cookie that is none: %d", w.Code)
	}
	// A header counts before a cookie.
	if w := h.browse("GET", "/v1/sessions", "", user, "Authorization", "Bearer shu_nonsense"); w.Code != 401 {
		t.Errorf("a bad header beside a good cookie: %d", w.Code)
	}
}
