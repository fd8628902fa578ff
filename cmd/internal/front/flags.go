package front

import (
	"flag"
	"fmt"
	"strings"

	"github.com/peterbourgon/ff/v3"

	"sessionhub/lib/config"
)

// envPrefix begins the environment name of every setting.
const envPrefix = "SESSIONHUB"

// setting is a setting of config.toml as a flag.
type setting struct {
	usage string
	value func(c *config.Config) flag.Value
}

func stringSetting(usage string, field func(*config.Config) *string) setting {
	return setting{usage, func(c *config.Config) flag.Value { return (*stringValue)(field(c)) }}
}

func boolSetting(usage string, field func(*config.Config) *bool) setting {
	return setting{usage, func(c *config.Config) flag.Value { return (*Switch)(field(c)) }}
}

func listSetting(usage string, field func(*config.Config) *[]string) setting {
	return setting{usage, func(c *config.Config) flag.Value { return &listValue{list: field(c)} }}
}

// settings are the settings of config.toml that verbs can take as flags.
func settings() map[string]setting {
	return map[string]setting{
		"server_url":      stringSetting("the hub's `URL`", func(c *config.Config) *string { return &c.ServerURL }),
		"allow_http":      boolSetting("allow plain http to a host that is not this machine", func(c *config.Config) *bool { return &c.AllowHTTP }),
		"token_file":      stringSetting("`file` with this machine's token", func(c *config.Config) *string { return &c.TokenFile }),
		"user_token_file": stringSetting("`file` with its owner's token", func(c *config.Config) *string { return &c.UserTokenFile }),
		"machine":         stringSetting("this machine's `name`", func(c *config.Config) *string { return &c.Machine }),
		"herdr_sockets":   listSetting("more herdr `sockets` to watch, separated by commas", func(c *config.Config) *[]string { return &c.HerdrSockets }),
		"notify":          boolSetting("show a herdr notification when a session becomes blocked", func(c *config.Config) *bool { return &c.Notify }),
		"move_roots":      listSetting("more `folders` in which clones are looked for, besides ~/Code, separated by commas", func(c *config.Config) *[]string { return &c.MoveRoots }),
		"claude_home":     stringSetting("Claude Code's `folder`", func(c *config.Config) *string { return &c.ClaudeHome }),
	}
}

// settings loads the config file, puts the environment over it and registers
// the named settings as flags whose defaults are the result.
func (c *Call) settings(fs *flag.FlagSet, names []string) error {
	if len(names) == 0 {
		return nil
	}
	conf, err := config.Load(c.Getenv)
	c.Config = conf
	all := settings()
	env := flag.NewFlagSet("environment", flag.ContinueOnError)
	for _, name := range names {
		s, flagName := all[name], strings.ReplaceAll(name, "_", "-")
		env.Var(s.value(&c.Config), flagName, s.usage)
	}
	if envErr := ff.Parse(env, nil, ff.WithEnvVarPrefix(envPrefix)); envErr != nil && err == nil {
		err = fmt.Errorf("%w: environment: %w", config.ErrInvalid, envErr)
	}
	c.Config.ServerURL = strings.TrimRight(c.Config.ServerURL, "/")
	for _, name := range names {
		s, flagName := all[name], strings.ReplaceAll(name, "_", "-")
		fs.Var(s.value(&c.Config), flagName, s.usage+" [$"+envName(flagName)+"]")
	}
	return err
}

// fromEnv sets flags from the environment names that their verb gives them.
func fromEnv(fs *flag.FlagSet, names map[string][]string, getenv func(string) string) error {
	for name, envs := range names {
		for _, env := range envs {
			v := getenv(env)
			if v == "" {
				continue
			}
			if err := fs.Set(name, v); err != nil {
				return fmt.Errorf("%w: $%s: %w", config.ErrInvalid, env, err)
			}
			break
		}
	}
	return nil
}

func envName(flagName string) string {
	return envPrefix + "_" + strings.ToUpper(strings.ReplaceAll(flagName, "-", "_"))
}

type stringValue string

func (s *stringValue) String() string {
	if s == nil {
		return ""
	}
	return string(*s)
}

func (s *stringValue) Set(v string) error { *s = stringValue(v); return nil }

// Switch is a boolean flag that takes on and off, too.
type Switch bool

// String is "true" or "false".
func (s *Switch) String() string {
	if s != nil && *s {
		return "true"
	}
	return "false"
}

// Set reads on, off, true, false, yes, no, 1 and 0.
func (s *Switch) Set(v string) error {
	switch strings.ToLower(v) {
	case "on", "true", "yes", "1":
		*s = true
	case "off", "false", "no", "0":
		*s = false
	default:
		return fmt.Errorf("%q is neither on nor off", v)
	}
	return nil
}

// IsBoolFlag lets the flag stand without a value.
func (s *Switch) IsBoolFlag() bool { return true }

// listValue replaces the list at its first Set and adds to it after that.
type listValue struct {
	list *[]string
	set  bool
}

func (l *listValue) String() string {
	if l == nil || l.list == nil {
		return ""
	}
	return strings.Join(*l.list, ",")
}

func (l *listValue) Set(v string) error {
	if !l.set {
		*l.list, l.set = nil, true
	}
	for _, s := range strings.Split(v, ",") {
		if s = strings.TrimSpace(s); s != "" {
			*l.list = append(*l.list, s)
		}
	}
	return nil
}

// reorder puts flags before arguments, as the flag package stops at the first
// argument: flags may stand before, between and after them; "-" is an
// argument, and "--" ends the flags.
func reorder(fs *flag.FlagSet, args []string) ([]string, error) {
	var flags, rest []string
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case a == "--":
			rest = append(rest, args[i+1:]...)
			return append(append(flags, "--"), rest...), nil
		case a == "-" || !strings.HasPrefix(a, "-"):
			rest = append(rest, a)
			continue
		}
		flags = append(flags, a)
		name := strings.TrimLeft(a, "-")
		f := fs.Lookup(name)
		if f == nil || isBool(f.Value) { // unknown, --name=value, or a switch
			continue
		}
		if i+1 == len(args) {
			return nil, fmt.Errorf("flag needs an argument: -%s", name)
		}
		i++
		flags = append(flags, args[i])
	}
	return append(append(flags, "--"), rest...), nil
}

func isBool(v flag.Value) bool {
	b, ok := v.(interface{ IsBoolFlag() bool })
	return ok && b.IsBoolFlag()
}
