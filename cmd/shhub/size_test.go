package main

import "testing"

func TestByteSize(t *testing.T) {
	for in, want := range map[string]string{
		"512MiB": "512MiB", "536870912": "512MiB", "1 GiB": "1GiB", "1000": "1000", "3KiB": "3KiB", "2048MiB": "2GiB",
	} {
		var b byteSize
		if err := b.Set(in); err != nil || b.String() != want {
			t.Errorf("%s: %s, %v; want %s", in, b.String(), err, want)
		}
	}
	for _, in := range []string{"", "0", "-1", "MiB", "1MB", "9999999999GiB", "1e3"} {
		var b byteSize
		if err := b.Set(in); err == nil {
			t.Errorf("%q is %d", in, b)
		}
	}
}
