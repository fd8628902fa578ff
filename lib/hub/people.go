package hub

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"

	"sessionhub/lib/hub/store"
	"sessionhub/lib/record"
	"sessionhub/lib/text"
)

func (h *Hub) healthz(http.ResponseWriter, *request) (any, error) {
	return record.Health{Status: record.HealthOK, Version: h.Version}, nil
}

// getSessions lists sessions; a machine sees its own.
func (h *Hub) getSessions(_ http.ResponseWriter, r *request) (any, error) {
	q := r.URL.Query()
	f := store.Filter{Machine: q.Get("machine"), All: q.Get("all") == "1" || q.Get("all") == "true"}
	if r.token.Kind == store.KindMachine {
		f.Machine = r.token.Name
	}
	return h.store.Sessions(r.Context(), f, h.now())
}

func (h *Hub) getSession(_ http.ResponseWriter, r *request) (any, error) {
	s, err := h.store.Session(r.Context(), r.PathValue("id"), h.now())
	if err == nil && r.token.Kind == store.KindMachine && s.Machine != r.token.Name {
		return nil, store.ErrUnknown
	}
	return s, err
}

func (h *Hub) getMachines(_ http.ResponseWriter, r *request) (any, error) {
	return h.store.Machines(r.Context(), h.now())
}

// getInbox lists the inbox for a user. For a machine it counts it, or with
// entries=1 lists what is about that machine.
func (h *Hub) getInbox(_ http.ResponseWriter, r *request) (any, error) {
	if err := h.endOverdueMoves(r.Context()); err != nil {
		return nil, err
	}
	list, err := h.store.Inbox(r.Context(), h.now())
	if err != nil || r.token.Kind != store.KindMachine {
		return list, err
	}
	if q := r.URL.Query().Get("entries"); q == "1" || q == "true" {
		return slices.DeleteFunc(list, func(e record.InboxEntry) bool { return e.Machine != r.token.Name }), nil
	}
	n := record.InboxCounts{Total: len(list)}
	for _, e := range list {
		if e.Kind == record.InboxBlocked {
			n.Blocked++
		}
	}
	return n, nil
}

func (h *Hub) postRead(_ http.ResponseWriter, r *request) (any, error) {
	return h.write(r, "", func(tx *store.Tx) error { return store.MarkRead(tx, r.PathValue("id"), h.now()) })
}

func (h *Hub) putRetired(_ http.ResponseWriter, r *request) (any, error) {
	var b struct {
		Retired *bool `json:"retired"`
	}
	if err := r.decode(&b); err != nil {
		return nil, err
	}
	if b.Retired == nil {
		return nil, bad(`"retired" is missing`)
	}
	return h.write(r, "", func(tx *store.Tx) error { return store.Retire(tx, r.PathValue("id"), *b.Retired) })
}

// getInstructions gives the standing rules, or 304 to who has them.
func (h *Hub) getInstructions(w http.ResponseWriter, r *request) (any, error) {
	in, err := h.store.Instructions(r.Context())
	if err != nil {
		return nil, err
	}
	etag := `"` + in.Version + `"`
	w.Header().Set("ETag", etag)
	if in.Version != "" && knows(r.Header.Values("If-None-Match"), in.Version) {
		w.WriteHeader(http.StatusNotModified)
		return nil, nil
	}
	in.FetchedAt = record.At(h.now())
	return in, nil
}

// knows reports whether an If-None-Match names the version (RFC 9110, 13.1.2).
// A bare version counts, too.
func knows(lines []string, version string) bool {
	for _, tag := range strings.Split(strings.Join(lines, ","), ",") {
		tag = strings.TrimPrefix(strings.TrimSpace(tag), "W/")
		if tag == "*" || strings.Trim(tag, `"`) == version {
			return true
		}
	}
	return false
}

func (h *Hub) putInstructions(_ http.ResponseWriter, r *request) (any, error) {
	var b struct {
		Text *string `json:"text"`
	}
	if err := r.decode(&b); err != nil {
		return nil, err
	}
	if b.Text == nil {
		return nil, bad(`"text" is missing`)
	}
	if len(*b.Text) > MaxInstructions {
		return nil, &Error{record.Problem{Status: http.StatusRequestEntityTooLarge, Detail: "the rules are too long", Limit: MaxInstructions}}
	}
	in := record.Instructions{Text: text.Block(*b.Text), FetchedAt: record.At(h.now())}
	sum := sha256.Sum256([]byte(in.Text))
	in.Version = hex.EncodeToString(sum[:8])
	if _, err := h.write(r, "", func(tx *store.Tx) error { return store.SetInstructions(tx, in) }); err != nil {
		return nil, err
	}
	return in, nil
}

// Limits of a digest's texts in characters (contract §3).
const (
	digestText  = 200
	digestRecap = 600
)

func cleanDigest(d *record.Digest) {
	for _, s := range []*string{&d.Title, &d.FirstPrompt, &d.LastPrompt, &d.LastReply, &d.Model, &d.GitBranch} {
		*s = text.Cut(text.Line(*s), digestText)
	}
	d.Recap = text.Cut(text.Line(d.Recap), digestRecap)
}
