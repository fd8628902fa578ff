package herdrtest

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"sessionhub/lib/herdr/herdrtest/screen"
)

// encodeKeys turns key names into bytes; one bad name and nothing is sent.
func (t *terminal) encodeKeys(keys []string) ([]byte, *apiError) {
	application := false
	t.look(func(sc *screen.Screen) { application = sc.ApplicationCursor() })
	var out []byte
	for _, k := range keys {
		b, known := encodeKey(k, application)
		if !known {
			return nil, fail("invalid_key", "unsupported key %s", k)
		}
		out = append(out, b...)
	}
	return out, nil
}

const (
	modShift = 1 << iota
	modAlt
	modCtrl
)

func encodeKey(key string, application bool) (string, bool) {
	if r, n := utf8.DecodeRuneInString(key); n == len(key) && n > 0 && !unicode.IsControl(r) {
		return key, true
	}
	lower := strings.ToLower(key)
	if rest, found := strings.CutPrefix(lower, "c-"); found {
		lower = "ctrl+" + rest
	}
	mods := 0
	for {
		switch mod, rest, found := strings.Cut(lower, "+"); {
		case found && mod == "shift":
			mods, lower = mods|modShift, rest
		case found && mod == "alt":
			mods, lower = mods|modAlt, rest
		case found && mod == "ctrl":
			mods, lower = mods|modCtrl, rest
		default:
			return modified(lower, mods, application)
		}
	}
}

func modified(name string, mods int, application bool) (string, bool) {
	if final, arrow := map[string]string{"up": "A", "down": "B", "right": "C", "left": "D"}[name]; arrow {
		switch {
		case mods != 0:
			return fmt.Sprintf("\x1b[1;%d%s", mods+1, final), true
		case application:
			return "\x1bO" + final, true
		}
		return "\x1b[" + final, true
	}
	if name == "enter" || name == "return" {
		if mods&^modAlt != 0 {
			return fmt.Sprintf("\x1b[27;%d;13~", mods+1), true
		}
		return altered("\r", mods), true
	}
	if name == "tab" && mods == modShift {
		return "\x1b[Z", true
	}
	if name == "space" && mods == modCtrl {
		return "\x00", true
	}
	if len(name) == 1 && mods&modCtrl != 0 && name[0] >= 'a' && name[0] <= 'z' {
		return altered(string(name[0]-'a'+1), mods), true
	}
	if b, known := namedKey(name); known && mods&modCtrl == 0 {
		return altered(b, mods), true
	}
	if r, n := utf8.DecodeRuneInString(name); n == len(name) && n > 0 && mods == modAlt {
		return altered(string(r), mods), true
	}
	return "", false
}

func altered(b string, mods int) string {
	if mods&modAlt != 0 {
		return "\x1b" + b
	}
	return b
}

func namedKey(name string) (string, bool) {
	b, known := map[string]string{
		"esc": "\x1b", "escape": "\x1b", "tab": "\t", "backspace": "\x7f", "bs": "\x7f", "space": " ",
		"f1": "\x1bOP", "f2": "\x1bOQ", "f3": "\x1bOR", "f4": "\x1bOS", "f5": "\x1b[15~",
		"f6": "\x1b[17~", "f7": "\x1b[18~", "f8": "\x1b[19~", "f9": "\x1b[20~", "f10": "\x1b[21~", "f11": "\x1b[23~",
		"f12": "\x1b[24~", "minus": "-", "comma": ",", "period": ".", "slash": "/", "backslash": "\\", "quote": "'",
		"double_quote": "\"", "semicolon": ";", "colon": ":", "percent": "%", "ampersand": "&", "backtick": "`", "plus": "+",
	}[name]
	return b, known
}
