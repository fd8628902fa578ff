package queue

import (
	"encoding/hex"
	"math/rand/v2"
	"strconv"
	"time"

	"sessionhub/lib/record"
)

// Stamp is the identity and time of a record, taken as the first act of the
// process that reports it, so that what happened later has the greater id
// even when a lock hands the turns out otherwise.
type Stamp struct {
	ID string
	At record.Time
}

// NewStamp takes a stamp. The id is a UUIDv7 (RFC 9562) whose twelve bits
// after the milliseconds are a fraction of one (method 3), so ids of one
// machine sort by time down to a quarter of a microsecond. The rest is from
// the runtime's ChaCha8 generator, which the operating system seeds: unique,
// and without the start-up time of crypto/rand and a UUID package, which a
// hook that runs for a millisecond would feel.
func NewStamp(now time.Time) Stamp {
	ms, sub := now.UnixMilli(), now.Nanosecond()%int(time.Millisecond)
	var b [16]byte
	for i := range 6 {
		b[i] = byte(ms >> (40 - 8*i))
	}
	frac := uint16(sub * (1 << 12) / int(time.Millisecond))
	b[6], b[7] = 0x70|byte(frac>>8), byte(frac)
	r := rand.Uint64()
	for i := range 8 {
		b[8+i] = byte(r >> (8 * i))
	}
	b[8] = 0x80 | b[8]&0x3f
	return Stamp{ID: format(b), At: record.At(now)}
}

// stampTime is the time in a stamp's id, to the millisecond and rounded up; the
// zero time when it is none.
func stampTime(id string) time.Time {
	if len(id) < 13 || id[8] != '-' {
		return time.Time{}
	}
	ms, err := strconv.ParseInt(id[:8]+id[9:13], 16, 64)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMilli(ms + 1)
}

func format(b [16]byte) string {
	var s [36]byte
	hex.Encode(s[0:8], b[0:4])
	hex.Encode(s[9:13], b[4:6])
	hex.Encode(s[14:18], b[6:8])
	hex.Encode(s[19:23], b[8:10])
	hex.Encode(s[24:36], b[10:16])
	s[8], s[13], s[18], s[23] = '-', '-', '-', '-'
	return string(s[:])
}
