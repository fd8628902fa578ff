package main

import (
	"errors"
	"strconv"
	"strings"
)

// byteSize is a flag's size in bytes: a number, with KiB, MiB or GiB.
type byteSize int64

const (
	kib = 1 << 10
	mib = 1 << 20
	gib = 1 << 30
)

// String is the size in its largest whole unit.
func (b *byteSize) String() string {
	n := int64(*b)
	switch {
	case n >= gib && n%gib == 0:
		return strconv.FormatInt(n/gib, 10) + "GiB"
	case n >= mib && n%mib == 0:
		return strconv.FormatInt(n/mib, 10) + "MiB"
	case n >= kib && n%kib == 0:
		return strconv.FormatInt(n/kib, 10) + "KiB"
	}
	return strconv.FormatInt(n, 10)
}

// maxSize bounds what a size may be: more than any disk that a hub has.
const maxSize = 1 << 50

// Set reads a size.
func (b *byteSize) Set(s string) error {
	unit := int64(1)
	for ending, n := range map[string]int64{"KiB": kib, "MiB": mib, "GiB": gib} {
		if rest, ok := strings.CutSuffix(s, ending); ok {
			s, unit = rest, n
		}
	}
	n, err := strconv.ParseInt(strings.TrimSpace(s), 10, 64)
	if err != nil || n <= 0 || n > maxSize/unit {
		return errors.New("a size is wanted, such as 512MiB")
	}
	*b = byteSize(n * unit)
	return nil
}
