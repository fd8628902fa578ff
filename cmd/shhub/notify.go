package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"sessionhub/lib/hub"
	"sessionhub/lib/runlog"
)

// topics are the addresses to push to. Who knows one may read all notes, so a
// file can hold them in place of the command line, which others can see.
type topics []string

func (t *topics) String() string {
	if t == nil {
		return ""
	}
	return fmt.Sprintf("%d", len(*t))
}

// Set adds an address, or with @ those of a file, one a line.
func (t *topics) Set(s string) error {
	list := []string{s}
	if name, isFile := strings.CutPrefix(s, "@"); isFile {
		b, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		list = strings.Fields(string(b))
		if len(list) == 0 {
			return errors.New(name + " holds no address")
		}
	}
	for _, u := range list {
		if err := hub.CheckNotify(u); err != nil {
			return err
		}
	}
	*t = append(*t, list...)
	return nil
}

// hosts names where the notes go without their topics, which are secret.
func (t topics) hosts() string {
	var hosts []string
	for _, s := range t {
		if u, err := url.Parse(s); err == nil && !slices.Contains(hosts, u.Host) {
			hosts = append(hosts, u.Host)
		}
	}
	return strings.Join(hosts, ", ")
}

// notify starts pushing, if anybody is to be pushed to.
func notify(ctx context.Context, h *hub.Hub, o serveOptions, logw *runlog.Log) {
	if len(o.notify) == 0 {
		return
	}
	logw.Printf("pushes a note when a session waits, to %s", o.notify.hosts())
	h.Notify(ctx, &hub.Notifier{
		URLs: o.notify, Detail: o.detail, Link: o.page, Client: &http.Client{}, Now: time.Now,
		Pause: func(ctx context.Context, d time.Duration) {
			select {
			case <-ctx.Done():
			case <-time.After(d):
			}
		},
		Failed: func(err error) { logw.Failure("%v", err) },
	})
}
