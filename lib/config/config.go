// Package config reads config.toml: where the hub is, who this machine is,
// what it allows.
package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/BurntSushi/toml"
)

// Config is config.toml with its defaults filled in. Paths have "~" expanded.
type Config struct {
	ServerURL         string   `toml:"server_url"`
	AllowHTTP         bool     `toml:"allow_http"`
	Token             string   `toml:"token"`
	TokenFile         string   `toml:"token_file"`
	UserTokenFile     string   `toml:"user_token_file"`
	Machine           string   `toml:"machine"`
	RemoteStart       bool     `toml:"remote_start"`
	RemoteAnswer      bool     `toml:"remote_answer"`
	RemoteAnswerNever []string `toml:"remote_answer_never"`
	MoveRoots         []string `toml:"move_roots"`
	HerdrSockets      []string `toml:"herdr_sockets"`
	Notify            bool     `toml:"notify"`
	ClaudeHome        string   `toml:"claude_home"`
}

// ErrInvalid is wrapped by every error about the content of the file.
var ErrInvalid = errors.New("bad configuration")

// ErrNoToken says that a token is not configured.
var ErrNoToken = errors.New("no token")

// Path is where the environment says that config.toml is:
// $SESSIONHUB_CONFIG, else $XDG_CONFIG_HOME/sessionhub/config.toml, else
// ~/.config/sessionhub/config.toml.
func Path(getenv func(string) string) string {
	if p := getenv("SESSIONHUB_CONFIG"); p != "" {
		return p
	}
	if d := getenv("XDG_CONFIG_HOME"); filepath.IsAbs(d) {
		return filepath.Join(d, "sessionhub", "config.toml")
	}
	return filepath.Join(getenv("HOME"), ".config", "sessionhub", "config.toml")
}

// Load reads the config file that the environment names. A missing file gives
// the defaults, and so does one that can't be read or makes no sense, with an
// error that names file, line and key.
func Load(getenv func(string) string) (Config, error) {
	path := Path(getenv)
	none := defaults(getenv, filepath.Dir(path)).expand(getenv)
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return none, nil
	}
	if err != nil {
		return none, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	defer f.Close()
	c := defaults(getenv, filepath.Dir(path))
	if err := decode(f, &c); err != nil {
		return none, fmt.Errorf("%w: %s: %w", ErrInvalid, path, err)
	}
	return c.expand(getenv), nil
}

func defaults(getenv func(string) string, dir string) Config {
	claude := getenv("CLAUDE_CONFIG_DIR")
	if claude == "" {
		claude = "~/.claude"
	}
	return Config{
		TokenFile:     filepath.Join(dir, "token"),
		UserTokenFile: filepath.Join(dir, "user-token"),
		Machine:       hostname(),
		RemoteStart:   true,
		Notify:        true,
		ClaudeHome:    claude,
	}
}

func hostname() string {
	name, err := os.Hostname()
	if err != nil || name == "" {
		return "localhost"
	}
	name, _, _ = strings.Cut(name, ".")
	return name
}

func decode(r io.Reader, c *Config) error {
	meta, err := toml.NewDecoder(r).Decode(c)
	var parse toml.ParseError
	if errors.As(err, &parse) {
		return fmt.Errorf("line %d: %s", parse.Position.Line, parse.Message)
	}
	if err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "toml: "))
	}
	if left := meta.Undecoded(); len(left) > 0 {
		return fmt.Errorf("%q is not a setting", left[0].String())
	}
	return nil
}

func (c Config) expand(getenv func(string) string) Config {
	home := getenv("HOME")
	one := func(p *string) {
		if *p == "~" || strings.HasPrefix(*p, "~/") {
			*p = filepath.Join(home, strings.TrimPrefix(*p, "~"))
		}
	}
	one(&c.TokenFile)
	one(&c.UserTokenFile)
	one(&c.ClaudeHome)
	for _, list := range [][]string{c.MoveRoots, c.HerdrSockets} {
		for i := range list {
			one(&list[i])
		}
	}
	c.ServerURL = strings.TrimRight(c.ServerURL, "/")
	return c
}

// MachineToken is this machine's token, from the file's "token" or from
// token_file. ErrNoToken when there is neither.
func (c Config) MachineToken() (string, error) {
	if c.Token != "" {
		return c.Token, nil
	}
	return readToken("token_file", c.TokenFile)
}

// UserToken is the owner's token, from user_token_file.
func (c Config) UserToken() (string, error) {
	return readToken("user_token_file", c.UserTokenFile)
}

func readToken(setting, path string) (string, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%w: %s %s does not exist", ErrNoToken, setting, path)
	}
	if err != nil {
		return "", fmt.Errorf("%w: %s: %w", ErrNoToken, setting, err)
	}
	token := strings.TrimSpace(string(b))
	if token == "" || strings.ContainsAny(token, " \t\r\n") {
		return "", fmt.Errorf("%w: %s %s does not hold one token", ErrNoToken, setting, path)
	}
	return token, nil
}
