package main

import (
	"os"
	"path/filepath"
	"slices"
	"time"

	"sessionhub/cmd/internal/front"
	"sessionhub/lib/claude"
	"sessionhub/lib/config"
	"sessionhub/lib/digest"
	"sessionhub/lib/herdr"
	"sessionhub/lib/hubclient"
	"sessionhub/lib/queue"
	"sessionhub/lib/runlog"
	"sessionhub/lib/state"
	"sessionhub/lib/watch"
)

// build makes the watcher that the configuration describes.
func build(c *front.Call, herdrFlag string) (*watch.Watcher, error) {
	dir, err := state.Default(c.Getenv)
	if err != nil {
		return nil, front.Fail(front.ExitConfig, err)
	}
	hub := &connector{conf: c.Config, getenv: c.Getenv}
	git := &watch.GitCache{Learned: make(chan struct{}, 1)}
	return &watch.Watcher{
		Queue:   &queue.Queue{Dir: dir},
		Dir:     dir,
		Connect: hub.connect,
		Looker:  &watch.PresenceLooker{ClaudeHome: c.Config.ClaudeHome, Getenv: c.Getenv},
		Git:     git.Get,
		Learned: git.Learned,
		Digests: &digest.Digester{Dir: dir, Home: claude.Home(c.Config.ClaudeHome)},
		Log:     &runlog.Log{W: c.Stderr},
		Machine: c.Config.Machine,
		Version: c.Version.Number,
		Sockets: sockets(c, herdrFlag),
		Claude:  filepath.Join(c.Config.ClaudeHome, "sessions"),
		Timing:  watch.DefaultTiming(),
		Now:     time.Now,
	}, nil
}

// sockets are the herdr servers named by flag, environment and config.
func sockets(c *front.Call, herdrFlag string) []string {
	var list []string
	for _, s := range append([]string{herdrFlag, c.Getenv("HERDR_SOCKET_PATH")}, c.Config.HerdrSockets...) {
		if s != "" && !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	return list
}

// connector makes the hub client, and makes it anew when the config file or
// the token changed, so that a watcher needs no restart for that.
type connector struct {
	conf   config.Config
	getenv func(string) string
	client *hubclient.Client
	stamp  [2]time.Time // of config and token file
}

func (k *connector) connect() (watch.Hub, error) {
	conf := k.conf
	stamp := [2]time.Time{modified(config.Path(k.getenv)), modified(conf.TokenFile)}
	if k.client != nil && stamp == k.stamp {
		return k.client, nil
	}
	if conf.ServerURL == "" || k.client != nil {
		fresh, err := config.Load(k.getenv)
		if err != nil {
			return nil, err
		}
		if fresh.ServerURL != "" {
			conf.ServerURL, conf.AllowHTTP, conf.Token, conf.TokenFile = fresh.ServerURL, fresh.AllowHTTP, fresh.Token, fresh.TokenFile
		}
	}
	token := ""
	if conf.ServerURL != "" { // without it there is no need to speak of the token
		var err error
		if token, err = conf.MachineToken(); err != nil {
			return nil, err
		}
	}
	client, err := hubclient.New(conf, token)
	if err != nil {
		return nil, err
	}
	k.conf, k.client, k.stamp = conf, client, stamp
	return client, nil
}

func modified(path string) time.Time {
	st, err := os.Stat(path)
	if err != nil {
		return time.Time{}
	}
	return st.ModTime()
}

// socketOf is the herdr server that a verb speaks of.
func socketOf(c *front.Call, herdrFlag string) string {
	if herdrFlag != "" {
		return herdrFlag
	}
	return herdr.DefaultSocket(c.Getenv)
}
