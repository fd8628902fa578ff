package install

import (
	"bytes"
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"github.com/BurntSushi/toml"
)

// confFile is config.toml as text: a person's file, in which only single lines
// are changed.
type confFile struct {
	path string // with links followed
	text []byte // nil when there is none
	set  map[string]any
}

func readConf(path string) (confFile, error) {
	real, err := Resolve(path)
	if err != nil {
		return confFile{}, err
	}
	c := confFile{path: real}
	if c.text, err = Read(real); err != nil {
		return c, err
	}
	if c.set, err = decodeConf(c.text); err != nil {
		return c, fmt.Errorf("%s: %w; mend it by hand first (nothing was changed)", path, err)
	}
	return c, nil
}

func decodeConf(text []byte) (map[string]any, error) {
	set := map[string]any{}
	_, err := toml.Decode(string(text), &set)
	return set, err
}

// str is a setting that is a string; "" when it is none.
func (c confFile) str(key string) string {
	s, _ := c.set[key].(string)
	return s
}

// setting is a line of config.toml.
type setting struct {
	key   string
	value any // a string or a bool
}

func (s setting) line() (string, error) {
	var b bytes.Buffer
	if err := toml.NewEncoder(&b).Encode(map[string]any{s.key: s.value}); err != nil {
		return "", fmt.Errorf("config.toml: %s: %w", s.key, err)
	}
	return b.String(), nil
}

// with is the text with the settings in it: lines that are there are changed in
// their place, missing ones are put in front, under a head that says who wrote
// them. block is what was put in front; for a file that was not there it is all.
func (c confFile) with(head string, settings ...setting) (text []byte, block string, err error) {
	text = bytes.Clone(c.text)
	want := map[string]any{}
	for k, v := range c.set {
		want[k] = v
	}
	for _, s := range settings {
		line, err := s.line()
		if err != nil {
			return nil, "", err
		}
		if _, there := want[s.key]; !there {
			block += line
		}
		want[s.key] = s.value
	}
	text = replaceLines(text, settings)
	if block != "" {
		block = head + "\n" + block
		if c.text != nil && len(bytes.TrimSpace(c.text)) > 0 {
			block += "\n"
		}
		text = append([]byte(block), text...)
	}
	got, err := decodeConf(text)
	if err != nil || !reflect.DeepEqual(got, want) {
		return nil, "", fmt.Errorf("%s can't be changed safely: set %s in it by hand", c.path, keysOf(settings))
	}
	return text, block, nil
}

// replaceLines gives the lines of settings their values, where there are such.
func replaceLines(text []byte, settings []setting) []byte {
	for _, s := range settings {
		have, err := decodeConf(text)
		if value, there := have[s.key]; err != nil || !there || value == s.value {
			continue
		}
		if line, err := s.line(); err == nil {
			text = lineOf(s.key).ReplaceAllLiteral(text, []byte(strings.TrimSuffix(line, "\n")))
		}
	}
	return text
}

// lineOf matches the line of a setting.
func lineOf(key string) *regexp.Regexp {
	return regexp.MustCompile(`(?m)^[ \t]*"?` + regexp.QuoteMeta(key) + `"?[ \t]*=.*$`)
}

func keysOf(settings []setting) string {
	var out string
	for i, s := range settings {
		if i > 0 {
			out += ", "
		}
		out += s.key
	}
	return out
}
