package hub

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/legacy"
)

// spec is docs/openapi.yaml, held against every request and answer of a test.
type spec struct {
	doc    *openapi3.T
	router routers.Router
}

func loadSpec(t *testing.T) *spec {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromFile("../../docs/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(context.Background()); err != nil {
		t.Fatal(err)
	}
	doc.Servers = nil // tests serve elsewhere
	router, err := legacy.NewRouter(doc)
	if err != nil {
		t.Fatal(err)
	}
	return &spec{doc, router}
}

// The description has the hub's routes, and no others.
func TestOpenAPIHasTheRoutes(t *testing.T) {
	s := loadSpec(t)
	h := newTestHub(t)
	for path, item := range s.doc.Paths.Map() {
		var methods []string
		for m := range item.Operations() {
			methods = append(methods, m)
		}
		slices.Sort(methods)
		have := slices.Sorted(slices.Values(h.hub.allow[path]))
		if !slices.Equal(methods, have) {
			t.Errorf("%s: described %v, served %v", path, methods, have)
		}
	}
	for path := range h.hub.allow {
		if s.doc.Paths.Find(path) == nil {
			t.Errorf("%s is served and not described", path)
		}
	}
}

// check holds an exchange against the description. A request that the hub took
// must be valid, and every answer must be.
func (s *spec) check(t *testing.T, req *http.Request, body string, res *httptest.ResponseRecorder) {
	t.Helper()
	req.Body = io.NopCloser(strings.NewReader(body))
	route, params, err := s.router.FindRoute(req)
	if err != nil {
		if res.Code/100 == 2 {
			t.Errorf("%s %s is served and not described", req.Method, req.URL)
		}
		return
	}
	in := &openapi3filter.RequestValidationInput{Request: req, PathParams: params, Route: route,
		Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc}}
	ctx := context.Background()
	if res.Code/100 == 2 {
		if err := openapi3filter.ValidateRequest(ctx, in); err != nil {
			t.Errorf("%s %s was taken against the description: %v", req.Method, req.URL, err)
		}
	}
	if strings.HasPrefix(res.Header().Get("Content-Type"), "text/") {
		return
	}
	out := &openapi3filter.ResponseValidationInput{RequestValidationInput: in, Status: res.Code, Header: res.Header(),
		Body: io.NopCloser(bytes.NewReader(res.Body.Bytes()))}
	if err := openapi3filter.ValidateResponse(ctx, out); err != nil {
		t.Errorf("%s %s answered against the description: %v\n%s", req.Method, req.URL, err, res.Body)
	}
}
