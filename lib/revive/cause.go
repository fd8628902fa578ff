package revive

import (
	"cmp"
	"regexp"
	"strings"
	"time"

	"sessionhub/lib/claude/transcript"
)

// Class is what kind of thing stopped a session.
type Class int

// What stopped a session. Only a Limit and an Outage are over by themselves.
const (
	Unknown Class = iota // the text is not understood, or there is none
	Limit                // a usage limit, which resets
	Outage               // the API, an overload, the network
	Person               // somebody must do something: log in, pay, decide
	Native               // Claude Code still tries by itself
)

// Cause is what stopped a session, as far as it is told.
type Cause struct {
	Class Class
	What  string    // for people: "5-hour limit", "network"
	Reset time.Time // of a Limit; zero when none is told
	// Drift is a text about a stop that is not understood: the wording
	// changed (field report A08).
	Drift string
}

// sign is a text that tells of a cause.
type sign struct {
	text  *regexp.Regexp
	class Class
	what  string
}

// signs are the texts, in the order in which they are tried: a retry or a
// warning names the same things as a stop does (field report A02).
var signs = []sign{
	{re(`retrying in|attempt \d+/\d+|continuing automatically`), Native, "Claude Code tries again by itself"},
	{re(`you've used \d+%|^approaching|you're now using`), Native, "a warning, not a stop"},
	{re(`ask your admin|add funds|credit balance|doesn't include usage|admin-settings|check plan`), Person, "somebody must pay or raise a limit"},
	{re(`organization verification|account on hold|org disabled|cloud credentials|region blocked`), Person, "its account is not allowed to"},
	{re(`/login|oauth|invalid api key|failed to authenticate|api error: 40[13]\b|login required`), Person, "somebody must log in"},
	{re(`prompt is too long|request too large|api error: 4(00|04|13|22)\b|invalid api request`), Person, "the API refuses what it sends"},
	{re(`limit reached|(hit|reached) your .*limit|out of .*usage|limits? will reset`), Limit, ""},
	{re(`rate.?limit|temporarily limiting|\b429\b`), Outage, "rate limit"},
	{re(`overload|\b529\b`), Outage, "overload"},
	{re(`connect|econn|etimedout|enotfound|eai_again|socket|network|fetch failed|timed? ?out`), Outage, "network"},
	{re(`api error|api unavailable|\b5\d\d\b|internal server error|bad gateway`), Outage, "API error"},
}

func re(s string) *regexp.Regexp { return regexp.MustCompile(`(?i)` + s) }

// spendLimit is a limit of money. It resets only where it says so.
const spendLimit = "spend limit"

// kinds are Claude's limits by the words of their texts.
var kinds = []struct {
	text   *regexp.Regexp
	what   string
	window time.Duration
}{
	{re(`spend|credits|extra usage`), spendLimit, monthWindow},
	{re(`opus|sonnet|fable|haiku`), "weekly limit of a model", weekWindow},
	{re(`week`), "weekly limit", weekWindow},
	{re(`5-hour|session`), "5-hour limit", sessionWindow},
	{re(``), "usage limit", weekWindow},
}

// limitTypes are Claude's limits by the type that the API names.
var limitTypes = map[string]struct {
	what   string
	window time.Duration
}{
	"five_hour":                  {"5-hour limit", sessionWindow},
	"seven_day":                  {"weekly limit", weekWindow},
	"seven_day_opus":             {"weekly limit of a model", weekWindow},
	"seven_day_sonnet":           {"weekly limit of a model", weekWindow},
	"seven_day_overage_included": {"weekly limit", weekWindow},
	"overage":                    {spendLimit, monthWindow},
}

// errorKinds are the API's errors by Claude Code's own names for them.
var errorKinds = map[string]Cause{
	"server_error":          {Class: Outage, What: "API error"},
	"overloaded":            {Class: Outage, What: "overload"},
	"rate_limit":            {Class: Outage, What: "rate limit"},
	"authentication_failed": {Class: Person, What: "somebody must log in"},
	"billing_error":         {Class: Person, What: "somebody must pay or raise a limit"},
	"invalid_request":       {Class: Person, What: "the API refuses what it sends"},
}

// human are the words of a session that waits for its person. They win over
// every other: such a session must stay as it is.
var human = re(`input needed|needs input|waiting (for|on)|permission|approv|awaiting|your (direction|decision)|^approve `)

// WaitsForPerson tells whether a text names a person.
func WaitsForPerson(text string) bool { return human.MatchString(straight(text)) }

// CauseOf reads the error that ended the last turn. What Claude Code goes by
// itself comes first, the text second.
func CauseOf(e transcript.APIError) Cause {
	byText := CauseOfText(e.Text, e.At)
	if e.Limit {
		return limitCause(e, byText)
	}
	if c, ok := errorKinds[e.Kind]; ok {
		if c.Class == Outage && byText.Class == Outage {
			c.What = byText.What // more exact
		}
		if e.Kind == "rate_limit" && byText.Class == Limit { // as older versions tell a limit
			return byText
		}
		return c
	}
	return byText
}

// limitCause is a usage limit: the API says when it resets. A spend limit that
// somebody must raise may name another limit's reset.
func limitCause(e transcript.APIError, byText Cause) Cause {
	if byText.Class == Person {
		return byText
	}
	kind, known := limitTypes[e.LimitType]
	if !known {
		kind.what, kind.window = cmp.Or(byText.What, "usage limit"), monthWindow
	}
	c := Cause{Class: Limit, What: kind.what, Reset: byText.Reset, Drift: byText.Drift}
	if !e.ResetsAt.IsZero() {
		c.Reset, c.Drift = Within(e.ResetsAt, e.At, kind.window, false), ""
	}
	return c
}

// CauseOfText reads a cause from a text that was told at that time.
func CauseOfText(text string, told time.Time) Cause {
	text = straight(text)
	for _, s := range signs {
		if !s.text.MatchString(text) {
			continue
		}
		if s.class == Limit {
			return limitOfText(text, told)
		}
		return Cause{Class: s.class, What: s.what}
	}
	c := Cause{Class: Unknown}
	if aboutStop.MatchString(text) {
		c.Drift = text
	}
	return c
}

// aboutStop are words that a text about a stop would have.
var aboutStop = re(`\blimit|\bquota|\bresets?\b|\berror\b|\bapi\b`)

func limitOfText(text string, told time.Time) Cause {
	c := Cause{Class: Limit}
	window := weekWindow
	for _, k := range kinds {
		if k.text.MatchString(text) {
			c.What, window = k.what, k.window
			break
		}
	}
	s, ok := parseStated(text, told.Location())
	switch {
	case c.What == spendLimit && !ok:
		return Cause{Class: Person, What: "somebody must pay or raise a limit"}
	case ok:
		bare := s.epoch == 0 && s.month == 0 && s.weekday < 0
		c.Reset = Within(s.after(told), told, window, bare)
	case saysReset.MatchString(text): // no guess: the window bounds every limit
		c.Reset, c.Drift = told.Add(window), text
	}
	return c
}

// straight puts the plain apostrophe for the curly one.
func straight(s string) string { return strings.TrimSpace(strings.ReplaceAll(s, "’", "'")) }
