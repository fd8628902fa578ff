package hub

import (
	"net/http"

	"sessionhub/lib/hub/store"
	"sessionhub/lib/record"
	"sessionhub/lib/text"
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
	way := store.Direct
	if r.Header.Get(keyHeader) != "" {
		way = store.Queued // only records of a queue have keys
	}
	return h.write(r, "", func(tx *store.Tx) error { return store.TakeSnapshot(tx, r.token.Name, &s, way, h.now()) })
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
	return h.write(r, "", func(tx *store.Tx) error { return store.Upsert(tx, r.token.Name, r.PathValue("id"), u, h.now()) })
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
	if err := checkSource(e.Source); err != nil {
		return nil, err
	}
	return h.write(r, e.ID, func(tx *store.Tx) error { return store.Event(tx, r.token.Name, r.PathValue("id"), &e, h.now()) })
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
	return h.write(r, p.ID, func(tx *store.Tx) error {
		return store.Report(tx, r.token.Name, r.PathValue("id"), p, h.now())
	})
}

// identify settles the id of a record: that of the body, and the key, which is
// the same when both are given.
func (r *request) identify(id *string) error {
	key := r.Header.Get(keyHeader)
	if *id == "" {
		*id = key
	}
	if err := record.CheckID("id", *id); err != nil {
		return bad(err.Error())
	}
	if key != "" && key != *id {
		return bad(`"id" is not the ` + keyHeader)
	}
	return nil
}

func checkSource(s record.Source) error {
	switch s {
	case "", record.SourcePlugin, record.SourceHook, record.SourceMCP, record.SourceCLI, record.SourceWatch:
		return nil
	}
	return bad(`"source" is none of plugin, hook, mcp, cli, watch`)
}

func (h *Hub) putTitle(_ http.ResponseWriter, r *request) (any, error) {
	var t record.Title
	if err := r.decode(&t); err != nil {
		return nil, err
	}
	t.Title = text.Line(t.Title)
	if err := t.Validate(); err != nil {
		return nil, bad(err.Error())
	}
	return h.write(r, "", func(tx *store.Tx) error { return store.Title(tx, r.token.Name, r.PathValue("id"), t, h.now()) })
}

func (h *Hub) putDigest(_ http.ResponseWriter, r *request) (any, error) {
	var d record.Digest
	if err := r.decode(&d); err != nil {
		return nil, err
	}
	if d.Session != "" && d.Session != r.PathValue("id") {
		return nil, bad(`"session" is not the session of the path`)
	}
	cleanDigest(&d)
	return h.write(r, "", func(tx *store.Tx) error { return store.Digest(tx, r.token.Name, r.PathValue("id"), d, h.now()) })
}
