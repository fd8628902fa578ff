package hub_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"sessionhub/lib/config"
	"sessionhub/lib/hub"
	"sessionhub/lib/hubclient"
	"sessionhub/lib/record"
)

// parts are the files of uploads under way.
func (d *movers) parts() []string {
	d.t.Helper()
	list, err := filepath.Glob(d.hub.Path + ".bundles/*.part")
	d.must(err)
	return list
}

// put uploads without a client's help.
func (d *movers) put(id, sum string, length int64, body io.Reader) (*http.Response, error) {
	req, err := http.NewRequest(http.MethodPut, d.hub.URL+"/v1/moves/"+id+"/bundle", body)
	d.must(err)
	req.Header.Set("Authorization", "Bearer "+d.hub.MachineToken)
	if sum != "" {
		req.Header.Set(record.BundleHeader, sum)
	}
	req.ContentLength = length
	res, err := http.DefaultClient.Do(req)
	if err == nil {
		res.Body.Close()
	}
	return res, err
}

// An upload that is not whole, or not what it says, is no bundle: the move goes
// on packing, and nothing of it stays.
func TestUploadsThatAreNone(t *testing.T) {
	d := newMovers(t)
	id := d.upTo(record.MovePacking)
	good := bundleOf(content)
	for _, c := range []struct {
		name, sum string
		length    int64
		status    int
	}{
		{"no hash", "", good.Size, 400},
		{"a hash that is none", "abc", good.Size, 400},
		{"upper case", strings.ToUpper(good.SHA256), good.Size, 400},
		{"another content", bundleOf([]byte("other")).SHA256, good.Size, 422},
		{"no length", good.SHA256, -1, 411},
		{"nothing", bundleOf(nil).SHA256, 0, 400},
	} {
		var body io.Reader = bytes.NewReader(content)
		if c.length == 0 {
			body = http.NoBody
		}
		if res, err := d.put(id, c.sum, c.length, body); err != nil || res.StatusCode != c.status {
			t.Errorf("%s: %+v, %v; want %d", c.name, res, err, c.status)
		}
		if d.is(id, record.MovePacking, ""); len(d.parts()) != 0 {
			t.Errorf("%s: left %v", c.name, d.parts())
		}
	}
	d.cut(id, good)
	d.nothing(d.laptop)
	d.must(d.upload(id, content)) // and then it works
	d.is(id, record.MoveUploaded, "")
}

// cut uploads half of a bundle, and the connection ends.
func (d *movers) cut(id string, b record.Bundle) {
	d.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(d.hub.URL, "http://"))
	d.must(err)
	fmt.Fprintf(conn, "PUT /v1/moves/%s/bundle HTTP/1.1\r\nHost: hub\r\nAuthorization: Bearer %s\r\n%s: %s\r\nContent-Length: %d\r\n\r\n",
		id, d.hub.MachineToken, record.BundleHeader, b.SHA256, b.Size)
	_, err = conn.Write(content[:len(content)/2])
	d.must(err)
	d.must(conn.(*net.TCPConn).CloseWrite())
	answer, err := io.ReadAll(conn)
	if err != nil || !bytes.Contains(answer, []byte("did not arrive whole")) {
		d.t.Errorf("a cut upload: %q, %v", answer, err)
	}
	conn.Close()
	if d.is(id, record.MovePacking, ""); len(d.parts()) != 0 {
		d.t.Errorf("a cut upload left %v", d.parts())
	}
}

// The limit is told before anything is sent.
func TestABundleThatIsTooLarge(t *testing.T) {
	d := newMovers(t)
	id := d.upTo(record.MovePacking)
	d.hub.Hub().MaxBundle = 1000
	big := bytes.Repeat([]byte("x"), 1001)
	var e *hubclient.Error
	if err := d.upload(id, big); !errors.As(err, &e) || e.Status != 413 || !strings.Contains(e.Detail, "1001 bytes, over the limit of 1000") {
		t.Errorf("one byte too many: %v", err)
	}
	read := &countReader{}
	if _, err := d.tower.UploadBundle(t.Context(), id, record.Bundle{Size: hub.MaxBundle, SHA256: sum("a")}, read); status(err) != 413 || read.n.Load() != 0 {
		t.Errorf("half a gibibyte: %v, %d bytes were read", err, read.n.Load())
	}
	d.must(d.upload(id, big[:1000]))
	d.is(id, record.MoveUploaded, "")
}

type countReader struct{ n atomic.Int64 }

func (c *countReader) Read(b []byte) (int, error) {
	c.n.Add(int64(len(b)))
	return len(b), nil
}

// The same bundle again is a success, at any time; another one is refused.
func TestUploadsAgain(t *testing.T) {
	d := newMovers(t)
	id := d.upTo(record.MovePacking)
	d.must(d.upload(id, content))
	other := append([]byte("other"), content...)
	for _, state := range []record.MoveState{record.MoveUploaded, record.MoveUnpacking, record.MoveStarting, record.MoveDone} {
		switch state {
		case record.MoveUnpacking:
			d.take(d.laptop, record.ActionMoveIn, state)
		case record.MoveStarting, record.MoveDone:
			d.must(d.says(d.laptop, id, state, ""))
		}
		d.is(id, state, "")
		if err := d.upload(id, content); err != nil {
			t.Errorf("%s: the same: %v", state, err)
		}
		d.conflict(d.upload(id, other), state)
		d.is(id, state, "")
	}
	if len(d.parts()) != 0 {
		t.Errorf("left %v", d.parts())
	}
	late := newMovers(t)
	id = late.upTo(record.MovePacking)
	late.clock.turn(10 * 60e9)
	late.conflict(late.upload(id, content), record.MoveFailed)
}

// Several uploads of one move at once: one bundle, and all hear of it.
func TestUploadsAtOnce(t *testing.T) {
	d := newMovers(t)
	id := d.upTo(record.MovePacking)
	var wg sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		wg.Go(func() {
			c := content
			if i%2 == 1 {
				c = append([]byte("other"), content...)
			}
			_, errs[i] = d.tower.UploadBundle(d.t.Context(), id, bundleOf(c), bytes.NewReader(c))
		})
	}
	wg.Wait()
	won := d.is(id, record.MoveUploaded, "").Bundle
	for i, err := range errs {
		if mine := (i%2 == 0) == (won.Size == int64(len(content))); mine && err != nil || !mine && status(err) != 409 {
			t.Errorf("upload %d: %v", i, err)
		}
	}
	file, err := os.ReadFile(d.bundleFile(id))
	if err != nil || bundleOf(file) != *won || len(d.parts()) != 0 {
		t.Errorf("the file is another, %v; left %v", err, d.parts())
	}
	d.take(d.laptop, record.ActionMoveIn, record.MoveUnpacking) // once
	d.nothing(d.laptop)
}

// An upload is cut off by the end of the hub, and done again.
func TestAHubThatEndsInAnUpload(t *testing.T) {
	d := newMovers(t)
	id := d.upTo(record.MovePacking)
	r, w := io.Pipe()
	done := make(chan error, 1)
	go func() {
		_, err := d.tower.UploadBundle(d.t.Context(), id, bundleOf(content), r)
		done <- err
	}()
	_, err := w.Write(content[:1000]) // the hub has begun to take it
	d.must(err)
	if len(d.parts()) != 1 {
		t.Errorf("under way: %v", d.parts())
	}
	d.hub.Down()
	w.CloseWithError(io.ErrUnexpectedEOF)
	if err := <-done; err == nil || status(err) != 0 {
		t.Errorf("a cut upload: %v", err)
	}
	d.hub.Up()
	if d.is(id, record.MovePacking, ""); len(d.parts()) != 0 {
		t.Errorf("left %v", d.parts())
	}
	d.must(d.upload(id, content))
}

// breaking is a proxy that cuts answers after some bytes.
func breaking(t *testing.T, to string, after int64) (string, *atomic.Int64) {
	t.Helper()
	u, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	var cuts atomic.Int64
	p := httputil.NewSingleHostReverseProxy(u)
	p.ModifyResponse = func(res *http.Response) error {
		if res.ContentLength > after && after > 0 {
			cuts.Add(1)
			res.Body = struct {
				io.Reader
				io.Closer
			}{io.MultiReader(io.LimitReader(res.Body, after), failing{}), res.Body}
		}
		return nil
	}
	p.ErrorLog = nil
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() { // the proxy aborts what was cut
			if v := recover(); v != nil && v != http.ErrAbortHandler {
				panic(v)
			} else if v != nil {
				panic(http.ErrAbortHandler)
			}
		}()
		p.ServeHTTP(w, r)
	}))
	t.Cleanup(srv.Close)
	return srv.URL, &cuts
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("cut") }

// A download that is cut goes on where it ended, and is checked as a whole.
func TestDownloadsGoOn(t *testing.T) {
	d := newMovers(t)
	random := make([]byte, 3<<20)
	source := rand.NewChaCha8([32]byte{1})
	source.Read(random)
	id := d.upTo(record.MovePacking)
	d.must(d.upload(id, random))
	in := d.take(d.laptop, record.ActionMoveIn, record.MoveUnpacking)
	proxy, cuts := breaking(t, d.hub.URL, 700<<10)
	token := d.hub.AddToken(laptopToken())
	c, err := hubclient.New(config.Config{ServerURL: proxy, Machine: "laptop"}, token)
	d.must(err)
	sum := sha256.New()
	d.must(c.DownloadBundle(t.Context(), id, *in.Move.Bundle, sum))
	if got := hex.EncodeToString(sum.Sum(nil)); got != in.Move.Bundle.SHA256 || cuts.Load() < 4 {
		t.Errorf("SHA-256 %s after %d cuts", got, cuts.Load())
	}
	wrong := *in.Move.Bundle
	wrong.SHA256 = sumOf("other")
	if err := d.laptop.DownloadBundle(t.Context(), id, wrong, io.Discard); err == nil || !strings.Contains(err.Error(), "not the one of the move") {
		t.Errorf("another hash: %v", err)
	}
	full := errors.New("the disk is full")
	if err := d.laptop.DownloadBundle(t.Context(), id, *in.Move.Bundle, writerFunc(func([]byte) (int, error) { return 0, full })); !errors.Is(err, full) {
		t.Errorf("a full disk: %v", err)
	}
}

func sumOf(s string) string { return bundleOf([]byte(s)).SHA256 }

type writerFunc func(b []byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }
