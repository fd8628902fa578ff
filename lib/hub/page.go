package hub

import (
	"errors"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"sessionhub/lib/hub/store"
	"sessionhub/lib/hub/web"
	"sessionhub/lib/record"
)

const (
	// cookieName is the cookie that holds a person's token.
	cookieName = "sessionhub"
	// cookieAge is how long a browser keeps it. A token that was revoked counts
	// no more, whatever the browser keeps.
	cookieAge = 90 * 24 * time.Hour
)

// getPage serves the page for people. It holds no secret: it asks the API.
func (h *Hub) getPage(w http.ResponseWriter, r *request) (any, error) {
	name := path.Base(r.URL.Path)
	if r.URL.Path == "/" {
		name = ""
	}
	return nil, web.Serve(w, r.Request, name)
}

// postLogin puts a user's token into a cookie that no script can read and that
// no other site's page can send.
func (h *Hub) postLogin(w http.ResponseWriter, r *request) (any, error) {
	if err := sameSite(r); err != nil {
		return nil, err
	}
	var b struct {
		Token string `json:"token"`
	}
	if err := r.decode(&b); err != nil {
		return nil, err
	}
	t, err := h.store.FindToken(r.Context(), b.Token)
	if b.Token == "" || errors.Is(err, store.ErrUnknown) {
		return nil, &Error{record.Problem{Status: http.StatusUnauthorized, Detail: "the token is not valid: it is unknown or was revoked; shhub token add makes a new one"}}
	}
	if err != nil {
		return nil, err
	}
	if err := permit(t, read); err != nil {
		return nil, err
	}
	http.SetCookie(w, h.cookie(r, b.Token, int(cookieAge.Seconds())))
	return self(t), nil
}

func (h *Hub) postLogout(w http.ResponseWriter, r *request) (any, error) {
	if err := sameSite(r); err != nil {
		return nil, err
	}
	http.SetCookie(w, h.cookie(r, "", -1))
	w.WriteHeader(http.StatusNoContent)
	return nil, nil
}

func (h *Hub) cookie(r *request, value string, age int) *http.Cookie {
	return &http.Cookie{
		Name: cookieName, Value: value, Path: "/", MaxAge: age, HttpOnly: true, SameSite: http.SameSiteStrictMode,
		Secure: r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https",
	}
}

// getSelf tells a person's client who it is and what it may do.
func (h *Hub) getSelf(_ http.ResponseWriter, r *request) (any, error) { return self(r.token), nil }

func self(t store.Token) record.Self { return record.Self{Name: t.Name, Scopes: t.Scopes} }

// cookieSecret is the token of a request's cookie, "" for none. A cookie is sent
// without anybody asking for it, so what changes something must come from the
// hub's own page.
func cookieSecret(r *request) (string, error) {
	c, err := r.Cookie(cookieName)
	if err != nil {
		return "", nil
	}
	return c.Value, sameSite(r)
}

// sameSite refuses what another site's page sends in a person's name. Browsers
// say whose page it was in Sec-Fetch-Site, older ones in Origin.
func sameSite(r *request) error {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return nil
	}
	site, origin := r.Header.Get("Sec-Fetch-Site"), r.Header.Get("Origin")
	u, err := url.Parse(origin)
	switch {
	case site != "" && site != "same-origin" && site != "none",
		origin != "" && (err != nil || !strings.EqualFold(u.Host, r.Host)):
		return &Error{record.Problem{Status: http.StatusForbidden, Detail: "this came from another site's page"}}
	}
	return nil
}
