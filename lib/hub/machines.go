package hub

import (
	"encoding/json"
	"net/http"

	"sessionhub/lib/hub/store"
	"sessionhub/lib/record"
)

func (h *Hub) putSnapshot(_ http.ResponseWriter, r *request) (any, error) {
	var s record.Snapshot
	if err := r.decode(&s); err != nil {
		return nil, err
	}
	if err := s.Validate(); err != nil {
		return nil, bad(err.Error())
	}
	if s.Machine != "" && s.Machine != r.token.Name {
		return nil, bad(`"machine" is not the machine of the token, ` + r.token.Name)
	}
	return h.write(r, func(tx *store.Tx) error { return store.Heartbeat(tx, r.token.Name, &s, h.now()) })
}

func (h *Hub) putSession(_ http.ResponseWriter, r *request) (any, error) {
	var u record.UpsertPut
	if err := r.decode(&u); err != nil {
		return nil, err
	}
	if u.Herdr != nil && u.Herdr.PaneID != "" {
		if err := record.CheckName("herdr.pane_id", u.Herdr.PaneID); err != nil {
			return nil, bad(err.Error())
		}
	}
	return h.write(r, func(tx *store.Tx) error { return store.Upsert(tx, r.token.Name, r.PathValue("id"), u, h.now()) })
}

func (h *Hub) postEvent(_ http.ResponseWriter, r *request) (any, error) {
	var e record.EventPost
	if err := r.decode(&e); err != nil {
		return nil, err
	}
	if err := r.identify(&e.ID); err != nil {
		return nil, err
	}
	if e.At.IsZero() {
		return nil, bad(`"at" is missing`)
	}
	return h.write(r, func(tx *store.Tx) error { return store.Event(tx, r.token.Name, r.PathValue("id"), &e, h.now()) })
}

func (h *Hub) postReport(_ http.ResponseWriter, r *request) (any, error) {
	var p record.SavedReport
	if err := r.decode(&p); err != nil {
		return nil, err
	}
	if err := r.identify(&p.ID); err != nil {
		return nil, err
	}
	if err := p.Validate(); err != nil {
		return nil, bad(err.Error())
	}
	return h.write(r, func(tx *store.Tx) error { return store.Report(tx, r.PathValue("id"), p, h.now()) })
}

// identify settles the id of a record: that of the body, else the key.
func (r *request) identify(id *string) error {
	if *id == "" {
		*id = r.Header.Get("Idempotency-Key")
	}
	if err := record.CheckID("id", *id); err != nil {
		return bad(err.Error())
	}
	return nil
}

func (h *Hub) putTitle(_ http.ResponseWriter, r *request) (any, error) {
	var t record.Title
	if err := r.decode(&t); err != nil {
		return nil, err
	}
	if err := t.Validate(); err != nil {
		return nil, bad(err.Error())
	}
	return h.write(r, func(tx *store.Tx) error { return store.Title(tx, r.PathValue("id"), t) })
}

func (h *Hub) putDigest(_ http.ResponseWriter, r *request) (any, error) {
	var d record.Digest
	if err := r.decode(&d); err != nil {
		return nil, err
	}
	cleanDigest(&d)
	raw, err := json.Marshal(d)
	if err != nil {
		return nil, err
	}
	return h.write(r, func(tx *store.Tx) error { return store.Digest(tx, r.PathValue("id"), string(raw)) })
}
