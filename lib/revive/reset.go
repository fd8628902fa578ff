package revive

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// The windows of Claude's limits. No limit lasts longer than its window, so
// none resets later than a window after it was told.
const (
	sessionWindow = 5 * time.Hour
	weekWindow    = 7 * 24 * time.Hour
	monthWindow   = 31 * 24 * time.Hour // of spending
)

// minute is how exact a stated time is: it is rounded down to the minute, so a
// reset at 20:45:23 is told as 8:45pm, at 20:45:10, too.
const minute = time.Minute

// resetClause finds the time in a text such as "resets Dec 4, 12am
// (Europe/Stockholm)", in all the forms that were seen since 2025.
var resetClause = regexp.MustCompile(`(?i)\bresets?(?:\s+at)?\s+` +
	`(?:(?P<weekday>mon|tue|wed|thu|fri|sat|sun)[a-z]*\.?,?\s*` +
	`|(?P<month>jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?\s+(?P<day>\d{1,2})\b(?:,\s*(?P<year>\d{4})\b)?` +
	`|(?P<iso>\d{4}-\d{2}-\d{2}))?` +
	`(?:,?\s*(?:at\s+)?(?P<hour>\d{1,2})(?::(?P<minute>\d{2}))?(?:\s*(?P<half>[ap])\.?m\b\.?)?)?` +
	`(?:\s*\((?P<zone>[^)]*)\)|\s+(?P<utc>UTC|GMT)\b)?`)

// epochClause is the form of mid-2025: "Claude AI usage limit reached|1749924000".
var epochClause = regexp.MustCompile(`\|\s*(\d{10})\b`)

// saysReset tells whether a text states a reset at all.
var saysReset = regexp.MustCompile(`(?i)\bresets?\b|\|\s*\d{6,}`)

// stated is the reset that a text states, as a calendar shows it.
type stated struct {
	zone    *time.Location
	weekday int // -1: none
	month   time.Month
	day     int
	year    int // 0: not said
	clock   bool
	hour    int
	minute  int
	epoch   int64
}

// ParseReset reads the moment at which a limit resets from its text. told is
// when the text was printed; a text that names no zone means told's. A time
// of day means its next occurrence after told, a weekday the next such day. ok
// is false when the text states no time that is understood. The corpus of
// texts is in the tests.
func ParseReset(text string, told time.Time) (at time.Time, ok bool) {
	s, ok := parseStated(text, told.Location())
	if !ok {
		return time.Time{}, false
	}
	return s.after(told), true
}

func parseStated(text string, local *time.Location) (stated, bool) {
	if m := epochClause.FindStringSubmatch(text); m != nil {
		n, err := strconv.ParseInt(m[1], 10, 64)
		return stated{epoch: n}, err == nil
	}
	for _, m := range resetClause.FindAllStringSubmatch(text, -1) {
		if s, ok := readClause(m, local); ok {
			return s, true
		}
	}
	return stated{}, false
}

func readClause(m []string, local *time.Location) (stated, bool) {
	get := func(name string) string { return strings.ToLower(m[resetClause.SubexpIndex(name)]) }
	s := stated{zone: local, weekday: -1}
	switch {
	case get("weekday") != "":
		s.weekday = strings.Index("sunmontuewedthufrisat", get("weekday")) / 3
	case get("month") != "":
		s.month = time.Month(strings.Index("janfebmaraprmayjunjulaugsepoctnovdec", get("month"))/3 + 1)
		s.day, _ = strconv.Atoi(get("day"))
		s.year, _ = strconv.Atoi(get("year"))
	case get("iso") != "":
		d, err := time.Parse(time.DateOnly, get("iso"))
		if err != nil {
			return s, false
		}
		s.year, s.month, s.day = d.Date()
	}
	if !s.readClock(get("hour"), get("minute"), get("half")) {
		return s, false
	}
	if !s.clock && s.weekday < 0 && s.month == 0 {
		return s, false
	}
	if s.month != 0 && !s.realDay() {
		return s, false
	}
	return s, s.readZone(m[resetClause.SubexpIndex("zone")], get("utc"))
}

// readClock reads 7pm, 7:30pm and 19:30; a bare 7 is no time of day.
func (s *stated) readClock(hour, min, half string) bool {
	if hour == "" {
		return true
	}
	s.clock = true
	s.hour, _ = strconv.Atoi(hour)
	s.minute, _ = strconv.Atoi("0" + min)
	switch {
	case s.minute > 59:
		return false
	case half == "":
		return min != "" && s.hour < 24
	case s.hour < 1 || s.hour > 12:
		return false
	}
	s.hour %= 12
	if half == "p" {
		s.hour += 12
	}
	return true
}

// realDay refuses February 30. A year that is not said may be a leap year.
func (s *stated) realDay() bool {
	year := s.year
	if year == 0 {
		year = 2024
	}
	d := time.Date(year, s.month, s.day, 0, 0, 0, 0, time.UTC)
	return d.Month() == s.month && d.Day() == s.day
}

func (s *stated) readZone(zone, utc string) bool {
	switch {
	case utc != "":
		s.zone = time.UTC
	case zone != "":
		loc, err := time.LoadLocation(strings.TrimSpace(zone))
		if err != nil || loc == time.Local || strings.TrimSpace(zone) == "" {
			return false
		}
		s.zone = loc
	}
	return true
}

// after is the moment that is meant by a text that was printed at told.
func (s *stated) after(told time.Time) time.Time {
	if s.epoch != 0 {
		return time.Unix(s.epoch, 0)
	}
	from := told.Add(-minute)
	year, month, day := told.In(s.zone).Date()
	switch {
	case s.year != 0:
		return s.at(s.year, s.month, s.day, from)
	case s.month != 0:
		return s.nextDate(year, from)
	case s.weekday >= 0:
		ahead := (s.weekday - int(told.In(s.zone).Weekday()) + 7) % 7
		if t := s.at(year, month, day+ahead, from); !t.Before(from) {
			return t
		}
		return s.at(year, month, day+ahead+7, from)
	}
	if t := s.at(year, month, day, from); !t.Before(from) {
		return t
	}
	return s.at(year, month, day+1, from)
}

// nextDate is a date without a year: this year's, or around New Year the next
// one's or the last one's. A date that is long gone stays gone.
func (s *stated) nextDate(year int, from time.Time) time.Time {
	t := s.at(year, s.month, s.day, from)
	for _, y := range []int{year + 1, year - 1} {
		if o := s.at(y, s.month, s.day, from); o.Sub(from).Abs() < t.Sub(from).Abs() {
			t = o
		}
	}
	return t
}

// at is the stated time on a day. When clocks are put back it comes twice: the
// first one that is not over counts.
func (s *stated) at(year int, month time.Month, day int, from time.Time) time.Time {
	t := time.Date(year, month, day, s.hour, s.minute, 0, 0, s.zone)
	best := t
	for _, shift := range []time.Duration{-time.Hour, -30 * time.Minute, 30 * time.Minute, time.Hour} {
		o := t.Add(shift)
		if !sameClock(o, t) {
			continue
		}
		if best.Before(from) && o.After(best) || o.Before(best) && !o.Before(from) {
			best = o
		}
	}
	return best
}

func sameClock(a, b time.Time) bool {
	return a.Day() == b.Day() && a.Hour() == b.Hour() && a.Minute() == b.Minute()
}

// skew is how far this machine's clock and the API's may differ.
const skew = 10 * time.Minute

// Within holds a reset to the window of its limit: a file that was written
// anew after the reset puts the time of day a day too late. A time of day that
// lies beyond the window is the one that is over already (field report A01);
// of another, the window's end is the latest.
func Within(at, told time.Time, window time.Duration, bareClock bool) time.Time {
	if !at.After(told.Add(window + skew)) {
		return at
	}
	if bareClock {
		return at.AddDate(0, 0, -1)
	}
	return told.Add(window)
}
