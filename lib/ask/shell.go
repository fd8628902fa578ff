package ask

import (
	"strings"
)

// commandMatches reports whether any part of a shell command may be what a
// rule's content means. The command is not parsed as a shell does, which could
// be fooled; the rule is tried at every word of it, whatever the word is: behind
// &&, ||, ;, | and &, on other lines, in $( ), in backticks, in subshells, in
// quotes, as an argument of xargs or sudo. What a variable or a pattern stands
// for is not known, so it fits anything; and a shell, or eval, that is given a
// text may run anything.
func commandMatches(content, command string) bool {
	if strings.ContainsRune(command, wild) {
		return true
	}
	command = strings.ReplaceAll(strings.ToLower(command), "\\\n", "")
	content, open := commandPattern(content)
	if content == "" {
		return true
	}
	for _, split := range []bool{false, true} {
		words, doubt := shellWords(command, split)
		if doubt {
			return true
		}
		pattern, pdoubt := shellWords(content, split)
		if pdoubt && len(pattern) == 0 {
			return true
		}
		for _, whole := range []bool{true, false} { // "/bin/rm" is "rm", also in a rule
			if newMatcher(pattern, open, whole).anywhere(words) {
				return true
			}
		}
	}
	return false
}

// commandPattern is a rule's content without the * at its end; open says that a
// word may go on where the rest ends.
func commandPattern(content string) (rest string, open bool) {
	rest = strings.ToLower(strings.TrimSpace(content))
	if r, ok := strings.CutSuffix(rest, ":*"); ok {
		return strings.TrimSpace(r), true
	}
	for strings.HasSuffix(rest, "*") {
		r := strings.TrimSuffix(rest, "*")
		if t := strings.TrimRight(r, " \t"); t != r { // "rm *" is "rm" as well
			rest, open = t, false
			continue
		}
		rest, open = r, true
	}
	return rest, open
}

// wild stands in a word for what is not known before the command runs.
const wild = '\x00'

// shellWord is a word of a command.
type shellWord struct {
	text string
	cmd  bool // a command's name may stand here
}

// shellWords takes a command apart. With split, quotes and the punctuation of
// other languages end a word, too; else quotes are taken out of words. Doubt says
// that a text is run that is not in sight.
func shellWords(s string, split bool) (words []shellWord, doubt bool) {
	l := lexer{split: split, cmd: true}
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '\\' && i+1 < len(s):
			i++
			l.put(s[i])
		case c == ' ' || c == '\t':
			l.end()
		case c == '\n' || c == '\r' || strings.IndexByte(";|&()", c) >= 0:
			l.part()
		case c == '{' || c == '}':
			l.part()
		case c == '`':
			l.put(wild)
			l.part()
		case c == '$':
			l.put(wild)
			i += nameLength(s[i+1:])
		case c == '<' || c == '>':
			l.end()
			l.target = true
		case c == '\'' || c == '"':
			l.quoted = true
			if split {
				l.end()
			}
		case c == '[' && l.word.Len() == 0 && i+1 < len(s) && strings.IndexByte(" [\t", s[i+1]) >= 0:
			l.put('[')
			if s[i+1] == '[' {
				i++
				l.put('[')
			}
		case c == '*' || c == '?' || c == '[':
			l.put(wild)
		case split && strings.IndexByte(",=:#%+!", c) >= 0:
			l.end()
		default:
			l.put(c)
		}
	}
	l.end()
	return l.words, l.doubt
}

// nameLength is how much of s, which follows a $, is the name of a variable.
func nameLength(s string) int {
	n := 0
	for n < len(s) && (s[n] == '_' || s[n] >= 'a' && s[n] <= 'z' || s[n] >= '0' && s[n] <= '9') {
		n++
	}
	if n == 0 && s != "" && strings.IndexByte("@*#?!-", s[0]) >= 0 {
		n = 1
	}
	return n
}

type lexer struct {
	split  bool
	word   strings.Builder
	quoted bool // the word has quotes: it is there even when it is empty
	cmd    bool // the next word may be a command
	loose  bool // until the end of this part every word may be one
	target bool // the next word is a file
	words  []shellWord
	doubt  bool
}

func (l *lexer) put(c byte) { l.word.WriteByte(c) }

// part ends a simple command.
func (l *lexer) part() {
	l.end()
	l.cmd, l.loose, l.target = true, false, false
}

// end ends a word.
func (l *lexer) end() {
	w := l.word.String()
	l.word.Reset()
	if w == "" && !l.quoted {
		return
	}
	l.quoted = false
	if w == "" {
		return
	}
	cmd := l.cmd || l.loose
	l.words = append(l.words, shellWord{w, cmd})
	base := w[strings.LastIndexByte(w, '/')+1:]
	switch {
	case l.target:
		l.target = false
	case cmd && runsText(base):
		l.doubt = true
	case cmd && runsOthers(base):
		l.loose, l.cmd = true, false
	case strings.Contains(w, "="): // an assignment: the command is still to come
	default:
		l.cmd = false
	}
}

// runsText names what runs a text, or a file, that may hold any command.
func runsText(name string) bool {
	switch name {
	case "sh", "bash", "zsh", "dash", "ksh", "mksh", "ash", "fish", "csh", "tcsh", "busybox", "eval", "source", ".", "pwsh", "script", "at", "batch", "crontab":
		return true
	}
	return false
}

// runsOthers names what runs the command that its arguments are.
func runsOthers(name string) bool {
	switch name {
	case "sudo", "doas", "su", "env", "xargs", "nice", "ionice", "nohup", "time", "timeout", "exec", "command", "builtin", "find", "fd", "watch",
		"parallel", "setsid", "stdbuf", "chroot", "unshare", "nsenter", "strace", "ltrace", "gdb", "ssh", "docker", "podman", "kubectl", "tmux", "screen",
		"flock", "chrt", "taskset", "runuser", "pkexec", "systemd-run", "caffeinate", "entr", "expect", "trap", "alias", "function",
		"if", "then", "else", "elif", "while", "until", "do", "for", "case", "in", "!", "coproc":
		return true
	}
	return false
}

// matcher tries a pattern at every word at once. Its states are places in the
// pattern.
type matcher struct {
	pattern string // wild is any text
	open    bool   // a word may go on where the pattern ends
	now     []bool
	next    []bool
}

func newMatcher(words []shellWord, open, whole bool) *matcher {
	var parts []string
	for i, w := range words {
		t := w.text
		if i == 0 && !whole {
			t = t[strings.LastIndexByte(t, '/')+1:]
		}
		parts = append(parts, t)
	}
	m := &matcher{pattern: strings.Join(parts, " "), open: open}
	m.now, m.next = make([]bool, len(m.pattern)+1), make([]bool, len(m.pattern)+1)
	return m
}

// anywhere reports whether the pattern may match from some word on. What
// begins with a word that is not known counts only where a command may stand.
func (m *matcher) anywhere(words []shellWord) bool {
	end := len(m.pattern)
	if end == 0 {
		return true
	}
	for i, w := range words {
		if i > 0 && m.step(' ') {
			return true
		}
		for j := 0; j < len(w.text); j++ {
			start := j == 0 || w.text[j-1] == '/'
			if start && (w.text[j] != wild || w.cmd) {
				m.enter(m.now, 0)
			}
			if m.step(w.text[j]) {
				return true
			}
		}
		if m.now[end] { // it ends with a word
			return true
		}
	}
	return false
}

// step takes in a character. It reports whether the pattern is matched, however
// the word goes on.
func (m *matcher) step(c byte) bool {
	clear(m.next)
	for i, in := range m.now {
		switch {
		case !in:
		case c == wild: // any text: everything further on can be reached
			for j := i; j < len(m.next); j++ {
				m.next[j] = true
			}
		case i == len(m.pattern):
		case m.pattern[i] == wild:
			m.enter(m.next, i)
		case m.pattern[i] == c:
			m.enter(m.next, i+1)
		}
		if in && c == wild {
			break // the lowest state reaches all others
		}
	}
	m.now, m.next = m.next, m.now
	end := len(m.pattern)
	return m.now[end] && (m.open || c == wild || m.pattern[end-1] == wild)
}

// enter adds a state, and what is reached from it without a character.
func (m *matcher) enter(states []bool, i int) {
	states[i] = true
	for i < len(m.pattern) && m.pattern[i] == wild {
		i++
		states[i] = true
	}
}
