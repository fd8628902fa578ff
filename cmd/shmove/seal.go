package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"

	"sessionhub/cmd/internal/front"
	"sessionhub/lib/bundle"
	"sessionhub/lib/record"
	"sessionhub/lib/seal"
)

func sealVerb() front.Verb {
	var to string
	return front.Verb{
		Name: "seal", Args: "[flags] [FILE]", Short: "seal a bundle for the machine that it is for",
		Long: `Reads a bundle and writes it as an age file. The recipient is the manifest's: a
bundle is bound to it when it is packed, and can't be sealed for another. The bundle
is checked on its way; of an unsound one the output stays cut, so that nobody can
open it.`,
		Flags: func(fs *flag.FlagSet) {
			fs.StringVar(&to, "to", "", "the age `recipient` that the bundle must be for")
		},
		Run: func(ctx context.Context, c *front.Call) error { return sealBundle(ctx, c, to) },
		Examples: []front.Example{
			{Line: "shmove seal session.tar.zst > session.age", For: "ready for any carrier"},
		},
		Exits: []front.Exit{
			{Code: front.ExitData, When: "the bundle is unsound, or for another recipient"},
			{Code: front.ExitNotAllowed, When: "its signature is bad"},
		},
	}
}

func sealBundle(ctx context.Context, c *front.Call, to string) error {
	if err := binary(c); err != nil {
		return err
	}
	in, err := input(c)
	if err != nil {
		return err
	}
	defer in.Close()
	return untilInterrupted(ctx, func() error { return coded(sealStream(c.Stdout, in, to)) })
}

// sealStream seals while it checks. What comes before the end of the manifest
// is held back until the recipient is known: 16 MiB at most.
func sealStream(w io.Writer, in io.Reader, to string) error {
	head := make(chan record.Manifest, 1)
	checked := make(chan error, 1)
	pr, pw := io.Pipe()
	go func() {
		_, err := bundle.Check(pr, bundle.Options{Recipient: to, Verify: func(m *record.Manifest, manifest, signature []byte) error {
			err := seal.Self(m, manifest, signature)
			if err == nil {
				head <- *m
			}
			return err
		}})
		pr.CloseWithError(errChecked) // a writer that waits goes on
		checked <- err
	}()
	s := &sealer{w: w, head: head}
	_, err := io.CopyBuffer(io.MultiWriter(pw, s), struct{ io.Reader }{in}, make([]byte, copyBuffer))
	if errors.Is(err, errChecked) {
		err = nil // the check says why
	}
	pw.CloseWithError(err)
	cerr := <-checked
	switch {
	case err != nil:
		return fmt.Errorf("seal: %w", err)
	case cerr != nil:
		return cerr
	}
	return s.close()
}

const (
	copyBuffer = 256 << 10
	maxHeld    = 16 << 20 // the largest manifest and what a decoder reads ahead
)

var errChecked = errors.New("the check is over")

// sealer is a writer that starts to seal when the manifest is known.
type sealer struct {
	w      io.Writer
	head   <-chan record.Manifest
	sealed io.WriteCloser
	held   bytes.Buffer
}

func (s *sealer) Write(p []byte) (int, error) {
	if s.sealed == nil {
		select {
		case m := <-s.head:
			if err := s.begin(m); err != nil {
				return 0, err
			}
		default:
			if s.held.Len() > maxHeld {
				return 0, fmt.Errorf("%w: its manifest does not come", bundle.ErrUnsound)
			}
			return s.held.Write(p)
		}
	}
	return s.sealed.Write(p)
}

func (s *sealer) begin(m record.Manifest) error {
	sealed, err := seal.Seal(s.w, m.Recipient)
	if err != nil {
		return err
	}
	s.sealed = sealed
	_, err = s.held.WriteTo(sealed)
	s.held = bytes.Buffer{}
	return err
}

// close ends the sealed file. The check has passed: the manifest is known.
func (s *sealer) close() error {
	if s.sealed == nil {
		if err := s.begin(<-s.head); err != nil {
			return err
		}
	}
	if err := s.sealed.Close(); err != nil {
		return fmt.Errorf("seal: %w", err)
	}
	return nil
}
