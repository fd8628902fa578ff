package install

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	// hubWait bounds the start of a hub; a large database of an older version
	// is brought up to date then.
	hubWait = 20 * time.Second
	// hubEvery is how often it is asked.
	hubEvery = 50 * time.Millisecond
	// hubLook bounds the question whether one runs already.
	hubLook = 3 * time.Second
)

// Hub runs the hub on this machine: a service of the user's, the two tokens that
// a first user needs, and config.toml.
type Hub struct {
	Tools    Tools
	Serve    Serve
	Account  *Account
	Getenv   func(string) string
	Manager  func(ctx context.Context) (Manager, string)
	Database string
	Hostname string // whole, for others' addresses
}

// Name is "hub".
func (h *Hub) Name() string { return "hub" }

// url is where this machine reaches the hub. A certificate is made for a name.
func (h *Hub) url() string {
	host, port, _ := net.SplitHostPort(h.Serve.Listen)
	any := host == ""
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		any = true
	}
	scheme := "http"
	if h.Serve.Cert != "" {
		scheme = "https"
	}
	switch {
	case any && scheme == "https":
		host = h.Hostname
	case any:
		host = "127.0.0.1"
	}
	return (&url.URL{Scheme: scheme, Host: net.JoinHostPort(host, port)}).String()
}

// job is the hub as a service. Every path is absolute: a manager's environment
// is not a shell's.
func (h *Hub) job() (Job, error) {
	argv := []string{h.Tools.Path("shhub"), "serve", "--db", h.Database, "--listen", h.Serve.Listen}
	for _, f := range []struct{ flag, mark, path string }{
		{"--tls-cert", "", h.Serve.Cert}, {"--tls-key", "", h.Serve.Key}, {"--notify", "@", h.Serve.notifyFile()},
	} {
		if f.path == "" {
			continue
		}
		abs, err := filepath.Abs(f.path)
		if err != nil {
			return Job{}, err
		}
		argv = append(argv, f.flag, f.mark+abs)
	}
	if h.Serve.Link != "" {
		argv = append(argv, "--notify-link", h.Serve.Link)
	}
	for _, f := range []struct {
		flag string
		on   bool
	}{{"--notify-detail", h.Serve.Detail}, {"--insecure", h.Serve.Insecure}} {
		if f.on {
			argv = append(argv, f.flag)
		}
	}
	return Job{Argv: argv, Env: []string{"PATH=" + jobPath(argv[0])}, About: "The hub of sessionhub"}, nil
}

// Install has the hub run, and this machine know it.
func (h *Hub) Install(ctx context.Context, r *Run) error {
	if err := h.Tools.Check("shhub"); err != nil {
		return err
	}
	if err := h.Serve.check(); err != nil {
		return err
	}
	d, err := h.Account.open(h.Name())
	if err != nil {
		return err
	}
	if err := checkMachine(d.machine()); err != nil {
		return err
	}
	if name := h.Account.Conf.Machine; name != d.machine() {
		r.Note("machine", "config.toml calls this machine %s, and stays: %s is not heeded", d.machine(), name)
	}
	up, err := h.run(ctx, r, d)
	if err != nil {
		return err
	}
	if have := d.hubURL(); have != "" && !sameHub(have, h.url()) && !d.ours() {
		r.Note("config", "config.toml names another hub, %s, and stays: this machine reports there; for this one set server_url = %q, and run shinstall hub again", have, h.url())
		return nil
	}
	changed, err := h.configure(r, d)
	if err != nil {
		return err
	}
	if err := h.tokens(ctx, r, d, up); err != nil {
		return err
	}
	if !changed {
		return nil
	}
	return d.renew(ctx, r)
}

// sameHub compares addresses; this machine has several names for itself.
func sameHub(a, b string) bool {
	ua, errA := url.Parse(trimURL(a))
	ub, errB := url.Parse(trimURL(b))
	if errA != nil || errB != nil {
		return a == b
	}
	same := strings.EqualFold(ua.Hostname(), ub.Hostname()) || isLoopback(ua.Hostname()) && isLoopback(ub.Hostname())
	return same && ua.Scheme == ub.Scheme && portOf(ua) == portOf(ub) && ua.Path == ub.Path
}

func portOf(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	if u.Scheme == "https" {
		return "443"
	}
	return "80"
}

// configure writes what config.toml lacks, or has from an earlier run.
func (h *Hub) configure(r *Run, d *desk) (changed bool, err error) {
	if have := d.hubURL(); have != "" && sameHub(have, h.url()) {
		r.Unchanged("config", "%s has server_url = %q", d.file.path, d.hubURL())
		return false, nil
	}
	set := []setting{{"server_url", h.url()}}
	if d.file.str("machine") == "" {
		set = append(set, setting{"machine", d.machine()})
	}
	return d.configure(r, set...)
}

// tokens makes those that are missing or that the hub refuses, and proves them.
func (h *Hub) tokens(ctx context.Context, r *Run, d *desk, up bool) error {
	if err := h.tokenDoubts(d); err != nil {
		return err
	}
	machine, user, err := d.tokens()
	if err != nil {
		return err
	}
	for _, t := range []struct {
		token
		args []string
	}{
		{machine, []string{"--machine", d.machine()}},
		{user, []string{"--user", ownerName(h.Getenv), "--scope", "read,ask"}},
	} {
		if err := h.token(ctx, r, d, t.token, up, t.args); err != nil {
			return err
		}
	}
	return nil
}

// tokenDoubts: a token within config.toml counts before the file's.
func (h *Hub) tokenDoubts(d *desk) error {
	if d.file.str("token") == "" {
		return nil
	}
	return fmt.Errorf("%s holds a token itself, which counts before that of token_file: take the line out, and run this again", d.Path)
}

func (h *Hub) token(ctx context.Context, r *Run, d *desk, t token, up bool, args []string) error {
	if t.value != "" {
		if !up {
			r.Unchanged(t.kind, "%s is there; no hub was reached, so it is not proved", t.path)
			return nil
		}
		err := d.prove(ctx, h.url(), d.machine(), t)
		if err == nil {
			r.Unchanged(t.kind, "the hub takes the one of %s", t.path)
			return nil
		}
		if !denied(err) {
			return err
		}
		r.Note(t.kind, "the hub refuses the one of %s (%v): a new one takes its place", t.path, err)
	}
	if err := t.file("").Writable(); err != nil {
		return err
	}
	add := Command{Argv: append([]string{h.Tools.Path("shhub"), "token", "add", "--db", h.Database}, args...)}
	out, ran, err := r.Do(ctx, t.kind, add)
	if err != nil || !ran {
		return err
	}
	value := strings.TrimSpace(string(out.Stdout))
	if out.Code != 0 || value == "" {
		return fmt.Errorf("%s: %s", add.Line(), Output{Stderr: out.Stderr, Code: out.Code}.Line()) // never its standard output
	}
	if err := d.store(r, t, value); err != nil || !up {
		return err
	}
	t.value = value
	if err := d.prove(ctx, h.url(), d.machine(), t); err != nil {
		return fmt.Errorf("the hub at %s does not take the %s that was just made in %s: does another hub, with another database, answer there? %w", h.url(), t.kind, h.Database, err)
	}
	return nil
}

// ask asks whether a hub answers, and which version it is.
func (h *Hub) ask(ctx context.Context, d *desk) (version string, err error) {
	c, err := d.client(h.url(), "", "")
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, hubLook)
	defer cancel()
	health, _, err := c.Health(ctx)
	return health.Version, err
}

// await waits until a hub of a version answers.
func (h *Hub) await(ctx context.Context, d *desk, version string) error {
	ctx, cancel := context.WithTimeout(ctx, hubWait)
	defer cancel()
	for {
		got, err := h.ask(ctx, d)
		switch {
		case err == nil && got == version:
			return nil
		case err == nil:
			err = fmt.Errorf("version %q answers there, not %q", got, version)
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(hubEvery):
		}
	}
}

// Remove ends the service and takes away what Install wrote. The database stays:
// it is what the hub is for.
func (h *Hub) Remove(ctx context.Context, r *Run) error {
	d, err := h.Account.open(h.Name())
	if err != nil {
		return err
	}
	m, err := h.stop(ctx, r, d)
	if err != nil {
		return err
	}
	if m == nil {
		if at := h.byHand(ctx, d); at != "" {
			r.Note("service", "the hub that answers at %s is no service: it is yours to end", at)
		}
	}
	if err := d.remove(r); err != nil {
		return err
	}
	if _, err := os.Stat(h.Database); err == nil {
		r.Note("database", "%s stays, with all that was reported: rm %s* deletes it", h.Database, h.Database)
	}
	return nil
}

// byHand is the address of a hub on this machine that answers though nothing
// manages services here: a person runs it. "" for none.
func (h *Hub) byHand(ctx context.Context, d *desk) string {
	at := d.hubURL()
	u, err := url.Parse(at)
	if err != nil || !isLoopback(u.Hostname()) {
		return ""
	}
	c, err := d.client(at, "", "")
	if err != nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, hubLook)
	defer cancel()
	if _, _, err := c.Health(ctx); err != nil {
		return ""
	}
	return at
}

// HubFacts are what only the hub has to tell.
type HubFacts struct {
	Manager string `json:"manager,omitempty"`
	Why     string `json:"why,omitempty"` // there is no manager
	Unit    bool   `json:"unit"`          // its file is there
	Enabled bool   `json:"enabled"`
	Running bool   `json:"running"`
}

// Look tells how the service is.
func (h *Hub) Look(ctx context.Context) Part {
	p := Part{Part: h.Name(), State: Missing, Do: "shinstall hub, on the one machine that is to run the hub"}
	m, why := h.Manager(ctx)
	if m == nil {
		p.Detail, p.Do, p.Facts = why, "keep shhub serve running by what runs programs here: shinstall hub prints the whole command", HubFacts{Why: why}
		if d, err := h.Account.open(h.Name()); err == nil {
			if at := h.byHand(ctx, d); at != "" {
				p.Detail += "; a hub that is no service answers at " + at
			}
		}
		return p
	}
	facts := HubFacts{Manager: m.Name()}
	p.Path = m.Paths()[0]
	text, err := Read(p.Path)
	var st JobState
	if err == nil {
		st, err = m.State(ctx)
	}
	facts.Unit, facts.Enabled, facts.Running = text != nil, st.Enabled, st.Running
	p.Facts = facts
	switch {
	case err != nil:
		p.State, p.Detail, p.Do = Unclear, err.Error(), ""
	case text == nil:
	case !st.Running || !st.Enabled:
		p.State, p.Detail, p.Do = Stale, "it does not run as it should", "shinstall hub; "+m.LogHint()+" says what went wrong"
	default:
		p.State, p.Detail, p.Do = Ready, "runs by "+m.Name(), ""
	}
	return p
}
