package install

import (
	"context"
	"errors"
	"fmt"
	"os/user"
	"path/filepath"
	"strings"

	"sessionhub/lib/config"
	"sessionhub/lib/hubclient"
	"sessionhub/lib/record"
)

// Account is how this machine reaches a hub: config.toml, this machine's token
// and its owner's, each in a file of its own. What a person wrote into config.toml
// stays as it is.
type Account struct {
	Conf    config.Config // as read, with what flags say of machine and allow_http
	Path    string        // of config.toml
	Data    string        // sessionhub's folder below XDG_DATA_HOME
	Watcher *Watcher      // told anew when the machine's name or hub changed
}

// desk is an Account while it is worked on, by a target.
type desk struct {
	*Account
	*books
	file confFile
}

func (a *Account) open(by string) (*desk, error) {
	file, err := readConf(a.Path)
	if err != nil {
		return nil, err
	}
	b, err := openBooks(a.Data, by)
	return &desk{Account: a, books: b, file: file}, err
}

// machine is this machine's name: config.toml's where that has one, as a
// person's settings stay.
func (d *desk) machine() string {
	if m := d.file.str("machine"); m != "" {
		return m
	}
	return d.Conf.Machine
}

// hubURL is the hub that config.toml names, "" for none.
func (d *desk) hubURL() string { return trimURL(d.file.str("server_url")) }

// ours reports whether config.toml is as this target wrote it, so that it may
// write it anew.
func (d *desk) ours() bool {
	w, ok := d.ledger.of(d.file.path, d.by)
	return ok && w.Block == "" && d.ledger.asWritten(d.file.path, d.file.text)
}

func trimURL(s string) string { return strings.TrimRight(s, "/") }

// client speaks to a hub as a machine of that name, with a token that may be "".
func (d *desk) client(url, machine, token string) (*hubclient.Client, error) {
	conf := d.Conf
	conf.ServerURL, conf.Machine = url, machine
	return hubclient.New(conf, token)
}

// configure writes settings into config.toml.
func (d *desk) configure(r *Run, settings ...setting) (changed bool, err error) {
	text, block, err := d.file.with("# by shinstall "+d.by, settings...)
	if err != nil {
		return false, err
	}
	f := File{Path: d.file.path, Old: d.file.text, New: text, Mode: 0o600}
	if f.same() {
		return false, r.Write("config", f)
	}
	switch w, ok := d.ledger.was.Files[f.Path]; {
	case f.Old == nil, ok && w.Block == "":
		block = "" // all of it is ours
	case ok && block == "":
		block = string(replaceLines([]byte(w.Block), settings))
	}
	if f.Old == nil || d.ledger.asWritten(f.Path, f.Old) || block != "" {
		d.ledger.note(f, d.by, block)
	}
	if err := errors.Join(d.ledger.save(r), r.Write("config", f)); err != nil {
		return false, err
	}
	return true, nil
}

// token is a token file, and what is proved of its token.
type token struct {
	kind  string // "token" or "user token"
	path  string
	text  []byte // of the file; nil when there is none
	value string // "" when the file holds none
}

func (d *desk) readToken(kind, path string) (token, error) {
	t := token{kind: kind, path: path}
	real, err := Resolve(path)
	if err != nil {
		return t, err
	}
	t.path = real
	if t.text, err = Read(real); err != nil {
		return t, err
	}
	t.value = strings.TrimSpace(string(t.text))
	if strings.ContainsAny(t.value, " \t\r\n") {
		t.value = ""
	}
	return t, nil
}

const (
	machineToken = "token"
	userToken    = "user token"
)

// tokens reads both files.
func (d *desk) tokens() (machine, user token, err error) {
	if machine, err = d.readToken(machineToken, d.Conf.TokenFile); err != nil {
		return machine, user, err
	}
	user, err = d.readToken(userToken, d.Conf.UserTokenFile)
	return machine, user, err
}

// store writes a token into its file.
func (d *desk) store(r *Run, t token, value string) error {
	f := t.file(value)
	d.ledger.note(f, d.by, "")
	return errors.Join(d.ledger.save(r), r.Write(t.kind, f))
}

func (t token) file(value string) File {
	return File{Path: t.path, Old: t.text, New: []byte(value + "\n"), Mode: 0o600, Secret: true}
}

// prove asks the hub whether it takes a token. A *hubclient.Error of class
// hubclient.Denied says that it does not.
func (d *desk) prove(ctx context.Context, url, machine string, t token) error {
	c, err := d.client(url, machine, t.value)
	if err != nil {
		return err
	}
	if t.kind == machineToken {
		return c.Probe(ctx, "")
	}
	_, err = c.Machines(ctx)
	return err
}

// denied reports whether the hub refused a token.
func denied(err error) bool { return err != nil && hubclient.Classify(err) == hubclient.Denied }

// remove takes away what a target wrote, as far as it is still as it wrote it.
func (d *desk) remove(r *Run) error {
	machine, user, err := d.tokens()
	if err != nil {
		return err
	}
	going := []string{}
	for _, f := range []struct {
		step string
		File
	}{
		{"config", File{Path: d.file.path, Old: d.file.text, Mode: 0o600}},
		{machine.kind, File{Path: machine.path, Old: machine.text, Secret: true}},
		{user.kind, File{Path: user.path, Old: user.text, Secret: true}},
	} {
		gone, err := d.removeFile(r, f.step, f.File)
		if err != nil {
			return err
		}
		if gone {
			going = append(going, f.Path)
		}
	}
	if err := d.ledger.save(r); err != nil {
		return err
	}
	if err := r.prune("folder", filepath.Dir(d.file.path), going...); err != nil {
		return err
	}
	return r.prune("folder", d.Data, d.ledger.file.Path)
}

// renew has a running watcher replaced: it keeps the machine's name.
func (d *desk) renew(ctx context.Context, r *Run) error {
	if d.Watcher == nil || r.DryRun {
		return nil
	}
	now, err := d.Watcher.Watch.Now()
	if err != nil || !now.Running {
		return err
	}
	return d.Watcher.HandOver(ctx, r, true, false)
}

// ownerName is what a user's token is called after.
func ownerName(getenv func(string) string) string {
	name := getenv("USER")
	if u, err := user.Current(); name == "" && err == nil {
		name = u.Username
	}
	if record.CheckName("user", name) != nil {
		return "owner"
	}
	return name
}

// checkMachine says why a name can't be a machine's.
func checkMachine(name string) error {
	if err := record.CheckName("machine", name); err != nil {
		return fmt.Errorf("%w: name this machine with --machine", err)
	}
	return nil
}
