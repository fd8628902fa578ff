package digest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sessionhub/lib/claude"
	"sessionhub/lib/state"
)

func unmarshal(s string, v any) error { return json.Unmarshal([]byte(s), v) }

// machine of a test: a home of Claude Code and a state directory.
type place struct {
	*testing.T
	home claude.Home
	dir  state.Dir
}

func newPlace(t *testing.T) *place {
	p := &place{T: t, home: claude.Home(t.TempDir()), dir: state.Dir(t.TempDir())}
	return p
}

func (p *place) digester() *Digester { return &Digester{Dir: p.dir, Home: p.home} }

// put appends to a session's transcript and returns its path.
func (p *place) put(cwd, session, s string) string {
	p.Helper()
	dir := p.home.Project(cwd)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		p.Fatal(err)
	}
	path := filepath.Join(dir, session+".jsonl")
	f := &fixture{T: p.T, path: path}
	f.append(s)
	return path
}

func names(refs []Ref) string {
	var ids []string
	for _, r := range refs {
		ids = append(ids, r.Session)
	}
	return strings.Join(ids, " ")
}

func (p *place) changed(d *Digester, want string, refs ...Ref) {
	p.Helper()
	if got := names(d.Changed(refs)); got != want {
		p.Errorf("changed %q, want %q", got, want)
	}
}

func (p *place) digest(d *Digester, r Ref, last string) {
	p.Helper()
	if got, err := d.Digest(p.Context(), r); err != nil || got.LastPrompt != last || got.Session != r.Session {
		p.Errorf("%+v, %v, want %q", got, err, last)
	}
}

func (p *place) good(d *Digester, refs ...Ref) {
	p.Helper()
	if err := d.Good(refs...); err != nil {
		p.Error(err)
	}
}

func TestOnlyWhatTheHubAcceptedIsRemembered(t *testing.T) {
	p := newPlace(t)
	a, b := Ref{Session: "a", Cwd: "/w"}, Ref{Session: "b"}
	p.put("/w", "a", prompt("one"))
	p.put("/elsewhere", "b", prompt("two"))
	d := p.digester()
	p.changed(d, "a b", a, b, Ref{Session: "c"})
	p.digest(d, a, "one")
	p.digest(d, b, "two")
	p.good(d, a)
	p.changed(d, "b", a, b) // b was refused: again
	p.changed(p.digester(), "b", a, b)
	p.digest(d, b, "two")
	p.good(d, b)
	p.changed(d, "", a, b)
	p.changed(p.digester(), "", a, b)

	p.put("/w", "a", prompt("three"))
	d = p.digester() // as after a restart
	p.changed(d, "a", a, b)
	p.digest(d, a, "three")
	p.good(d, a)
	p.changed(d, "", a, b)
	// A touched file counts as changed: who knows.
	path, _ := p.home.TranscriptNear("b", "")
	if err := os.Chtimes(path, time.Time{}, time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	p.changed(d, "b", a, b)
}

// A digest that the hub refused, or a reading that was cut short, is not read
// again; and neither is good until it was whole.
func TestA58ARetryReadsNothingAgain(t *testing.T) {
	p := newPlace(t)
	r := Ref{Session: "a", Cwd: "/w"}
	path := p.put("/w", "a", prompt("one")+strings.Repeat(filler(100<<10), 40)+prompt("two"))
	d := p.digester()
	for i := 0; ; i++ {
		_, err := d.Digest(&cancelling{t.Context(), 6}, r)
		if err == nil {
			break
		}
		if i > 20 {
			t.Fatal("no end")
		}
		p.good(d, r) // must not count
		p.changed(d, "a", r)
	}
	p.digest(d, r, "two")
	if n := d.ahead[path].read; n > 2*markLen {
		t.Errorf("%d bytes were read again", n)
	}
	p.good(d, r)
	p.changed(p.digester(), "", r)
}

// Ten refused ones must not keep the eleventh from its turn.
func TestTriedOnesComeLast(t *testing.T) {
	p := newPlace(t)
	var refs []Ref
	for _, s := range []string{"a", "b", "c", "d"} {
		p.put("/w", s, prompt(s))
		refs = append(refs, Ref{Session: s})
	}
	d := p.digester()
	p.changed(d, "a b c d", refs...)
	p.digest(d, refs[0], "a")
	p.digest(d, refs[1], "b")
	p.changed(d, "c d a b", refs...)
	p.digest(d, refs[2], "c")
	p.digest(d, refs[0], "a")
	p.changed(d, "d b c a", refs...)
	p.good(d, refs[2])
	p.changed(d, "d b a", refs...)
}

// The id that a digest speaks of is that of the file that grows. An id without
// a file has none, whatever named it.
func TestA18TheIDIsTheFileThatGrows(t *testing.T) {
	p := newPlace(t)
	d := p.digester()
	for _, session := range []string{"streamed", "", "..", "../a", "a/b"} {
		_, err := d.Digest(t.Context(), Ref{Session: session, Cwd: "/w"})
		if !errors.Is(err, ErrNoTranscript) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v", session, err)
		}
		p.changed(d, "", Ref{Session: session, Cwd: "/w"})
	}
	// The lines may still say another id.
	p.put("/w", "grows", `{"type":"user","sessionId":"streamed","message":{"content":"hello"}}`+"\n")
	p.digest(d, Ref{Session: "grows"}, "hello")
	// Of two files with one id that of the working directory is written to, and
	// else the one that grew last.
	old := p.put("/old", "twice", prompt("old"))
	p.put("/new", "twice", prompt("new"))
	if err := os.Chtimes(old, time.Time{}, time.Now().Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	p.digest(d, Ref{Session: "twice"}, "new")
	p.digest(d, Ref{Session: "twice", Cwd: "/old"}, "old")
}

func TestTitleHint(t *testing.T) {
	p := newPlace(t)
	p.put("/w", "a", prompt("one"))
	d := p.digester()
	for _, hint := range []string{"one", "another"} {
		got, err := d.Digest(t.Context(), Ref{Session: "a", TitleHint: hint})
		if err != nil || got.Title != hint {
			t.Errorf("%+v, %v", got, err)
		}
	}
	p.put("/w", "a", `{"type":"ai-title","aiTitle":"made"}`+"\n")
	if got, err := d.Digest(t.Context(), Ref{Session: "a", TitleHint: "x"}); err != nil || got.Title != "made" {
		t.Errorf("%+v, %v", got, err)
	}
}

// A file of digests that is damaged, foreign or of another version is started
// anew.
func TestDamagedDigestsAreStartedAnew(t *testing.T) {
	r := Ref{Session: "a", Cwd: "/w"}
	for name, content := range map[string]string{
		"empty": "", "torn": `{"v":1,"transcripts":{"/a":{"si`, "foreign": "[1,2]", "text": "hello\x00", "null": "null",
		"newer": `{"v":2,"transcripts":{"x":7}}`, "no list": `{"v":1}`, "wrong types": `{"v":1,"transcripts":{"x":{"size":"big"}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			p.put("/w", "a", prompt("one"))
			if err := os.WriteFile(p.dir.Digests(), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			d := p.digester()
			p.changed(d, "a", r)
			p.digest(d, r, "one")
			p.good(d, r)
			p.changed(p.digester(), "", r)
		})
	}
}

// What another version knew of a transcript may mean something else.
func TestAnotherVersionIsStartedAnew(t *testing.T) {
	p := newPlace(t)
	r := Ref{Session: "a"}
	p.put("/w", "a", prompt("one"))
	d := p.digester()
	p.digest(d, r, "one")
	p.good(d, r)
	b, err := os.ReadFile(p.dir.Digests())
	if err != nil {
		t.Fatal(err)
	}
	b = bytes.Replace(b, []byte(`"v":1`), []byte(`"v":2`), 1)
	if err := os.WriteFile(p.dir.Digests(), b, 0o600); err != nil {
		t.Fatal(err)
	}
	p.changed(p.digester(), "a", r)
}

func TestDigestsOfGoneTranscriptsAreDropped(t *testing.T) {
	p := newPlace(t)
	a, b := Ref{Session: "a"}, Ref{Session: "b"}
	path := p.put("/w", "a", prompt("one"))
	kept := p.put("/w", "b", prompt("two"))
	d := p.digester()
	p.digest(d, a, "one")
	p.digest(d, b, "two")
	p.good(d, a)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	p.good(d, b)
	raw, err := os.ReadFile(p.dir.Digests())
	if err != nil || strings.Contains(string(raw), path) || !strings.Contains(string(raw), kept) {
		t.Errorf("%s, %v", raw, err)
	}
	if st, err := os.Stat(p.dir.Digests()); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", st.Mode(), err)
	}
}

func TestDigestsAreBounded(t *testing.T) {
	p := newPlace(t)
	d := p.digester()
	d.load()
	began := time.Date(2026, 11, 30, 20, 0, 0, 0, time.UTC)
	for i := range maxKept + 20 {
		path := p.put("/w", fmt.Sprintf("s%04d", i), "")
		d.good[path] = memory{MTime: began.Add(time.Duration(i) * time.Second)}
	}
	p.good(d)
	_, oldest := d.good[filepath.Join(p.home.Project("/w"), "s0000.jsonl")]
	_, newest := d.good[filepath.Join(p.home.Project("/w"), fmt.Sprintf("s%04d.jsonl", maxKept+19))]
	if len(d.good) != maxKept || oldest || !newest {
		t.Errorf("%d kept, the oldest %v, the newest %v", len(d.good), oldest, newest)
	}
}

// State that can't be written is an error to tell, and no reason to read again.
func TestGoodThatCannotBeWritten(t *testing.T) {
	p := newPlace(t)
	p.dir = state.Dir(filepath.Join(string(p.dir), "gone"))
	r := Ref{Session: "a"}
	p.put("/w", "a", prompt("one"))
	d := p.digester()
	p.digest(d, r, "one")
	if err := d.Good(r); err == nil || !strings.Contains(err.Error(), "digests.json") {
		t.Errorf("%v", err)
	}
	p.changed(d, "", r)
}
