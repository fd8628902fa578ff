package hub_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sessionhub/lib/config"
	"sessionhub/lib/hub/store"
	"sessionhub/lib/hubclient"
	"sessionhub/lib/record"
)

// keyOf is a machine's key for moves, of the right form.
func keyOf(machine string) record.MoveKey {
	seed := sha256.Sum256([]byte(machine))
	public := ed25519.NewKeyFromSeed(seed[:]).Public().(ed25519.PublicKey)
	k := record.MoveKey{Recipient: "age1" + machine + strings.Repeat("q", 50), Signer: base64.StdEncoding.EncodeToString(public)}
	k.Fingerprint = record.Fingerprint(k.Recipient, k.Signer)
	return k
}

// movers is a desk whose machines have keys, and a third machine.
type movers struct {
	*desk
	third *hubclient.Client
}

func newMovers(t *testing.T) *movers {
	t.Helper()
	d := newDesk(t)
	third, err := hubclient.New(config.Config{ServerURL: d.hub.URL, Machine: "third"}, d.hub.AddToken(store.Token{Kind: store.KindMachine, Name: "third"}))
	if err != nil {
		t.Fatal(err)
	}
	m := &movers{d, third}
	m.must(d.tower.PutMoveKey(t.Context(), keyOf("tower")))
	m.must(d.laptop.PutMoveKey(t.Context(), keyOf("laptop")))
	return m
}

func (d *movers) must(err error) {
	d.t.Helper()
	if err != nil {
		d.t.Fatal(err)
	}
}

func (d *movers) move(session string) record.Move {
	d.t.Helper()
	m, err := d.owner.Move(d.t.Context(), "", session, record.MovePost{To: "laptop"})
	d.must(err)
	return m
}

// take takes the one claim that a machine is to be offered.
func (d *movers) take(c *hubclient.Client, action record.Action, state record.MoveState) record.Claim {
	d.t.Helper()
	list := d.claims(c)
	if len(list) != 1 || list[0].Action != action || list[0].Move == nil || list[0].Move.State != state {
		d.t.Fatalf("claims %+v, want %s while %s", list, action, state)
	}
	d.must(list[0].Validate())
	return list[0]
}

func (d *movers) nothing(c *hubclient.Client) {
	d.t.Helper()
	if list := d.claims(c); len(list) != 0 {
		d.t.Fatalf("claims %+v, want none", list)
	}
}

// is checks how a move stands, as its owner sees it.
func (d *movers) is(id string, state record.MoveState, detail string) record.Move {
	d.t.Helper()
	m, err := d.owner.GetMove(d.t.Context(), id, "", 0)
	if err != nil || m.State != state || !strings.Contains(m.Detail, detail) {
		d.t.Fatalf("move %+v, %v; want %s, %q", m, err, state, detail)
	}
	if _, err := os.Stat(d.bundleFile(id)); os.IsNotExist(err) == holdsBundle(state) {
		d.t.Fatalf("the bundle's file of a move that is %s: %v", state, err)
	}
	return m
}

func holdsBundle(s record.MoveState) bool {
	return s == record.MoveUploaded || s == record.MoveUnpacking || s == record.MoveStarting
}

func (d *movers) bundleFile(id string) string {
	return filepath.Join(d.hub.Path+".bundles", id+".age")
}

func bundleOf(content []byte) record.Bundle {
	sum := sha256.Sum256(content)
	return record.Bundle{Size: int64(len(content)), SHA256: hex.EncodeToString(sum[:])}
}

func (d *movers) upload(id string, content []byte) error {
	_, err := d.tower.UploadBundle(d.t.Context(), id, bundleOf(content), bytes.NewReader(content))
	return err
}

func (d *movers) says(c *hubclient.Client, id string, state record.MoveState, detail string, notes ...string) error {
	_, err := c.PostMoveResult(d.t.Context(), record.MoveResult{V: 1, ID: id, State: state, Detail: detail, Notes: notes})
	return err
}

// content is a bundle of a few read-ahead buffers.
var content = bytes.Repeat([]byte("sealed "), 100_000)

// upTo brings a move of session A to a state.
func (d *movers) upTo(state record.MoveState) string {
	d.t.Helper()
	id := d.move("A").ID
	for _, step := range []struct {
		of record.MoveState
		do func()
	}{
		{record.MoveRequested, func() {}},
		{record.MoveChecking, func() { d.take(d.laptop, record.ActionMoveCheck, record.MoveChecking) }},
		{record.MovePacking, func() {
			for _, c := range d.open(id) {
				d.finish(d.laptop, c.ID, record.RequestDone, "")
			}
			d.take(d.tower, record.ActionMoveOut, record.MovePacking)
		}},
		{record.MoveUploaded, func() { d.must(d.upload(id, content)) }},
		{record.MoveUnpacking, func() { d.take(d.laptop, record.ActionMoveIn, record.MoveUnpacking) }},
		{record.MoveStarting, func() { d.must(d.says(d.laptop, id, record.MoveStarting, "")) }},
	} {
		step.do()
		if d.is(id, step.of, ""); step.of == state {
			break
		}
	}
	return id
}

// open are the steps of a move that have not ended.
func (d *movers) open(string) []record.Request {
	d.t.Helper()
	list, err := d.hub.Store().OpenRequests(d.t.Context(), "A")
	d.must(err)
	return list
}

// conflict wants a 409 that tells how the move stands.
func (d *movers) conflict(err error, state record.MoveState) {
	d.t.Helper()
	var e *hubclient.Error
	if !errors.As(err, &e) || e.Status != http.StatusConflict || e.Move == nil || e.Move.State != state {
		d.t.Errorf("%v (%+v); want a 409 with a move that is %s", err, e, state)
	}
}

func TestAMoveGoesItsWay(t *testing.T) {
	d := newMovers(t)
	m, err := d.owner.Move(t.Context(), "", "A", record.MovePost{To: "laptop", Worktree: true, StopBackground: true})
	d.must(err)
	if m.State != record.MoveRequested || m.From != "tower" || m.To != "laptop" || m.Session != "A" || m.StepDeadline.Sub(m.CreatedAt.Time) != 10*time.Minute || m.ID[14] != '7' {
		t.Errorf("move %+v", m)
	}
	d.nothing(d.tower)
	check := d.take(d.laptop, record.ActionMoveCheck, record.MoveChecking)
	if mv := check.Move; mv.ID != m.ID || mv.Session != "A" || mv.From != "tower" || mv.To != "laptop" || !mv.Worktree || !mv.StopBackground ||
		mv.Keys.From != keyOf("tower") || mv.Keys.To != keyOf("laptop") || mv.Cwd != "/home/dev" || check.Session.Session != "A" {
		t.Errorf("claim %+v", mv)
	}
	d.nothing(d.tower)
	d.finish(d.laptop, check.ID, record.RequestDone, "")
	d.is(m.ID, record.MovePacking, "")
	out := d.take(d.tower, record.ActionMoveOut, record.MovePacking)
	d.nothing(d.laptop)
	d.live(d.tower, "tower", "B") // the session has been ended
	d.must(d.upload(m.ID, content))
	d.finish(d.tower, out.ID, record.RequestDone, "")
	if got := d.is(m.ID, record.MoveUploaded, ""); *got.Bundle != bundleOf(content) {
		t.Errorf("bundle %+v", got.Bundle)
	}
	in := d.take(d.laptop, record.ActionMoveIn, record.MoveUnpacking)
	var got bytes.Buffer
	d.must(d.laptop.DownloadBundle(t.Context(), m.ID, *in.Move.Bundle, &got))
	if !bytes.Equal(got.Bytes(), content) {
		t.Error("another bundle arrived")
	}
	d.must(d.says(d.laptop, m.ID, record.MoveStarting, ""))
	if s := d.is(m.ID, record.MoveStarting, "on laptop since "+record.At(d.clock.Now()).String()); s.StepDeadline != nil {
		t.Errorf("starting has a deadline: %+v", s)
	}
	d.nothing(d.tower)
	d.must(d.says(d.laptop, m.ID, record.MoveDone, "in workspace w3", "not carried: .env"))
	d.finish(d.laptop, in.ID, record.RequestDone, "")
	if s := d.is(m.ID, record.MoveDone, "in workspace w3"); len(s.Notes) != 1 || s.EndedAt == nil {
		t.Errorf("move %+v", s)
	}
	s, err := d.owner.Session(t.Context(), "A")
	if err != nil || s.Machine != "laptop" || s.Status != record.StatusLive || s.Herdr != nil || s.Move != nil {
		t.Errorf("session %+v, %v", s, err)
	}
	fin := d.take(d.tower, record.ActionMoveFinish, record.MoveDone)
	d.finish(d.tower, fin.ID, record.RequestDone, "archived")
	d.nothing(d.tower)
	d.nothing(d.laptop)
	if list, err := d.owner.Inbox(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("inbox %+v, %v", list, err)
	}
}

func TestMovesThatAreRefused(t *testing.T) {
	d := newMovers(t)
	d.live(d.third, "third", "T")
	d.live(d.laptop, "laptop", "L", "M")
	d.live(d.laptop, "laptop", "L") // M is over
	for _, c := range []struct {
		name, session, to, want string
		status                  int
	}{
		{"an unknown session", "Z", "laptop", "does not know that session", 404},
		{"no machine", "A", "", `"to" is missing`, 400},
		{"a machine that is no name", "A", "a b", "not allowed", 400},
		{"the cloud", "A", "cloud", "not available yet", 422},
		{"an unknown machine", "A", "nowhere", "no machine of that name", 422},
		{"the same machine", "A", "tower", "runs on tower already", 422},
		{"a session that is over", "M", "tower", "has ended", 409},
		{"a target without a key", "A", "third", "third has registered no key", 409},
		{"a source without a key", "T", "laptop", "third has registered no key", 409},
	} {
		if _, err := d.owner.Move(t.Context(), "", c.session, record.MovePost{To: c.to}); status(err) != c.status || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %d, %q", c.name, err, c.status, c.want)
		}
	}
	d.clock.turn(4 * time.Minute)
	d.live(d.tower, "tower", "A", "B")
	if _, err := d.owner.Move(t.Context(), "", "A", record.MovePost{To: "laptop"}); status(err) != 409 || !strings.Contains(err.Error(), "laptop is silent since") {
		t.Errorf("a silent target: %v", err)
	}
	if _, err := d.owner.Move(t.Context(), "", "L", record.MovePost{To: "tower"}); status(err) != 409 || !strings.Contains(err.Error(), "is silent") {
		t.Errorf("a silent source: %v", err)
	}
	d.live(d.laptop, "laptop", "L")
	m := d.move("A")
	_, err := d.owner.Move(t.Context(), "", "A", record.MovePost{To: "laptop"})
	d.conflict(err, record.MoveRequested)
	if !strings.Contains(err.Error(), m.ID) {
		t.Errorf("the other move is not named: %v", err)
	}
	d.move("B") // of another session
}

// The same key again is the same move; with another body it is refused.
func TestAMoveSentTwiceIsOne(t *testing.T) {
	d := newMovers(t)
	p := record.MovePost{To: "laptop"}
	a, err := d.owner.Move(t.Context(), "k1", "A", p)
	d.must(err)
	d.hub.Restart()
	b, err := d.owner.Move(t.Context(), "k1", "A", p)
	if err != nil || a.ID != b.ID {
		t.Errorf("%+v, %+v, %v", a, b, err)
	}
	p.Worktree = true
	if _, err := d.owner.Move(t.Context(), "k1", "A", p); status(err) != 422 {
		t.Errorf("another body: %v", err)
	}
	if _, err := d.owner.Move(t.Context(), "k1", "B", record.MovePost{To: "laptop"}); status(err) != 422 {
		t.Errorf("another session: %v", err)
	}
}

func TestMoveKeys(t *testing.T) {
	d := newMovers(t)
	good := keyOf("third")
	for name, change := range map[string]func(k *record.MoveKey){
		"another fingerprint": func(k *record.MoveKey) { k.Fingerprint = keyOf("tower").Fingerprint },
		"no recipient":        func(k *record.MoveKey) { k.Recipient = "" },
		"an SSH key":          func(k *record.MoveKey) { k.Recipient = "ssh-ed25519 AAAA" },
		"a short signer":      func(k *record.MoveKey) { k.Signer = "AAAA" },
	} {
		k := good
		if change(&k); name != "another fingerprint" && k.Recipient != "" {
			k.Fingerprint = record.Fingerprint(k.Recipient, k.Signer)
		}
		if err := d.third.PutMoveKey(t.Context(), k); status(err) != 422 {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := d.owner.PutMoveKey(t.Context(), good); status(err) != 403 {
		t.Errorf("a user's: %v", err)
	}
	d.must(d.third.PutMoveKey(t.Context(), keyOf("other")))
	d.must(d.third.PutMoveKey(t.Context(), good)) // the last one counts
	list, err := d.owner.Machines(t.Context())
	d.must(err)
	for _, m := range list {
		if m.Fingerprint != keyOf(m.Machine).Fingerprint {
			t.Errorf("machine %+v", m)
		}
	}
}

// Each machine does its own part and no other, and people only what is theirs.
func TestWhoMayMove(t *testing.T) {
	d := newMovers(t)
	reader, err := hubclient.New(config.Config{ServerURL: d.hub.URL}, d.hub.AddToken(store.Token{Kind: store.KindUser, Name: "guest", Scopes: []string{"read"}}))
	d.must(err)
	id := d.upTo(record.MovePacking)
	ctx, b := t.Context(), bundleOf(content)
	read := func() io.Reader { return bytes.NewReader(content) }
	for name, c := range map[string]struct {
		err    error
		status int
	}{
		"a machine asks for a move":      {second(d.tower.Move(ctx, "", "B", record.MovePost{To: "laptop"})), 403},
		"a reader asks for a move":       {second(reader.Move(ctx, "", "B", record.MovePost{To: "laptop"})), 403},
		"a reader cancels":               {second(reader.CancelMove(ctx, id)), 403},
		"a machine cancels":              {second(d.tower.CancelMove(ctx, id)), 403},
		"the target uploads":             {second(d.laptop.UploadBundle(ctx, id, b, read())), 404},
		"a third uploads":                {second(d.third.UploadBundle(ctx, id, b, read())), 404},
		"a user uploads":                 {second(d.owner.UploadBundle(ctx, id, b, read())), 403},
		"the source downloads":           {d.tower.DownloadBundle(ctx, id, b, io.Discard), 404},
		"a third downloads":              {d.third.DownloadBundle(ctx, id, b, io.Discard), 404},
		"a user downloads":               {d.owner.DownloadBundle(ctx, id, b, io.Discard), 403},
		"the target before the upload":   {d.laptop.DownloadBundle(ctx, id, b, io.Discard), 409},
		"a third posts a result":         {d.says(d.third, id, record.MoveFailed, ""), 404},
		"a user posts a result":          {d.says(d.owner, id, record.MoveFailed, ""), 403},
		"the target fails it too early":  {d.says(d.laptop, id, record.MoveFailed, ""), 409},
		"the target starts too early":    {d.says(d.laptop, id, record.MoveStarting, ""), 409},
		"the source starts it":           {d.says(d.tower, id, record.MoveStarting, ""), 409},
		"the source is done":             {d.says(d.tower, id, record.MoveDone, ""), 409},
		"a third looks":                  {second(d.third.GetMove(ctx, id, "", 0)), 404},
		"an unknown move is looked at":   {second(d.owner.GetMove(ctx, "nothing", "", 0)), 404},
		"an unknown move is cancelled":   {second(d.owner.CancelMove(ctx, "nothing")), 404},
		"an unknown move gets a bundle":  {second(d.tower.UploadBundle(ctx, "nothing", b, read())), 404},
		"an unknown move gets a result":  {d.says(d.tower, "nothing", record.MoveFailed, ""), 404},
		"a result of no state":           {d.says(d.tower, id, "", ""), 400},
		"a result of a state of the hub": {d.says(d.tower, id, record.MoveCancelled, ""), 400},
	} {
		if status(c.err) != c.status {
			t.Errorf("%s: %v, want %d", name, c.err, c.status)
		}
	}
	for _, c := range []*hubclient.Client{d.tower, d.laptop, reader} {
		if _, err := c.GetMove(ctx, id, "", 0); err != nil {
			t.Errorf("who may look: %v", err)
		}
	}
	d.is(id, record.MovePacking, "")
	if _, err := d.owner.Cancel(ctx, d.open(id)[0].ID); status(err) != 404 {
		t.Errorf("a step is taken back by itself: %v", err)
	}
}

func laptopToken() store.Token { return store.Token{Kind: store.KindMachine, Name: "laptop"} }
