package hub

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"sessionhub/lib/hub/store"
	"sessionhub/lib/record"
)

const (
	// MaxBundle bounds a bundle in bytes, unless Hub.MaxBundle does (contract §6).
	MaxBundle = 512 << 20
	// bundleSilence is how long an upload may bring nothing before it is cut.
	bundleSilence = 30 * time.Second
	// bundleSend bounds a download: a move's step takes no longer.
	bundleSend = 10 * time.Minute
	// bundleCopy is how much of an upload is read at once.
	bundleCopy = 256 << 10
)

// putBundle takes a move's bundle from its source. It counts once it is there
// whole and its hash is the one that the source named before.
func (h *Hub) putBundle(w http.ResponseWriter, r *request) (any, error) {
	want, err := h.announced(r)
	if err != nil {
		return nil, err
	}
	if err := h.endOverdueMoves(r.Context()); err != nil {
		return nil, err
	}
	id := r.PathValue("id")
	m, known, err := h.store.CheckUpload(r.Context(), r.token.Name, id, want, h.now())
	if err != nil || known {
		return m, noMove(err)
	}
	part, err := h.store.NewPart(id)
	if err != nil {
		return nil, err
	}
	defer part.Drop()
	now, end := h.transfers.begin(id, want.Size)
	defer end()
	if err := receive(w, r, part, now); err != nil {
		return nil, err
	}
	if got := part.Bundle(); got != want {
		return nil, unprocessable(fmt.Sprintf("the bundle is not the one that was announced: %d bytes with SHA-256 %s arrived", got.Size, got.SHA256))
	}
	m, err = part.Keep(r.Context(), r.token.Name, id, h.now)
	return m, noMove(err)
}

// announced is the size and hash that an upload says it has.
func (h *Hub) announced(r *request) (record.Bundle, error) {
	b := record.Bundle{Size: r.ContentLength, SHA256: r.Header.Get(record.BundleHeader)}
	if b.Size < 0 {
		return b, &Error{record.Problem{Status: http.StatusLengthRequired, Detail: "a Content-Length is wanted"}}
	}
	limit := h.MaxBundle
	if limit <= 0 {
		limit = MaxBundle
	}
	if b.Size > limit {
		return b, &Error{record.Problem{Status: http.StatusRequestEntityTooLarge, Detail: fmt.Sprintf("the bundle has %d bytes, over the limit of %d", b.Size, limit), Limit: limit}}
	}
	if err := b.Validate(); err != nil {
		return b, bad(record.BundleHeader + " and Content-Length: " + err.Error())
	}
	return b, nil
}

// receive copies an upload, as long as it goes on.
func receive(w http.ResponseWriter, r *request, part *store.Part, now *transfer) error {
	c := http.NewResponseController(w)
	defer c.SetReadDeadline(time.Time{}) // the connection may serve on
	body := io.LimitReader(r.Body, now.size)
	buf := make([]byte, bundleCopy)
	for {
		c.SetReadDeadline(time.Now().Add(bundleSilence)) // not of recorders in tests
		n, err := body.Read(buf)
		if _, werr := part.Write(buf[:n]); werr != nil {
			return fmt.Errorf("bundle: %w", werr)
		}
		now.done.Add(int64(n))
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, os.ErrDeadlineExceeded):
			return &Error{record.Problem{Status: http.StatusRequestTimeout, Detail: fmt.Sprintf("the bundle stopped after %d bytes", part.Bundle().Size)}}
		case err != nil:
			return bad("the bundle did not arrive whole")
		}
	}
}

// getBundle gives a move's bundle to its target, from any byte on.
func (h *Hub) getBundle(w http.ResponseWriter, r *request) (any, error) {
	if err := h.endOverdueMoves(r.Context()); err != nil {
		return nil, err
	}
	id := r.PathValue("id")
	f, b, err := h.store.OpenBundle(r.Context(), r.token.Name, id)
	if err != nil {
		return nil, noMove(err)
	}
	defer f.Close()
	c := http.NewResponseController(w)
	c.SetWriteDeadline(time.Now().Add(bundleSend)) // not of recorders in tests
	defer c.SetWriteDeadline(time.Time{})
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set(record.BundleHeader, b.SHA256)
	w.Header().Set("ETag", `"`+b.SHA256+`"`)
	now, end := h.transfers.begin(id, b.Size)
	defer end()
	http.ServeContent(w, r.Request, "", time.Time{}, sending{f, now})
	return nil, nil
}
