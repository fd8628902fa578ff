package record

import (
	"fmt"
	"time"
)

// TimeFormat is how records spell a time: RFC 3339, UTC, milliseconds.
const TimeFormat = "2006-01-02T15:04:05.000Z07:00"

// Years outside these bounds are absurd: they come from a machine whose clock
// never was set, or from a sender that meant seconds and wrote milliseconds.
const (
	minYear = 2000
	maxYear = 2200
)

// Time is a moment as records carry it. Reading accepts any RFC 3339 time and
// refuses years before 2000 and after 2200; writing is UTC with milliseconds.
type Time struct{ time.Time }

// At converts a time to the precision and zone of records.
func At(t time.Time) Time { return Time{t.UTC().Truncate(time.Millisecond)} }

// ParseTime reads an RFC 3339 time.
func ParseTime(s string) (Time, error) {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return Time{}, fmt.Errorf("%q is not an RFC 3339 time", s)
	}
	if y := t.UTC().Year(); y < minYear || y > maxYear {
		return Time{}, fmt.Errorf("the year of %q is out of range", s)
	}
	return At(t), nil
}

// String is the time in TimeFormat.
func (t Time) String() string { return t.UTC().Format(TimeFormat) }

// MarshalJSON writes the time in TimeFormat; the zero time is null.
func (t Time) MarshalJSON() ([]byte, error) {
	if t.IsZero() {
		return []byte("null"), nil
	}
	b := make([]byte, 0, len(TimeFormat)+2)
	b = append(b, '"')
	b = t.UTC().AppendFormat(b, TimeFormat)
	return append(b, '"'), nil
}

// UnmarshalJSON reads what ParseTime reads, and null as the zero time.
func (t *Time) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		*t = Time{}
		return nil
	}
	if len(b) < 2 || b[0] != '"' || b[len(b)-1] != '"' {
		return fmt.Errorf("a time must be a string")
	}
	p, err := ParseTime(string(b[1 : len(b)-1]))
	if err != nil {
		return err
	}
	*t = p
	return nil
}
