package fakecli

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// spec says which flags a verb has. Flags may stand anywhere before "--".
type spec struct {
	least int    // words that it needs
	value string // blank-separated names of flags with a value
	bools string // names of flags without
	bare  bool   // takes no words
}

type parsed struct {
	words []string
	flags map[string][]string
	rest  []string // after "--"
}

func (s spec) parse(args []string) (parsed, error) {
	p := parsed{flags: map[string][]string{}}
	has := func(list, name string) bool { return strings.Contains(" "+list+" ", " "+name+" ") }
	for i := 0; i < len(args); i++ {
		a := args[i]
		name, value, inline := strings.Cut(strings.TrimPrefix(a, "--"), "=")
		switch {
		case a == "--":
			p.rest = args[i+1:]
			return p, nil
		case !strings.HasPrefix(a, "--") && s.bare:
			return p, fmt.Errorf("unknown option: %s", a)
		case !strings.HasPrefix(a, "--"):
			p.words = append(p.words, a)
		case has(s.bools, name):
			p.flags[name] = []string{"true"}
		case !has(s.value, name):
			return p, fmt.Errorf("unknown option: %s", a)
		case inline:
			p.flags[name] = append(p.flags[name], value)
		case i+1 == len(args):
			return p, fmt.Errorf("missing value for %s", a)
		default:
			i++
			p.flags[name] = append(p.flags[name], args[i])
		}
	}
	for _, kv := range p.flags["env"] {
		if !strings.Contains(kv, "=") {
			return p, errors.New("env must use KEY=VALUE")
		}
	}
	return p, nil
}

func (p parsed) has(name string) bool { return len(p.flags[name]) > 0 }

func (p parsed) get(name string) string {
	if v := p.flags[name]; len(v) > 0 {
		return v[len(v)-1]
	}
	return ""
}

// copy puts flags that were given into params: "flag" or "flag:param".
func (p parsed) copy(into map[string]any, names ...string) map[string]any {
	for _, n := range names {
		flag, param, renamed := strings.Cut(n, ":")
		if !renamed {
			param = flag
		}
		if p.has(flag) {
			into[param] = p.get(flag)
		}
	}
	return into
}

func (p parsed) number(into map[string]any, flag, param string) {
	if n, err := strconv.Atoi(p.get(flag)); err == nil {
		into[param] = n
	}
}

// pairs turns K=V flags into a map.
func (p parsed) pairs(flag string) map[string]any {
	m := map[string]any{}
	for _, kv := range p.flags[flag] {
		k, v, _ := strings.Cut(kv, "=")
		m[k] = v
	}
	return m
}
