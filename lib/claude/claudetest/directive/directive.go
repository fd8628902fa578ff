// Package directive reads the directives by which a prompt steers the stand-ins
// for Claude Code and for its Messages API:
//
//	[[tool NAME {json}]]  a round that calls a tool; several make several rounds
//	[[and NAME {json}]]   one more call in the round before
//	[[say TEXT]]          the final text
//	[[sleep MS]]          wait that long before each answer
//	[[status CODE TEXT]]  after the rounds, fail with that HTTP status
//	[[title TEXT]]        the title, when one is asked for
//
// What is meant for a sub-agent stands in << >> inside the call that starts it.
package directive

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"
)

// Call is one use of a tool.
type Call struct {
	Name  string
	Input json.RawMessage
}

// Script is what a prompt asks for.
type Script struct {
	Rounds     [][]Call
	Say        string // "" when nothing is said of it
	Sleep      time.Duration
	Status     int // of HTTP; 0 for a plain answer
	StatusText string
	Title      string
	Bad        []string // directives that can't be read
}

// Parse reads a prompt. Text without directives gives the zero Script.
func Parse(prompt string) Script {
	var s Script
	for {
		open, closing, rest := next(prompt)
		if open == "" {
			return s
		}
		word, arg, _ := strings.Cut(rest, " ")
		if word == "tool" || word == "and" {
			prompt = s.call(word, arg, closing)
			continue
		}
		text, after, ok := strings.Cut(rest, closing)
		if !ok {
			s.Bad = append(s.Bad, "no "+closing+" after "+word)
			return s
		}
		prompt = after
		s.plain(strings.TrimSpace(text))
	}
}

// next finds the first directive and returns its brackets and what follows.
func next(prompt string) (open, closing, rest string) {
	square, angle := strings.Index(prompt, "[["), strings.Index(prompt, "<<")
	switch {
	case square >= 0 && (angle < 0 || square < angle):
		return "[[", "]]", prompt[square+2:]
	case angle >= 0:
		return "<<", ">>", prompt[angle+2:]
	}
	return "", "", ""
}

// call reads "NAME {json}]]" and returns what follows it. The input may hold
// the brackets itself.
func (s *Script) call(word, text, closing string) (after string) {
	text = strings.TrimLeft(text, " \n")
	end := strings.IndexAny(text, " \n{")
	if stop := strings.Index(text, closing); end < 0 || stop >= 0 && stop < end {
		end = max(stop, 0)
	}
	c := Call{Name: text[:end], Input: json.RawMessage("{}")}
	text = text[end:]
	if rest := strings.TrimLeft(text, " \n"); strings.HasPrefix(rest, "{") {
		d := json.NewDecoder(strings.NewReader(rest))
		if err := d.Decode(&c.Input); err != nil {
			s.Bad = append(s.Bad, c.Name+": "+err.Error())
			_, after, _ = strings.Cut(rest, closing)
			return after
		}
		text = rest[d.InputOffset():]
	}
	_, after, ok := strings.Cut(text, closing)
	switch {
	case !ok || c.Name == "":
		s.Bad = append(s.Bad, "no "+closing+" after "+word+" "+c.Name)
	case word == "and" && len(s.Rounds) > 0:
		last := len(s.Rounds) - 1
		s.Rounds[last] = append(s.Rounds[last], c)
	default:
		s.Rounds = append(s.Rounds, []Call{c})
	}
	return after
}

func (s *Script) plain(text string) {
	word, arg, _ := strings.Cut(text, " ")
	arg = strings.TrimSpace(arg)
	switch word {
	case "say":
		s.Say = arg
	case "title":
		s.Title = arg
	case "sleep":
		ms, err := strconv.Atoi(arg)
		if err != nil || ms < 0 {
			s.Bad = append(s.Bad, text)
			return
		}
		s.Sleep = time.Duration(ms) * time.Millisecond
	case "status":
		code, msg, _ := strings.Cut(arg, " ")
		n, err := strconv.Atoi(code)
		if err != nil || n < 200 || n > 599 {
			s.Bad = append(s.Bad, text)
			return
		}
		s.Status, s.StatusText = n, msg
	}
}
