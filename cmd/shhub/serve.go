package main

import (
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"time"

	"sessionhub/cmd/internal/front"
	"sessionhub/lib/hub"
	"sessionhub/lib/runlog"
)

const (
	// headerWait bounds the arrival of a request's head.
	headerWait = 10 * time.Second
	// idleWait is how long an unused connection stays, longer than the
	// heartbeats of a watcher are apart.
	idleWait = 3 * time.Minute
	// drainWait bounds how long requests under way may take at a shutdown.
	drainWait = 30 * time.Second
)

type serveOptions struct {
	db, listen, cert, key string
	insecure              bool
	retention             time.Duration
	notify                topics
	detail                bool
	page                  string
	maxBundle             byteSize
}

func serveVerb() front.Verb {
	o := serveOptions{maxBundle: hub.MaxBundle}
	return front.Verb{
		Name: "serve", Args: "[flags]", Short: "run the hub",
		Long: `Serves the API, and at / a page for people, until SIGTERM; requests under way are
finished then. An address that is not this machine's own needs TLS, or --insecure
behind a proxy that has it.

--notify pushes a note to a service that is compatible with ntfy when a session asks
something or begins to wait: once for each, with its title and machine.`,
		Flags: func(fs *flag.FlagSet) {
			dbFlag(fs, &o.db)
			fs.StringVar(&o.listen, "listen", "127.0.0.1:7733", "the `address` to listen on")
			fs.StringVar(&o.cert, "tls-cert", "", "the certificate's `file` (PEM)")
			fs.StringVar(&o.key, "tls-key", "", "the key's `file` (PEM)")
			fs.BoolVar(&o.insecure, "insecure", false, "serve others without TLS")
			fs.Var(&o.notify, "notify", "push to this `topic` of ntfy, such as https://ntfy.sh/TOPIC, when a session waits for you; @FILE reads it, or several, from a file; may be repeated")
			fs.BoolVar(&o.detail, "notify-detail", false, "push the first line of what is asked, too")
			fs.StringVar(&o.page, "notify-link", "", "the `address` at which a phone opens this hub's page from a push")
			fs.Var(&o.maxBundle, "max-bundle", "the largest `size` of a moved session's bundle, such as 512MiB")
			fs.DurationVar(&o.retention, "retention", 90*24*time.Hour, "how `long` ended sessions and events are kept; 0 keeps them")
		},
		Run: func(ctx context.Context, c *front.Call) error { return serve(ctx, c, o) },
		Examples: []front.Example{
			{Line: "shhub serve", For: "for this machine alone"},
			{Line: "shhub serve --listen :7733 --tls-cert hub.pem --tls-key hub.key", For: "for others, too"},
			{Line: "shhub serve --notify https://ntfy.sh/SOME-LONG-TOPIC --notify-link https://hub.example:7733", For: "push a note to a phone when a session waits"},
		},
		Files: []string{"~/.local/share/sessionhub/hub.db  the database", "~/.local/share/sessionhub/hub.db.bundles/  bundles of moves that are under way"},
		Exits: append(dbExits(), front.Exit{Code: front.ExitUnavailable, When: "the address is taken"}),
	}
}

func serve(ctx context.Context, c *front.Call, o serveOptions) error {
	if err := noArgs(c); err != nil {
		return err
	}
	if err := o.check(); err != nil {
		return err
	}
	s, err := openStore(ctx, c, o.db, false)
	if err != nil {
		return err
	}
	defer s.Close()
	l, err := net.Listen("tcp", o.listen)
	if err != nil {
		return front.Fail(front.ExitUnavailable, err)
	}
	logw := &runlog.Log{W: c.Stderr}
	h := hub.New(s, time.Now)
	h.Failed = func(err error) { logw.Failure("%v", err) }
	h.Version, h.MaxBundle = c.Version.Number, int64(o.maxBundle)
	if err := h.Prepare(ctx); err != nil {
		l.Close()
		return err
	}
	srv := &http.Server{
		Handler: h, ReadHeaderTimeout: headerWait, IdleTimeout: idleWait,
		ErrorLog: log.New(logWriter{logw}, "", 0),
	}
	srv.RegisterOnShutdown(h.CloseStreams)
	scheme := "http"
	if o.cert != "" {
		pair, err := tls.LoadX509KeyPair(o.cert, o.key)
		if err != nil {
			l.Close()
			return front.Fail(front.ExitConfig, fmt.Errorf("tls: %w", err))
		}
		l = tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12})
		scheme = "https"
	}
	logw.Printf("shhub %s serves on %s://%s", c.Version.Number, scheme, l.Addr())
	notify(ctx, h, o, logw)
	go h.Retain(ctx, o.retention, func(err error) { logw.Failure("retention: %v", err) })
	go h.Tend(ctx, func(err error) { logw.Failure("moves: %v", err) })
	return run(ctx, srv, l, logw)
}

// run serves until the context ends, and lets the requests under way finish.
func run(ctx context.Context, srv *http.Server, l net.Listener, logw *runlog.Log) error {
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(l) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	logw.Printf("shutting down")
	dctx, cancel := context.WithTimeout(context.Background(), drainWait)
	defer cancel()
	if err := srv.Shutdown(dctx); err != nil {
		return fmt.Errorf("shut down: %w", err)
	}
	return nil
}

func (o serveOptions) check() error {
	host, _, err := net.SplitHostPort(o.listen)
	if err != nil {
		return front.Usage("--listen %q is no address: HOST:PORT is wanted", o.listen)
	}
	if (o.cert == "") != (o.key == "") {
		return front.Usage("--tls-cert and --tls-key go together")
	}
	ip := net.ParseIP(host)
	if host == "localhost" || ip != nil && ip.IsLoopback() || o.cert != "" || o.insecure {
		return nil
	}
	return front.Fail(front.ExitUsage, errors.New("--listen "+o.listen+" is open to others without TLS, so tokens would travel in the clear: give --tls-cert and --tls-key, or --insecure behind a proxy that has TLS"))
}

// logWriter puts net/http's own complaints into the log.
type logWriter struct{ log *runlog.Log }

func (w logWriter) Write(b []byte) (int, error) {
	w.log.Failure("%s", b)
	return len(b), nil
}
