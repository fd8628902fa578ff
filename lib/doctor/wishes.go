package doctor

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"github.com/BurntSushi/toml"
)

// What these checks find is a matter of taste: never broken, but for a timer that
// is there and can't do what it is for.

// revive looks at the timer that runs shrevive. One that is there, and whose
// programs are gone or whose last pass failed, resumes nothing, and nobody hears of
// it.
func (d *Doctor) revive(ctx context.Context, _ Known) Finding {
	p := d.Revive(ctx)
	switch p.State {
	case ready:
		return fine("%s", p.Detail)
	case missing:
		return notSetUp(p.Do, "no timer runs shrevive%s: a background session that a limit stopped stays so", inBrackets(p.Detail))
	case off:
		return notSetUp(p.Do, "the timer of shrevive is off: %s", p.Detail)
	case unclear:
		return untested("%s", p.Detail)
	}
	return broken(p.Do, "the timer of shrevive: %s", p.Detail)
}

func inBrackets(s string) string {
	if s == "" {
		return ""
	}
	return " (" + s + ")"
}

// remoteStart tells whether the hub may have sessions started here.
func (d *Doctor) remoteStart(context.Context, Known) Finding {
	if d.Conf.RemoteStart {
		return fine("on: who holds a user's token may have sessions started on this machine")
	}
	return notSetUp("remote_start = true in config.toml switches it on", "off: no session can be started on this machine from elsewhere")
}

// remoteAnswer tells whether what sessions ask may be answered from afar.
func (d *Doctor) remoteAnswer(context.Context, Known) Finding {
	if d.Conf.RemoteAnswer {
		return fine("on: who holds a user's token with the scope answer may let sessions here do what they ask for")
	}
	return notSetUp("shinstall hooks --answers switches it on, and says what that means", "off: what a session asks is shown elsewhere, and answered at its screen")
}

// herdrConfig is what of herdr's config.toml is looked at.
type herdrConfig struct {
	UI struct {
		Toast struct {
			Delivery string `toml:"delivery"`
		} `toml:"toast"`
		Sidebar struct {
			Spaces struct {
				Rows [][]any `toml:"rows"`
			} `toml:"spaces"`
		} `toml:"sidebar"`
	} `toml:"ui"`
}

func (d *Doctor) readHerdrConfig() (c herdrConfig, err error) {
	b, err := os.ReadFile(d.HerdrConfig)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return c, err
	}
	_, err = toml.Decode(string(b), &c)
	return c, err
}

// notifications tells whether a blocked session shows at the screen.
func (d *Doctor) notifications(context.Context, Known) Finding {
	if !d.Conf.Notify {
		return notSetUp("notify = true in config.toml switches it on", "off in config.toml: a session that waits shows no notification")
	}
	c, err := d.readHerdrConfig()
	if err != nil {
		return untested("%s: %v", d.HerdrConfig, err)
	}
	if v := c.UI.Toast.Delivery; v == "" || v == "off" {
		f := notSetUp("add this to "+d.HerdrConfig+"; herdr server reload-config applies it", "herdr shows no notifications, as it does by default: a session that waits shows none")
		f.Lines = "[ui.toast]\ndelivery = \"herdr\"\n"
		return f
	}
	return fine("herdr shows them (%s)", c.UI.Toast.Delivery)
}

// inboxCount tells whether the count is seen: the person's rows decide that.
func (d *Doctor) inboxCount(context.Context, Known) Finding {
	c, err := d.readHerdrConfig()
	if err != nil {
		return untested("%s: %v", d.HerdrConfig, err)
	}
	for _, row := range c.UI.Sidebar.Spaces.Rows {
		for _, entry := range row {
			token := entry
			if t, ok := entry.(map[string]any); ok {
				token = t["token"]
			}
			if token == "$inbox" {
				return fine("herdr's sidebar shows it")
			}
		}
	}
	f := notSetUp("add this to "+d.HerdrConfig+"; herdr server reload-config applies it", "herdr's sidebar does not show how many sessions wait")
	f.Lines = d.SidebarLines
	return f
}
