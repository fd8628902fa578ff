package doctor

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"net/url"
	"os"
	"strings"
	"syscall"
	"time"

	"sessionhub/lib/hubclient"
)

const (
	// fixHub is what makes a machine known to a hub.
	fixHub = "shinstall hub, on the one machine that runs the hub, else shinstall join URL"
	// others are the modes by which others than the owner get in.
	others fs.FileMode = 0o077
	// skewLimit is how far the clocks may be apart: what is shown as "3 s ago"
	// must not be a minute off.
	skewLimit = 30 * time.Second
)

func (d *Doctor) config(context.Context, Known) Finding {
	switch {
	case d.ConfErr != nil:
		return broken("mend it by hand: until then the tools take the defaults, and queue everything", "%v", d.ConfErr)
	case d.Conf.ServerURL == "":
		return notSetUp(fixHub, "%s names no hub", d.Path)
	}
	if _, err := d.Hub(""); err != nil {
		return broken("mend it by hand", "%s: %v", d.Path, err)
	}
	if d.Conf.Token != "" {
		if f, ok := private(d.Path, "it holds this machine's token"); !ok {
			return f
		}
	}
	return fine("%s, machine %s", d.Conf.ServerURL, d.Conf.Machine)
}

// private says what is wrong with a file that only its owner may read.
func private(path, why string) (f Finding, ok bool) {
	st, err := os.Stat(path)
	if err != nil {
		return broken("", "%v", err), false
	}
	if st.Mode()&others != 0 {
		return broken("chmod 600 "+path, "others can read %s (%04o): %s", path, st.Mode().Perm(), why), false
	}
	return f, true
}

// state looks at the state directory: where the tools meet.
func (d *Doctor) state(context.Context, Known) Finding {
	path := string(d.Dir)
	st, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return notSetUp("it is made with the first record: shinstall plugin hooks, then start claude in herdr", "%s does not exist yet", path)
	case err != nil:
		return broken("", "%v", err)
	case !st.IsDir():
		return broken("move it away", "%s is no directory", path)
	}
	if sys, ok := st.Sys().(*syscall.Stat_t); ok && int(sys.Uid) != os.Geteuid() {
		return broken("change its owner, or name another directory by SESSIONHUB_STATE_DIR where herdr is started",
			"%s belongs to user id %d, and you are %d", path, sys.Uid, os.Geteuid())
	}
	if st.Mode()&others != 0 {
		return broken("chmod 700 "+path, "others can get into %s (%04o): prompts and titles are in there", path, st.Mode().Perm())
	}
	name, remote, err := d.FileSystem(path)
	switch {
	case err != nil && !errors.Is(err, errors.ErrUnsupported):
		return broken("", "file system of %s: %v", path, err)
	case remote:
		return broken("name a directory on a local disk by SESSIONHUB_STATE_DIR where herdr is started, and in your shell",
			"%s lies on a network file system (%s), where locks may hold up everything, or nobody", path, name)
	}
	return fine("%s", path)
}

// token looks at the file with this machine's token.
func (d *Doctor) token(context.Context, Known) Finding {
	if d.Conf.Token != "" {
		return fine("in config.toml")
	}
	if _, err := d.Conf.MachineToken(); err != nil {
		return broken(fixHub, "%v", err)
	}
	if f, ok := private(d.Conf.TokenFile, "who has it can report as this machine"); !ok {
		return f
	}
	return fine("%s", d.Conf.TokenFile)
}

// hub asks whether the hub answers; no token is needed for that.
func (d *Doctor) hub(ctx context.Context, _ Known) Finding {
	h, err := d.Hub("")
	if err != nil {
		return broken("", "%v", err)
	}
	health, _, err := h.Health(ctx)
	if err != nil {
		fix := "see whether shhub serve runs there, and whether this machine reaches it"
		if d.hubIsHere() {
			fix = "shinstall hub starts it as a service, shhub serve in the foreground"
		}
		return broken(fix, "%s", plain(err))
	}
	if health.Version == "" {
		return fine("%s answers", d.Conf.ServerURL)
	}
	return fine("%s answers, version %s", d.Conf.ServerURL, health.Version)
}

// plain is a hub client's error without the name of what was asked.
func plain(err error) string {
	var e *hubclient.Error
	if errors.As(err, &e) {
		return e.Detail
	}
	return err.Error()
}

// hubIsHere reports whether the hub's address is this machine's own.
func (d *Doctor) hubIsHere() bool {
	u, err := url.Parse(d.Conf.ServerURL)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

// machineHub is a client with this machine's token.
func (d *Doctor) machineHub() (Hub, error) {
	token, err := d.Conf.MachineToken()
	if err != nil {
		return nil, err
	}
	return d.Hub(token)
}

// access asks whether the hub takes this machine's token, and for this machine's.
func (d *Doctor) access(ctx context.Context, _ Known) Finding {
	h, err := d.machineHub()
	if err == nil {
		err = h.Probe(ctx, "")
	}
	switch {
	case err == nil:
		return fine("the hub takes this machine's token")
	case hubclient.Classify(err) == hubclient.Denied:
		return broken(fixHub, "the hub refuses this machine's token: %s", plain(err))
	}
	return broken("", "%s", plain(err))
}

// userToken looks at its owner's token, which shctl's questions need.
func (d *Doctor) userToken(ctx context.Context, _ Known) Finding {
	path := d.Conf.UserTokenFile
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return notSetUp("shinstall hub makes one, shhub pair --user NAME gives one to shinstall join", "%s does not exist: shctl can't ask the hub here", path)
	}
	token, err := d.Conf.UserToken()
	if err != nil {
		return broken("shinstall hub makes one, shhub pair --user NAME gives one to shinstall join", "%v", err)
	}
	if f, ok := private(path, "who has it sees all sessions"); !ok {
		return f
	}
	h, err := d.Hub(token)
	if err == nil {
		_, err = h.Machines(ctx)
	}
	switch {
	case err == nil:
		return fine("the hub takes the one of %s", path)
	case hubclient.Classify(err) == hubclient.Denied:
		return broken("remove "+path+", and run shinstall hub, or join once more with a code of shhub pair --user NAME",
			"the hub refuses the one of %s: %s", path, plain(err))
	}
	return broken("", "%s", plain(err))
}

// clock compares this machine's clock with the hub's.
func (d *Doctor) clock(ctx context.Context, _ Known) Finding {
	h, err := d.Hub("")
	if err != nil {
		return broken("", "%v", err)
	}
	_, skew, err := h.Health(ctx)
	if err != nil {
		return broken("", "%s", plain(err))
	}
	by, way := skew.By.Abs().Round(time.Second), "ahead of"
	if skew.By < 0 {
		way = "behind"
	}
	switch {
	case !skew.Known:
		return untested("the hub's answer tells no time")
	case skew.By.Abs() > skewLimit:
		return broken("have both clocks set by the network (timedatectl set-ntp true)", "this machine's clock is %s %s the hub's", by, way)
	}
	return fine("within a second or so of the hub's")
}

// signIn tells of sessions whose last turn failed as nobody is signed in (field
// report A47): under launchd, cron or ssh the keychain may be out of reach.
func (d *Doctor) signIn(ctx context.Context, _ Known) Finding {
	h, err := d.machineHub()
	if err != nil {
		return broken("", "%v", err)
	}
	list, err := h.OwnSessions(ctx)
	if err != nil {
		return broken("", "%s", plain(err))
	}
	var out []string
	for _, s := range list {
		if strings.HasPrefix(s.Note, "authentication_failed") {
			out = append(out, s.Session)
		}
	}
	if len(out) > 0 {
		return broken("type /login there; if herdr was started by launchd, cron or ssh, start it from a login at the screen: the keychain may be closed to it",
			"Claude Code could not sign in, in the last turn of %s", some(out))
	}
	return fine("no session of this machine failed to sign in")
}

// service says whether the hub comes back after a restart of the machine.
func (d *Doctor) service(ctx context.Context, _ Known) Finding {
	if !d.hubIsHere() {
		return fine("the hub runs elsewhere")
	}
	p := d.Service(ctx)
	if p.State == ready {
		return fine("the hub %s", p.Detail)
	}
	return notSetUp(p.Do, "no service runs the hub, so it does not come back by itself: %s", orNone(p.Detail))
}

func orNone(s string) string {
	if s == "" {
		return "there is none"
	}
	return s
}
