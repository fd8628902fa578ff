package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"sessionhub/cmd/internal/front"
	"sessionhub/lib/record"
	"sessionhub/lib/text"
)

// reply is what a person answers, as the flags give it.
type reply struct {
	wish
	ask     string
	message string
	always  optional
	words   []word // of --choose and --text, in their order: one a question
}

// word answers one question.
type word struct {
	text   string
	choose bool
}

// wordFlag adds to the words.
type wordFlag struct {
	to     *[]word
	choose bool
}

func (f wordFlag) String() string { return "" }

func (f wordFlag) Set(s string) error {
	*f.to = append(*f.to, word{s, f.choose})
	return nil
}

// optional is a number that may be left out.
type optional struct{ n *int }

func (o *optional) String() string {
	if o == nil || o.n == nil {
		return ""
	}
	return strconv.Itoa(*o.n)
}

func (o *optional) Set(s string) error {
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 {
		return errors.New("a number from 1 on is wanted")
	}
	o.n = &n
	return nil
}

func answerVerb() front.Verb {
	var r reply
	return front.Verb{
		Name: "answer", Args: "[flags] S [allow|deny]", Short: "answer what a session asks", Settings: asking(),
		Long: `Answers a permission prompt, a question or a plan of a session as if at its
screen, where it stays until one of both was answered: who is first wins. It is
of use where that machine allows it (remote_answer), and needs a user token with
the scope answer. shctl show tells what a session asks. Without a decision this
does, too, and ends with 64.

A question is answered with --choose, the number of an option or several of
them, or with --text; once for each question, in their order. deny lets the
model go on without, and --message tells it why. --always lets the rule count
that Claude suggests at the screen, so that it does not ask again.

It refuses to run inside Claude Code (CLAUDECODE): a session is not to answer
itself. That is no protection against programs that run as the same user.`,
		Flags: func(fs *flag.FlagSet) {
			r.flags(fs)
			fs.StringVar(&r.ask, "ask", "", "which ask, by the beginning of its `ID`, when there are several")
			fs.StringVar(&r.message, "message", "", "with deny: what the model is `told`")
			fs.Var(&r.always, "always", "with allow: let Claude's suggestion `N` count, too")
			fs.Var(wordFlag{&r.words, true}, "choose", "answer a question with option `N`, or with several: 1,3")
			fs.Var(wordFlag{&r.words, false}, "text", "answer a question with a `text` of your own")
		},
		Run: func(ctx context.Context, c *front.Call) error { return answer(ctx, c, r) },
		Examples: []front.Example{
			{Line: "shctl show 0b5c", For: "see what it asks"},
			{Line: "shctl answer 0b5c allow --wait", For: "and wait until it counted"},
			{Line: "shctl answer 0b5c deny --message 'not on main'", For: "the model is told why"},
			{Line: "shctl answer 0b5c --choose 2 --choose 1,3", For: "two questions"},
		},
		Exits: askExits(front.Exit{Code: front.ExitNotAllowed, When: "it runs inside Claude Code, or the token lacks the scope answer"}),
	}
}

func answer(ctx context.Context, c *front.Call, r reply) error {
	if len(c.Args) < 1 || len(c.Args) > 2 {
		return front.Usage("a session is wanted, and allow or deny")
	}
	if c.Getenv("CLAUDECODE") != "" {
		return front.Fail(front.ExitNotAllowed, errors.New("it runs inside Claude Code (CLAUDECODE is set): a session is not to answer itself"))
	}
	a, err := newAsker(c, r.wish)
	if err != nil {
		return err
	}
	s, err := a.session(ctx, c.Args[0])
	if err != nil {
		return err
	}
	ask, err := chosen(s, r.ask)
	if err != nil {
		return front.Fail(front.ExitData, err)
	}
	if len(c.Args) == 1 && len(r.words) == 0 {
		if err := showAsk(c, r.json, s.Session, ask); err != nil {
			return err
		}
		return front.Usage("allow or deny is wanted, or --choose or --text for a question")
	}
	post, err := r.post(c.Args[1:], ask)
	if err != nil {
		return err
	}
	if err := a.reachable(ctx, s.Machine); err != nil {
		return err
	}
	req, err := a.hub.Answer(ctx, uuid.NewString(), s.Session, ask.Ask, post)
	if err != nil {
		return err
	}
	return a.outcome(ctx, req)
}

func showAsk(c *front.Call, asJSON bool, session string, a record.Ask) error {
	if asJSON || !c.Terminal() {
		return front.PrintJSON(c.Stdout, a)
	}
	printAsk(c.Stdout, session, a)
	return nil
}

// chosen is the open ask that is meant: the only one, or the one that --ask
// names.
func chosen(s record.Session, id string) (record.Ask, error) {
	open, _ := splitAsks(s.Asks)
	if id != "" {
		var fit []record.Ask
		for _, a := range open {
			if strings.HasPrefix(a.Ask, id) {
				fit = append(fit, a)
			}
		}
		if len(fit) != 1 {
			return record.Ask{}, fmt.Errorf("%d open asks begin with %q; shctl show %s tells them", len(fit), text.Line(id), short(s.Session))
		}
		return fit[0], nil
	}
	switch len(open) {
	case 0:
		return record.Ask{}, fmt.Errorf("it asks nothing at the moment; shctl show %s tells what it asked before", short(s.Session))
	case 1:
		return open[0], nil
	}
	var names []string
	for _, a := range open {
		names = append(names, a.Ask+" ("+text.Line(a.Tool)+")")
	}
	return record.Ask{}, errors.New("it asks several things, name one with --ask: " + strings.Join(names, ", "))
}

// post is the answer to an ask.
func (r reply) post(decision []string, ask record.Ask) (record.AnswerPost, error) {
	p := record.AnswerPost{InputSHA256: ask.InputSHA256, Behavior: record.Allow, Message: r.message}
	if r.always.n != nil {
		if *r.always.n > len(ask.Suggestions) {
			return p, front.Fail(front.ExitData, fmt.Errorf("--always %d: it has %d suggestions", *r.always.n, len(ask.Suggestions)))
		}
		index := *r.always.n - 1 // people count from 1, as with --choose
		p.Always = &index
	}
	if len(decision) == 1 {
		if p.Behavior = record.Behavior(decision[0]); p.Behavior != record.Allow && p.Behavior != record.Deny {
			return p, front.Usage("%q is neither allow nor deny", decision[0])
		}
	}
	if len(r.words) > 0 {
		if len(r.words) != len(ask.Questions) {
			return p, front.Fail(front.ExitData, fmt.Errorf("it asks %d questions, and %d are answered: one --choose or --text for each", len(ask.Questions), len(r.words)))
		}
		p.Answers = make(map[string]record.Texts)
		for i, q := range ask.Questions {
			texts, err := r.words[i].texts(q)
			if err != nil {
				return p, front.Fail(front.ExitData, err)
			}
			p.Answers[q.Question] = texts
		}
	}
	if err := p.Validate(); err != nil {
		return p, front.Fail(front.ExitData, err)
	}
	if err := p.Fits(&ask.AskBody); err != nil {
		return p, front.Fail(front.ExitData, err)
	}
	return p, nil
}

// texts are the labels of the numbers of --choose, or the text.
func (w word) texts(q record.Question) (record.Texts, error) {
	if !w.choose {
		return record.Texts{w.text}, nil
	}
	var list record.Texts
	for _, f := range strings.Split(w.text, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(f))
		if err != nil || n < 1 || n > len(q.Options) {
			return nil, fmt.Errorf("%q is no option of %q: it has 1 to %d", text.Line(f), text.Cut(text.Line(q.Question), 60), len(q.Options))
		}
		list = append(list, q.Options[n-1].Label)
	}
	return list, nil
}
