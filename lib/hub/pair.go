package hub

import (
	"errors"
	"net/http"

	"sessionhub/lib/hub/store"
	"sessionhub/lib/record"
)

// postPair redeems a pairing code: it needs no token, as it gives one.
func (h *Hub) postPair(_ http.ResponseWriter, r *request) (any, error) {
	var b struct {
		Code    string `json:"code"`
		Machine string `json:"machine"`
	}
	if err := r.decode(&b); err != nil {
		return nil, err
	}
	if b.Code == "" {
		return nil, bad(`"code" is missing`)
	}
	if err := record.CheckName("machine", b.Machine); err != nil {
		return nil, bad(err.Error())
	}
	var p store.Paired
	err := h.store.Write(r.Context(), func(tx *store.Tx) (err error) {
		p, err = store.Redeem(tx, b.Code, b.Machine, h.now())
		return err
	})
	switch {
	case errors.Is(err, store.ErrBadCode):
		return nil, &Error{record.Problem{Status: http.StatusForbidden, Detail: err.Error()}}
	case errors.Is(err, store.ErrMachineKnown):
		return nil, &Error{record.Problem{Status: http.StatusConflict,
			Detail: "a machine named " + b.Machine + " is known: choose another name, or let the hub's owner say shhub pair --machine " + b.Machine}}
	case err != nil:
		return nil, err
	}
	return record.Paired{Machine: p.Machine, Token: p.MachineToken, UserToken: p.UserToken}, nil
}

// postProbe records that a record made its way here, and nothing else.
func (h *Hub) postProbe(_ http.ResponseWriter, r *request) (any, error) {
	return h.write(r, "", func(*store.Tx) error { return nil })
}
