package install

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
)

// ErrListen is wrapped by what is wrong with the words that say where the hub
// shall listen.
var ErrListen = errors.New("the hub would not start like this")

// Serve is how `shhub serve` is to be run.
type Serve struct {
	Listen    string // HOST:PORT
	Cert, Key string // files, for TLS
	Insecure  bool   // others are served without TLS
	// Notify is a file with the topics to push to, one a line: who knows a topic
	// reads all notes, and a service's file and command line are no secret.
	Notify string
	Link   string // where a phone opens the page from a push
	Detail bool   // push what is asked, too
}

// check refuses what `shhub serve` would refuse, and then again at every
// restart.
func (s Serve) check() error {
	host, port, err := net.SplitHostPort(s.Listen)
	switch {
	case err != nil || port == "" || port == "0":
		return fmt.Errorf("--listen %q is no address: HOST:PORT is wanted: %w", s.Listen, ErrListen)
	case (s.Cert == "") != (s.Key == ""):
		return fmt.Errorf("--tls-cert and --tls-key go together: %w", ErrListen)
	case s.Cert == "" && !s.Insecure && !isLoopback(host):
		return fmt.Errorf("--listen %s is open to others without TLS, so tokens would travel in the clear: give --tls-cert and --tls-key, or --insecure behind a proxy that has TLS: %w", s.Listen, ErrListen)
	}
	if strings.Contains(s.Notify, "://") {
		return fmt.Errorf("--notify wants a file that holds the topic's address, mode 0600, as others can read a service's command line: %w", ErrListen)
	}
	if s.Notify == "" && (s.Link != "" || s.Detail) {
		return fmt.Errorf("--notify-link and --notify-detail go with --notify: %w", ErrListen)
	}
	for _, f := range []string{s.Cert, s.Key, s.notifyFile()} {
		if f == "" {
			continue
		}
		if _, err := os.Stat(f); err != nil {
			return fmt.Errorf("%w: %w", err, ErrListen)
		}
	}
	return nil
}

// notifyFile is the file of topics; "@FILE" is how shhub serve names one.
func (s Serve) notifyFile() string { return strings.TrimPrefix(s.Notify, "@") }

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
