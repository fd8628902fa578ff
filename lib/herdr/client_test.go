package herdr

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// answering starts a server that reads one line a connection and hands it to f.
func answering(t *testing.T, f func(net.Conn, string)) *Client {
	t.Helper()
	dir, err := os.MkdirTemp("", "herdr") // short: socket paths have a limit
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	socket := filepath.Join(dir, "s")
	ln, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				buf := make([]byte, 64<<10)
				n, _ := conn.Read(buf)
				f(conn, string(buf[:n]))
			}()
		}
	}()
	return &Client{Socket: socket, Timeout: 10 * time.Second}
}

func saying(t *testing.T, answer string) *Client {
	return answering(t, func(conn net.Conn, _ string) { io.WriteString(conn, answer) })
}

func TestRequestIsOneLineInOneWrite(t *testing.T) {
	got := make(chan string, 1)
	c := answering(t, func(conn net.Conn, line string) {
		got <- line
		io.WriteString(conn, `{"id":"","result":{"type":"pane_list","panes":[]}}`+"\n")
	})
	if _, err := c.Panes(context.Background(), "w1"); err != nil {
		t.Fatal(err)
	}
	want := `{"id":"sessionhub","method":"pane.list","params":{"workspace_id":"w1"}}` + "\n"
	if line := <-got; line != want {
		t.Errorf("request %q, want %q", line, want)
	}
}

func TestAnswers(t *testing.T) {
	pong := `{"id":"1","result":{"type":"pong","version":"0.9.3","protocol":22}}` + "\n"
	for name, c := range map[string]struct {
		answer string
		want   error
		code   string
	}{
		"plain":                 {pong, nil, ""},
		"more lines":            {pong + "garbage", nil, ""},
		"nulls and unknowns":    {`{"id":null,"x":{},"result":{"version":"0.9.3","protocol":null,"capabilities":null,"new":[1]}}` + "\n", nil, ""},
		"error":                 {`{"id":"1","error":{"code":"pane_not_found","message":"no"}}` + "\n", nil, CodePaneNotFound},
		"error with an id \"\"": {`{"id":"","error":{"code":"invalid_request","message":"no"}}` + "\n", nil, CodeInvalidRequest},
		"nothing":               {"", ErrUnreachable, ""},
		"half a line":           {pong[:20], ErrUnreachable, ""},
		"no newline":            {strings.TrimSpace(pong), ErrUnreachable, ""},
		"no JSON":               {"hello\n", ErrBadAnswer, ""},
		"neither":               {`{"id":"1"}` + "\n", ErrBadAnswer, ""},
		"wrong type":            {`{"id":"1","result":{"version":7}}` + "\n", ErrBadAnswer, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := saying(t, c.answer).Ping(context.Background())
			switch {
			case c.code != "":
				if !IsCode(err, c.code) {
					t.Errorf("error %v, want code %s", err, c.code)
				}
			case !errors.Is(err, c.want):
				t.Errorf("error %v, want %v", err, c.want)
			case c.want == nil && p.Version != "0.9.3":
				t.Errorf("pong %+v", p)
			}
		})
	}
}

func TestUnreachable(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	stale := filepath.Join(dir, "stale")
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: stale})
	if err != nil {
		t.Fatal(err)
	}
	ln.SetUnlinkOnClose(false)
	ln.Close()
	hung := answering(t, func(net.Conn, string) { select {} })
	hung.Timeout = 50 * time.Millisecond
	for name, c := range map[string]struct {
		client *Client
		cause  Cause
		gone   bool
	}{
		"no file":    {&Client{Socket: filepath.Join(dir, "none")}, NoSocket, true},
		"no folder":  {&Client{Socket: filepath.Join(file, "none")}, Refused, true},
		"plain file": {&Client{Socket: file}, Refused, true},
		"stale":      {&Client{Socket: stale}, Refused, true},
		"hangs up":   {saying(t, ""), HungUp, false},
		"hangs":      {hung, TimedOut, false},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := c.client.Snapshot(context.Background())
			var u *UnreachableError
			if !errors.As(err, &u) || !errors.Is(err, ErrUnreachable) {
				t.Fatalf("error %v", err)
			}
			if u.Cause != c.cause || u.Gone() != c.gone {
				t.Errorf("cause %d, gone %v", u.Cause, u.Gone())
			}
			if text := err.Error(); !strings.Contains(text, c.client.Socket) || !strings.HasPrefix(text, "herdr session.snapshot: ") || strings.Contains(text, "\n") {
				t.Errorf("text %q", text)
			}
		})
	}
}

func TestContextEndsACall(t *testing.T) {
	c := answering(t, func(net.Conn, string) { select {} })
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(20*time.Millisecond, cancel)
	_, err := c.Ping(ctx)
	if !errors.Is(err, context.Canceled) || errors.Is(err, ErrUnreachable) {
		t.Errorf("error %v, want only canceled", err)
	}
	ctx, cancel = context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	_, err = c.Ping(ctx)
	if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, ErrUnreachable) {
		t.Errorf("error %v, want a deadline that is exceeded", err)
	}
}

func TestUnsupported(t *testing.T) {
	for name, c := range map[string]struct {
		answer string
		want   bool
	}{
		"0.8.2":         {`{"id":"","error":{"code":"invalid_request","message":"invalid request: unknown variant ` + "`layout.apply`, expected one of `ping`" + `, …"}}`, true},
		"0.9.3":         {`{"id":"1","error":{"code":"unknown_method","message":"?"}}`, true},
		"a bad enum":    {`{"id":"","error":{"code":"invalid_request","message":"invalid request: unknown variant ` + "`left`, expected `right` or `down`" + `"}}`, false},
		"another error": {`{"id":"1","error":{"code":"tab_not_found","message":"unknown variant"}}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := saying(t, c.answer+"\n").ApplyLayout(context.Background(), ApplyParams{})
			if got := IsUnsupported(err); got != c.want {
				t.Errorf("%v: unsupported %v, want %v", err, got, c.want)
			}
		})
	}
}

func TestCheckVersion(t *testing.T) {
	for version, good := range map[string]bool{
		"0.8.0": true, "0.8.2": true, "0.9.3": true, "1.0.0": true, "0.10.0": true, "herdr 0.8.2\n": true,
		"0.8.2-preview.7": true, "0.8.2+build": true, "0.8.1-preview.1": true,
		"0.7.5": false, "0.8.0-preview.1": false, "": false, "0.8": false, "x.y.z": false, "0.-8.0": false, "0.+9.0": false, "0.8.0-": false,
	} {
		err := CheckVersion(version)
		var v *VersionError
		if good != (err == nil) || err != nil && !errors.As(err, &v) {
			t.Errorf("%q: %v, want good %v", version, err, good)
		}
	}
}

func TestNilListsAndMapsAreNoNulls(t *testing.T) {
	got := make(chan string, 10)
	c := answering(t, func(conn net.Conn, line string) {
		got <- line
		io.WriteString(conn, `{"id":"","result":{}}`+"\n")
	})
	ctx := context.Background()
	c.SendKeys(ctx, "w1:p1")
	c.SendInput(ctx, "w1:p1", "", "Enter")
	c.ReportWorkspaceMetadata(ctx, WorkspaceMetadata{WorkspaceID: "w1"})
	c.CreateWorkspace(ctx, NewWorkspace{})
	c.StartAgent(ctx, Start{})
	c.PromptAgent(ctx, Prompt{Wait: &PromptWait{}})
	c.InvokeAction(ctx, Invocation{})
	if s, err := c.Subscribe(ctx, nil); err == nil {
		s.Close()
	}
	for range 8 {
		line := <-got
		if strings.Contains(line, "null") || !json.Valid([]byte(line)) {
			t.Errorf("herdr refuses null in %s", line)
		}
	}
}

// slowly gives a reader's bytes in small pieces, as sockets may.
type slowly struct {
	data []byte
	step int
}

func (s *slowly) Read(p []byte) (int, error) {
	if len(s.data) == 0 {
		return 0, io.EOF
	}
	n := copy(p, s.data[:min(s.step, len(s.data))])
	s.data = s.data[n:]
	return n, nil
}

func TestLineReader(t *testing.T) {
	long := strings.Repeat("x", 3*firstRead)
	r := &lineReader{from: &slowly{[]byte("a\n\n" + long + "\nrest"), 100}, max: MaxAnswer}
	for _, want := range []string{"a", "", long} {
		if got, err := r.next(); err != nil || string(got) != want {
			t.Fatalf("%d bytes, %v, want %d", len(got), err, len(want))
		}
	}
	if got, err := r.next(); err != io.EOF || got != nil {
		t.Errorf("%q, %v, want the end", got, err)
	}
	for _, tooLong := range []string{long, strings.Repeat("y", 1001) + "\n"} {
		r = &lineReader{from: &slowly{[]byte(tooLong), len(tooLong)}, max: 1000}
		if got, err := r.next(); err != errTooLong {
			t.Errorf("%d bytes, error %v, want too long", len(got), err)
		}
	}
}

func FuzzLineReader(f *testing.F) {
	f.Add([]byte("a\nbb\n"), 1)
	f.Add([]byte("{\"id\":\"1\",\"result\":{}}\n"), 7)
	f.Fuzz(func(t *testing.T, data []byte, step int) {
		if step < 1 || step > 1<<16 {
			return
		}
		r := &lineReader{from: &slowly{data, step}, max: 1 << 16}
		var joined []byte
		for {
			line, err := r.next()
			if err != nil {
				break
			}
			joined = append(append(joined, line...), '\n')
			if got, derr := decode[Snapshot]("fuzz", line); derr == nil && got.Panes != nil && !json.Valid(line) {
				t.Errorf("%q was taken for a snapshot", line)
			}
		}
		if !bytes.HasPrefix(data, joined) {
			t.Errorf("lines %q of %q", joined, data)
		}
	})
}
