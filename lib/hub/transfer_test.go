package hub_test

import (
	"bytes"
	"io"
	"net/http"
	"testing"
	"time"

	"sessionhub/lib/record"
)

// waits until something holds, for at most a while.
func (d *movers) waits(what string, holds func() bool) {
	d.t.Helper()
	for end := time.Now().Add(30 * time.Second); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			d.t.Fatal("waited until " + what)
		}
	}
}

// Who watches a move sees how far its bundle is, on both ways, and nothing once
// it is there or broke off.
func TestHowFarABundleIs(t *testing.T) {
	d := newMovers(t)
	id := d.upTo(record.MovePacking)
	far := func() *record.Transfer {
		t.Helper()
		m, err := d.owner.GetMove(t.Context(), id, "", 0)
		d.must(err)
		return m.Transfer
	}
	until := func(done, size int64) {
		t.Helper()
		d.waits("the hub tells how far it is", func() bool {
			f := far()
			return f != nil && f.Done == done && f.Size == size
		})
	}
	gone := func() {
		t.Helper()
		d.waits("nothing is on its way", func() bool { return far() == nil })
	}
	if far() != nil {
		t.Error("something is on its way before anything was sent")
	}
	size := int64(len(content))
	for _, whole := range []bool{false, true} {
		r, w := io.Pipe()
		done := make(chan error, 1)
		go func() {
			_, err := d.put(id, bundleOf(content).SHA256, size, r)
			done <- err
		}()
		_, err := w.Write(content[:size/4])
		d.must(err)
		until(size/4, size)
		if !whole {
			w.CloseWithError(io.ErrUnexpectedEOF)
			<-done
			gone()
			continue
		}
		_, err = w.Write(content[size/4:])
		d.must(err)
		w.Close()
		d.must(<-done)
		gone()
	}
	d.is(id, record.MoveUploaded, "")
}

// A download counts from where it begins.
func TestHowFarADownloadIs(t *testing.T) {
	d := newMovers(t)
	id := d.upTo(record.MovePacking)
	big := bytes.Repeat([]byte("0123456789abcdef"), 1<<20) // more than sockets hold
	d.must(d.upload(id, big))
	req, err := http.NewRequest(http.MethodGet, d.hub.URL+"/v1/moves/"+id+"/bundle", nil)
	d.must(err)
	req.Header.Set("Authorization", "Bearer "+d.hub.AddToken(laptopToken()))
	req.Header.Set("Range", "bytes=1000-")
	res, err := http.DefaultClient.Do(req)
	d.must(err)
	defer res.Body.Close()
	_, err = io.CopyN(io.Discard, res.Body, 2000)
	d.must(err)
	m, err := d.owner.GetMove(t.Context(), id, "", 0)
	d.must(err)
	if f := m.Transfer; f == nil || f.Done < 3000 || f.Done >= f.Size || f.Size != int64(len(big)) {
		t.Errorf("%+v", f)
	}
	if n, err := io.Copy(io.Discard, res.Body); err != nil || n != int64(len(big))-3000 {
		t.Errorf("%d %v", n, err)
	}
	d.waits("nothing is on its way", func() bool {
		m, err := d.owner.GetMove(t.Context(), id, "", 0)
		d.must(err)
		return m.Transfer == nil
	})
}
