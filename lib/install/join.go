package install

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"sessionhub/lib/hubclient"
	"sessionhub/lib/record"
)

// ErrURL is wrapped by what is wrong with an address, or with sending a code
// there.
var ErrURL = errors.New("nothing was changed")

// ErrJoined says that this machine reports to another hub.
var ErrJoined = errors.New("this machine is joined to another hub")

// Join makes this machine known to a hub that runs elsewhere, by a code that
// `shhub pair` prints there.
type Join struct {
	URL     string
	Account *Account
	Replace bool // leave another hub
	// Code asks the person for the code. It is called only when one is needed.
	Code func(ctx context.Context) (string, error)
}

// Name is "join".
func (j *Join) Name() string { return "join" }

// address is the hub's, cleaned, and refused when what is sent there could be
// read by others.
func (j *Join) address(d *desk) (string, error) {
	u, err := url.Parse(trimURL(strings.TrimSpace(j.URL)))
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return "", fmt.Errorf("%q is no hub's address: https://HOST[:PORT] is wanted: %w", j.URL, ErrURL)
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return "", fmt.Errorf("a hub's address has no user, password, ? or #: %w", ErrURL)
	case u.Scheme == "http" && !d.Conf.AllowHTTP && !isLoopback(u.Hostname()):
		return "", fmt.Errorf("plain http to %s would show the code and the tokens to the network: use https, or --allow-http: %w", u.Hostname(), ErrURL)
	}
	return u.String(), nil
}

// Install joins the hub, unless this machine is joined to it already.
func (j *Join) Install(ctx context.Context, r *Run) error {
	d, err := j.Account.open(j.Name())
	if err != nil {
		return err
	}
	to, err := j.address(d)
	if err != nil {
		return err
	}
	if d.file.str("token") != "" {
		return fmt.Errorf("%s holds a token itself, which counts before that of token_file: take the line out, and run this again", d.Path)
	}
	machine, user, err := d.tokens()
	if err != nil {
		return err
	}
	done, err := j.joined(ctx, r, d, to, machine)
	if err != nil || done {
		return err
	}
	return j.join(ctx, r, d, to, machine, user)
}

// joined reports whether there is nothing to do: this machine reports to that
// hub, which takes its token.
func (j *Join) joined(ctx context.Context, r *Run, d *desk, to string, machine token) (bool, error) {
	switch have := d.hubURL(); {
	case have == "":
		return false, nil
	case !sameHub(have, to):
		if j.Replace {
			r.Note("config", "this machine leaves %s", have)
			return false, nil
		}
		return false, fmt.Errorf("%w, %s: --replace leaves it (nothing was changed)", ErrJoined, have)
	case machine.value == "":
		return false, nil
	}
	err := d.prove(ctx, to, d.Conf.Machine, machine)
	switch {
	case err == nil:
		r.Unchanged("join", "%s takes this machine for %s", to, d.Conf.Machine)
		return true, nil
	case denied(err):
		r.Note("join", "the hub refuses this machine's token (%v): a code is wanted for a new one", err)
		return false, nil
	}
	return false, err
}

func (j *Join) join(ctx context.Context, r *Run, d *desk, to string, machine, user token) error {
	name := d.Conf.Machine
	if err := checkMachine(name); err != nil {
		return err
	}
	if r.DryRun {
		return j.plan(r, d, to, name, machine, user)
	}
	for _, f := range []File{machine.file(""), user.file(""), {Path: d.file.path, Old: d.file.text}} {
		if err := f.Writable(); err != nil { // a code is good once
			return err
		}
	}
	c, err := d.client(to, name, "")
	if err != nil {
		return err
	}
	if _, _, err := c.Health(ctx); err != nil { // before anybody looks for a code
		return err
	}
	code, err := j.Code(ctx)
	if err != nil {
		return err
	}
	if code = strings.TrimSpace(code); code == "" {
		return fmt.Errorf("no code was given: shhub pair on the hub's machine prints one: %w", ErrURL)
	}
	p, err := c.Pair(ctx, code, name)
	if err != nil {
		return explainPair(err, name)
	}
	if err := j.write(r, d, to, p, machine, user); err != nil {
		return fmt.Errorf("%w (the code is used up: shhub pair --machine %s on the hub's machine makes one more)", err, p.Machine)
	}
	return j.verify(ctx, r, d, to, p, machine, user)
}

// plan tells what joining would change.
func (j *Join) plan(r *Run, d *desk, to, name string, machine, user token) error {
	r.Planned("join", "a code of shhub pair would be asked for, and given to %s for this machine, %s", to, name)
	for _, t := range []token{machine, user} {
		if err := r.Write(t.kind, t.file("")); err != nil {
			return err
		}
	}
	_, err := d.configure(r, j.settings(d, to, name)...)
	return err
}

func (j *Join) settings(d *desk, to, name string) []setting {
	set := []setting{{"server_url", to}, {"machine", name}}
	if u, err := url.Parse(to); err == nil && u.Scheme == "http" && !isLoopback(u.Hostname()) {
		set = append(set, setting{"allow_http", true})
	}
	return set
}

// write keeps the tokens before it points this machine to them: a crash between
// leaves the old hub, or none, and the next run asks for a new code.
func (j *Join) write(r *Run, d *desk, to string, p record.Paired, machine, user token) error {
	if err := d.store(r, machine, p.Token); err != nil {
		return err
	}
	if p.UserToken != "" {
		if err := d.store(r, user, p.UserToken); err != nil {
			return err
		}
	}
	_, err := d.configure(r, j.settings(d, to, p.Machine)...)
	return err
}

// verify proves what was written, as the tools will read it.
func (j *Join) verify(ctx context.Context, r *Run, d *desk, to string, p record.Paired, machine, user token) error {
	machine.value, user.value = p.Token, p.UserToken
	for _, t := range []token{machine, user} {
		if t.value == "" {
			continue
		}
		if err := d.prove(ctx, to, p.Machine, t); err != nil {
			return fmt.Errorf("joined, but the hub does not take the new %s: %w", t.kind, err)
		}
	}
	r.Changed("join", "%s takes this machine for %s", to, p.Machine)
	if p.UserToken == "" && user.text == nil {
		r.Note("user token", "the code gave none, so shctl can't ask the hub from here: a code of shhub pair --user NAME gives one")
	}
	return d.renew(ctx, r)
}

// explainPair says what a refused code means.
func explainPair(err error, name string) error {
	var e *hubclient.Error
	if !errors.As(err, &e) {
		return err
	}
	switch e.Status {
	case http.StatusForbidden:
		return fmt.Errorf("%w: get a new one from shhub pair on the hub's machine", err)
	case http.StatusConflict:
		return fmt.Errorf("%w (the code is good still: run this again with --machine OTHER)", err)
	case http.StatusNotFound:
		return fmt.Errorf("the hub there knows no pairing: it is older than this machine's tools; upgrade it: %w", err)
	}
	return err
}

// Remove takes away what joining wrote. The hub goes on to know the machine.
func (j *Join) Remove(_ context.Context, r *Run) error {
	d, err := j.Account.open(j.Name())
	if err != nil {
		return err
	}
	if have := d.hubURL(); have != "" && j.URL != "" && !sameHub(have, j.URL) {
		return fmt.Errorf("%w, %s (nothing was changed)", ErrJoined, have)
	}
	if err := d.remove(r); err != nil {
		return err
	}
	if len(d.ledger.was.Files) > 0 {
		r.Note("join", "the hub knows the machine still: shhub token list and shhub token revoke there end its token")
	}
	return nil
}

// Look tells nothing of its own: config.toml is told of anyway.
func (j *Join) Look(context.Context) Part { return Part{Part: j.Name(), State: Unclear} }
