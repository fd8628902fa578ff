package revive

import (
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // the zones of the corpus, on any machine

	"pgregory.net/rapid"
)

func zone(t testing.TB, name string) *time.Location {
	t.Helper()
	loc, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

// stockholm is a machine in that zone.
func stockholm(t testing.TB, s string) time.Time {
	t.Helper()
	at, err := time.ParseInLocation("2006-01-02 15:04:05", s, zone(t, "Europe/Stockholm"))
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// The corpus: every text that was captured or reported, by its number in the
// facts about Claude Code, with what it means when it is printed on Monday,
// 30 November 2026, 21:13:19 in Stockholm (20:13:19 UTC).
var corpus = []struct {
	text  string
	class Class
	what  string
	reset string // UTC; "" is none
}{
	{"You've hit your 5-hour limit · resets 12am (Europe/Stockholm)", Limit, "5-hour limit", "2026-11-30 23:00"},                                                                                                           // 1
	{"You've hit your 5-hour limit · resets 12:30am (Europe/Stockholm)", Limit, "5-hour limit", "2026-11-30 23:30"},                                                                                                        // 2
	{"You've hit your weekly limit · resets Dec 4, 12am (Europe/Stockholm)", Limit, "weekly limit", "2026-12-03 23:00"},                                                                                                    // 3
	{"You've hit your weekly limit · resets Jan 19, 2027, 9pm (Europe/Stockholm)", Limit, "weekly limit", "2026-12-07 20:13"},                                                                                              // 4: held to the window
	{"You've hit your Opus limit · resets Dec 4, 12am (Europe/Stockholm)", Limit, "weekly limit of a model", "2026-12-03 23:00"},                                                                                           // 5
	{"You've hit your Sonnet limit · resets Dec 4, 12am (Europe/Stockholm)", Limit, "weekly limit of a model", "2026-12-03 23:00"},                                                                                         // 5
	{"You've hit your Fable limit · resets Dec 4, 12am (Europe/Stockholm). Switch to another model to continue.", Limit, "weekly limit of a model", "2026-12-03 23:00"},                                                    // 6
	{"You've hit your usage limit · resets 12am (Europe/Stockholm)", Limit, "usage limit", "2026-11-30 23:00"},                                                                                                             // 7
	{"You've hit your 5-hour limit", Limit, "5-hour limit", ""},                                                                                                                                                            // 8
	{"You've hit your individual spend limit · ask your admin to raise it at https://claude.ai/admin-settings/usage · your 5-hour limit resets 12am (Europe/Stockholm)", Person, "somebody must pay or raise a limit", ""}, // 9
	{"You've hit your session limit · resets 4:50pm (America/Los_Angeles)", Limit, "5-hour limit", "2026-12-01 00:50"},                                                                                                     // 10
	{"You've hit your session limit · resets 3pm (America/Bogota)", Limit, "5-hour limit", "2026-11-30 20:00"},                                                                                                             // 11: 13 minutes ago
	{"You've hit your limit · resets 11pm (America/Anchorage)", Limit, "usage limit", "2026-12-01 08:00"},                                                                                                                  // 12
	{"You've hit your limit · resets 10pm", Limit, "usage limit", "2026-11-30 21:00"},                                                                                                                                      // 13
	{"You've hit your weekly limit · resets Dec 2 at 7pm", Limit, "weekly limit", "2026-12-02 18:00"},                                                                                                                      // 14
	{"You've hit your weekly limit · resets Mon 12:00am", Limit, "weekly limit", "2026-12-06 23:00"},                                                                                                                       // 15
	{"You've hit your session limit · resets 1:45am", Limit, "5-hour limit", "2026-12-01 00:45"},                                                                                                                           // 15
	{"Weekly limit reached · resets 10am (Asia/Seoul) · /upgrade to Max or turn on /extra-usage", Limit, "weekly limit", "2026-12-01 01:00"},                                                                               // 16
	{"Weekly limit reached ∙ resets 7pm", Limit, "weekly limit", "2026-12-01 18:00"},                                                                                                                                       // 17
	{"Opus weekly limit reached ∙ resets Dec 4", Limit, "weekly limit of a model", "2026-12-03 23:00"},                                                                                                                     // 18
	{"Opus weekly limit reached ∙ resets Dec 6, 9am", Limit, "weekly limit of a model", "2026-12-06 08:00"},                                                                                                                // 18
	{"Session limit reached ∙ resets 2am", Limit, "5-hour limit", "2026-12-01 01:00"},                                                                                                                                      // 19
	{"5-hour limit reached ∙ resets 1am", Limit, "5-hour limit", "2026-12-01 00:00"},                                                                                                                                       // 20
	{"5-hour limit reached - resets 11pm", Limit, "5-hour limit", "2026-11-30 22:00"},                                                                                                                                      // 20
	{"Claude AI usage limit reached|1796090400", Limit, "usage limit", "2026-12-01 02:00"},                                                                                                                                 // 21
	{"Claude AI usage limit reached|1749924000", Limit, "usage limit", "2025-06-14 18:00"},                                                                                                                                 // 21: long gone
	{"Claude usage limit reached. Your limit will reset at 10pm (Etc/GMT+5).", Limit, "usage limit", "2026-12-01 03:00"},                                                                                                   // 22
	{"Claude usage limit reached. Your limit will reset at 5pm (America/Bogota).", Limit, "usage limit", "2026-11-30 22:00"},                                                                                               // 22
	{"Claude Max usage limit reached. Your limit will reset at 12am.", Limit, "usage limit", "2026-11-30 23:00"},                                                                                                           // 23
	{"You're out of extra usage · resets Dec 4, 8pm (Europe/Budapest)", Limit, "spend limit", "2026-12-04 19:00"},                                                                                                          // 24
	{"You're out of extra usage · resets 11:30am (Asia/Colombo)", Limit, "spend limit", "2026-12-01 06:00"},                                                                                                                // 24
	{"You're out of usage credits · resets Dec 4, 8pm (Europe/Budapest) · progress saved", Limit, "spend limit", "2026-12-04 19:00"},                                                                                       // 25
	{"Your org is out of usage · add funds to continue", Person, "somebody must pay or raise a limit", ""},                                                                                                                 // 25
	{"You've hit your org's monthly spend limit", Person, "somebody must pay or raise a limit", ""},                                                                                                                        // 25
	{"Your seat type doesn't include usage", Person, "somebody must pay or raise a limit", ""},                                                                                                                             // 25
	{"You've reached your Fable limit. Switch to another model.", Limit, "weekly limit of a model", ""},                                                                                                                    // 26
	{"spend limit reached (daily; resets 2026-12-09 00:00 UTC)", Limit, "spend limit", "2026-12-09 00:00"},                                                                                                                 // 27
	{"You’ve hit your limit for Claude messages. Limits will reset at 9:30 AM.", Limit, "usage limit", "2026-12-01 08:30"},                                                                                                 // 28
	{"Credit balance is too low", Person, "somebody must pay or raise a limit", ""},                                                                                                                                        // 29
	{"API Error: Request rejected (429) · This request would exceed your account's rate limit. Please try again later.", Outage, "rate limit", ""},                                                                         // 30
	{"API Error: Server is temporarily limiting requests (not your usage limit) · This request would exceed your account's rate limit. Please try again later.", Outage, "rate limit", ""},                                 // 31
	{"API Error: 529 Overloaded. This is a server-side issue, usually temporary — try again in a moment. If it persists, check https://status.claude.com.", Outage, "overload", ""},                                        // 32
	{"API Error: Repeated 529 Overloaded errors", Outage, "overload", ""},                                                                                                                                                  // 33
	{`API Error: 529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":null}`, Outage, "overload", ""},                                                                               // 34
	{`API Error (529 {"type":"error"}) · Retrying in 4 seconds… (attempt 4/10)`, Native, "Claude Code tries again by itself", ""},                                                                                          // 35
	{"API Error: 500 Internal server error. This is a server-side issue.", Outage, "API error", ""},                                                                                                                        // 36
	{"API Error: 502 Bad Gateway.", Outage, "API error", ""},                                                                                                                                                               // 36
	{"API Error: Unable to connect to API (ConnectionRefused)", Outage, "network", ""},                                                                                                                                     // 37
	{"API Error: Unable to connect to API (ECONNREFUSED)", Outage, "network", ""},                                                                                                                                          // 37
	{"API Error: Connection dropped (ECONNRESET). Check the gateway set in ANTHROPIC_BASE_URL, then try again.", Outage, "network", ""},                                                                                    // 38
	{"API Error: The socket connection was closed unexpectedly. For more information, pass `verbose: true`", Outage, "network", ""},                                                                                        // 39
	{"API Error (Connection error.) · Retrying in 1 seconds… (attempt 1/10)", Native, "Claude Code tries again by itself", ""},                                                                                             // 40
	{"TypeError (fetch failed)", Outage, "network", ""},                                                                                                                                                                    // 40
	{"API Error: 401 OAuth token has expired", Person, "somebody must log in", ""},                                                                                                                                         // 41
	{"Please run /login · API Error: 401 OAuth token has expired", Person, "somebody must log in", ""},                                                                                                                     // 41
	{"Invalid API key · Fix external API key", Person, "somebody must log in", ""},                                                                                                                                         // 41
	{"Failed to authenticate. API Error: 403 Forbidden", Person, "somebody must log in", ""},                                                                                                                               // 41
	{"Prompt is too long · the request is ~210000 tokens (limit 200000) but this conversation is only ~3051 tokens", Person, "the API refuses what it sends", ""},                                                          // 42
	{"Usage limit reached · limit resets 9:45pm", Limit, "usage limit", "2026-11-30 20:45"},                                                                                                                                // 43
	{"Usage limit reached · continuing automatically at 3:45pm · esc to cancel", Native, "Claude Code tries again by itself", ""},                                                                                          // 43
	{"You've used 85% of your session limit · resets 3:45pm", Native, "a warning, not a stop", ""},                                                                                                                         // 44
	{"Approaching usage limit · resets 3:45pm", Native, "a warning, not a stop", ""},                                                                                                                                       // 44
	{"You're now using usage credits · Your weekly limit resets Dec 4, 12am", Native, "a warning, not a stop", ""},                                                                                                         // 44
	{"network or region blocked — check VPN or network", Person, "its account is not allowed to", ""},
	{"Which database should I use?", Unknown, "", ""},
}

func TestCorpus(t *testing.T) {
	told := stockholm(t, "2026-11-30 21:13:19")
	for _, c := range corpus {
		got := CauseOfText(c.text, told)
		reset := ""
		if !got.Reset.IsZero() {
			reset = got.Reset.UTC().Format("2006-01-02 15:04")
		}
		if got.Class != c.class || got.What != c.what || reset != c.reset || got.Drift != "" {
			t.Errorf("%s\n got %d %q %q drift %q\nwant %d %q %q", c.text, got.Class, got.What, reset, got.Drift, c.class, c.what, c.reset)
		}
	}
}

// Field report A02: a warning shares its words with the stop, and changes nothing.
func TestA02AWarningIsNoStop(t *testing.T) {
	told := stockholm(t, "2026-11-30 15:00:00")
	for _, text := range []string{"You've used 90% of your session limit · resets 7:20pm", "You’ve used 90% of your session limit ∙ resets 7:20pm (Europe/Paris)"} {
		if c := CauseOfText(text, told); c.Class == Limit || c.Class == Outage {
			t.Errorf("%q is taken for a stop: %+v", text, c)
		}
	}
	for _, text := range []string{"You've hit your session limit · resets 7:20pm", "You've hit your session limit · resets 7:20pm (Europe/Stockholm)"} {
		if c := CauseOfText(text, told); c.Class != Limit || !c.Reset.Equal(stockholm(t, "2026-11-30 19:20:00")) {
			t.Errorf("%q: %+v", text, c)
		}
	}
}

// Field report A01: a time of day is the next one after the text was printed,
// and over midnight only within the limit's window.
func TestA01ATimeOfDayIsTheNextOne(t *testing.T) {
	for _, c := range []struct{ told, text, want string }{
		{"2026-11-30 23:00:00", "You've hit your session limit · resets 2:30am", "2026-12-01 02:30"},
		{"2026-11-30 23:00:00", "You've hit your weekly limit · resets 10pm", "2026-12-01 22:00"},
		// The file was written anew after the reset: the time of day is over.
		{"2026-11-30 19:05:00", "You've hit your session limit · resets 7pm", "2026-11-30 19:00"},
		{"2026-12-01 00:10:00", "You've hit your session limit · resets 11:50pm", "2026-11-30 23:50"},
		// Rounded down: this reset is in the coming half minute.
		{"2026-11-30 20:45:10", "You've hit your weekly limit · resets 8:45pm", "2026-11-30 20:45"},
		// The clocks of the machine and the service differ by minutes.
		{"2026-11-30 20:00:00", "You've hit your session limit · resets 1:05am", "2026-12-01 01:05"},
	} {
		got := CauseOfText(c.text, stockholm(t, c.told)).Reset
		if s := got.In(zone(t, "Europe/Stockholm")).Format("2006-01-02 15:04"); s != c.want {
			t.Errorf("at %s %q resets %s, want %s", c.told, c.text, s, c.want)
		}
	}
}

func TestClocksPutForwardAndBack(t *testing.T) {
	for _, c := range []struct{ told, text, want string }{
		{"2026-03-29 01:30:00", "limit reached · resets 2:30am (Europe/Stockholm)", "2026-03-29 01:30Z"},    // 2:30 does not exist: 3:30 is meant
		{"2026-03-28 23:00:00", "limit reached · resets 4am (Europe/Stockholm)", "2026-03-29 02:00Z"},       // the night is an hour shorter
		{"2026-10-25 00:30:00", "limit reached · resets 2:30am (Europe/Stockholm)", "2026-10-25 00:30Z"},    // the first of two
		{"2026-10-24 23:00:00", "limit reached · resets 4am (Europe/Stockholm)", "2026-10-25 03:00Z"},       // the night is an hour longer
		{"2026-04-04 20:00:00", "limit reached · resets 1:45am (Australia/Lord_Howe)", "2026-04-05 15:15Z"}, // the next day's: of that night both are over
		{"2026-11-30 12:00:00", "limit reached · resets 3:15am (Asia/Kathmandu)", "2026-11-30 21:30Z"},
	} {
		at, ok := ParseReset(c.text, stockholm(t, c.told))
		if got := at.UTC().Format("2006-01-02 15:04Z"); !ok || got != c.want {
			t.Errorf("at %s: %s: %s %v, want %s", c.told, c.text, got, ok, c.want)
		}
	}
	// The second 2:30 counts when the first one is over.
	second := stockholm(t, "2026-10-25 00:30:00").Add(2*time.Hour + 10*time.Minute)
	at, _ := ParseReset("limit reached · resets 2:30am (Europe/Stockholm)", second)
	if got := at.UTC().Format("15:04"); got != "01:30" {
		t.Errorf("the second 2:30 is %s UTC", got)
	}
}

func TestADateWithoutAYear(t *testing.T) {
	for _, c := range []struct{ told, text, want string }{
		{"2026-12-30 12:00:00", "weekly limit reached · resets Jan 2, 9am", "2027-01-02 09:00"},
		{"2026-12-31 23:59:30", "weekly limit reached · resets Dec 31, 11:59pm", "2026-12-31 23:59"},
		{"2027-01-01 00:10:00", "weekly limit reached · resets Dec 31, 11:50pm", "2026-12-31 23:50"}, // written anew
	} {
		got := CauseOfText(c.text, stockholm(t, c.told)).Reset
		if s := got.Format("2006-01-02 15:04"); s != c.want {
			t.Errorf("at %s %q resets %s, want %s", c.told, c.text, s, c.want)
		}
	}
}

// Field report A08: what is not understood is told, and never guessed.
func TestA08NewWordingIsDrift(t *testing.T) {
	told := stockholm(t, "2026-11-30 21:13:19")
	for _, text := range []string{
		"You've hit your 5-hour limit · resets in a while",
		"You've hit your 5-hour limit · resets 25:00",
		"You've hit your 5-hour limit · resets 7",
		"You've hit your 5-hour limit · resets 13pm",
		"You've hit your 5-hour limit · resets 1am (Mars/Olympus)",
		"You've hit your 5-hour limit · resets Feb 30, 9am",
	} {
		c := CauseOfText(text, told)
		if c.Class != Limit || c.Drift != text || !c.Reset.Equal(told.Add(sessionWindow)) {
			t.Errorf("%q: %+v", text, c)
		}
	}
	c := CauseOfText("Your quota is used up until the moon is full", told)
	if c.Class != Unknown || c.Drift == "" {
		t.Errorf("a new wording is no drift: %+v", c)
	}
}

// Claude Code's own way to write a reset, for any moment and zone, is read
// back to the minute, as its rounding down allows.
func TestWrittenResetsAreReadBack(t *testing.T) {
	names := []string{"Europe/Stockholm", "America/Los_Angeles", "Asia/Kathmandu", "Australia/Lord_Howe", "Pacific/Apia", "Etc/GMT+5", "UTC", "America/St_Johns"}
	rapid.Check(t, func(t *rapid.T) {
		loc, err := time.LoadLocation(rapid.SampledFrom(names).Draw(t, "zone"))
		if err != nil {
			t.Fatal(err)
		}
		told := time.Unix(rapid.Int64Range(1767225600, 1893456000).Draw(t, "told"), 0).In(loc)
		reset := told.Add(time.Duration(rapid.Int64Range(0, 7*24*3600).Draw(t, "ahead")) * time.Second)
		got, ok := ParseReset("You've hit your weekly limit · resets "+write(reset, told), told)
		if !ok {
			t.Fatalf("%s is not understood", write(reset, told))
		}
		want := reset.Truncate(time.Minute)
		// A time that comes twice in a night may mean either.
		if d := got.Sub(want); d != 0 && !(d.Abs() <= time.Hour && got.In(loc).Format("15:04") == want.In(loc).Format("15:04")) {
			t.Fatalf("told %s, resets %s as %q: read %s", told, want, write(reset, told), got.In(loc))
		}
	})
}

// write is how Claude Code writes a reset.
func write(reset, told time.Time) string {
	clock := strings.ToLower(reset.Format("3:04pm"))
	clock = strings.Replace(clock, ":00", "", 1)
	switch {
	case reset.Sub(told) < 24*time.Hour:
	case reset.Year() != told.Year():
		clock = reset.Format("Jan 2, 2006, ") + clock
	default:
		clock = reset.Format("Jan 2, ") + clock
	}
	return clock + " (" + reset.Location().String() + ")"
}

// Whatever a text says, it never puts a session off for longer than its
// limit's window.
func FuzzCauseOfText(f *testing.F) {
	for _, c := range corpus {
		f.Add(c.text, int64(1796000000))
	}
	f.Fuzz(func(t *testing.T, text string, at int64) {
		told := time.Unix(at%4e9, 0)
		c := CauseOfText(text, told)
		if c.Class != Limit && !c.Reset.IsZero() {
			t.Errorf("%q: no limit, but it resets", text)
		}
		if c.Reset.After(told.Add(monthWindow + skew)) {
			t.Errorf("%q at %s resets %s", text, told, c.Reset)
		}
	})
}
