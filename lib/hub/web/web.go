// Package web is the hub's page for people: what waits for them, whole, with
// the means to answer, made for a phone first. It is static: it speaks to the
// hub's API as every client does, with a cookie in place of a header.
package web

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"mime"
	"net/http"
	"path"
)

//go:embed index.html app.js app.css icon.svg
var files embed.FS

// policy lets the page load and speak to nothing but the hub, run no inline
// script, and be framed by nobody.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// Names are the files that there are besides the page itself.
func Names() []string { return []string{"app.js", "app.css", "icon.svg"} }

// Serve writes a file of the page, index.html for "".
func Serve(w http.ResponseWriter, r *http.Request, name string) error {
	if name == "" {
		name = "index.html"
	}
	b, err := files.ReadFile(name)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(b)
	etag := `"` + hex.EncodeToString(sum[:8]) + `"`
	head := w.Header()
	head.Set("Content-Security-Policy", policy)
	head.Set("X-Content-Type-Options", "nosniff")
	head.Set("Referrer-Policy", "no-referrer")
	head.Set("Cache-Control", "no-cache") // asked anew, and answered by the ETag
	head.Set("ETag", etag)
	if r.Header.Get("If-None-Match") == etag {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	head.Set("Content-Type", mime.TypeByExtension(path.Ext(name)))
	if r.Method == http.MethodHead {
		return nil
	}
	_, _ = w.Write(b) // who left is no fault
	return nil
}
