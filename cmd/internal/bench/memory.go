package main

import (
	"bytes"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync/atomic"
)

// gauge is a count that goes up and down.
type gauge struct{ n atomic.Int64 }

func (g *gauge) add(n int64)  { g.n.Add(n) }
func (g *gauge) value() int64 { return g.n.Load() }

// resident is this process's resident memory after a collection, in bytes:
// what the system says, else what the runtime has from it.
func resident() int {
	debug.FreeOSMemory()
	if b, err := os.ReadFile("/proc/self/statm"); err == nil {
		if f := bytes.Fields(b); len(f) > 1 {
			if pages, err := strconv.Atoi(string(f[1])); err == nil {
				return pages * os.Getpagesize()
			}
		}
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.Sys - m.HeapReleased)
}
