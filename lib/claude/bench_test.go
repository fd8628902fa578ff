package claude

import (
	"os"
	"strconv"
	"testing"
)

// The registry of somebody whose Claudes were killed often: entries are never
// tidied.
func BenchmarkLive(b *testing.B) {
	h := Home(b.TempDir())
	if err := os.MkdirAll(h.Sessions(), 0o700); err != nil {
		b.Fatal(err)
	}
	table, err := NewTable()
	if err != nil {
		b.Fatal(err)
	}
	self, _ := table.Find(os.Getpid())
	put := func(pid int) {
		text := `{"pid":` + strconv.Itoa(pid) + `,"sessionId":"A","procStart":"` + self.Start + `","kind":"interactive","entrypoint":"cli","status":"idle","peerFeatures":["notify_idle","reply_across_default_dirs"]}`
		if err := os.WriteFile(h.Sessions()+"/"+strconv.Itoa(pid)+".json", []byte(text), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	const most = 4_194_304 // more than a process id can be
	for i := range 500 {
		put(most + i)
	}
	put(os.Getpid())
	for b.Loop() {
		table, err := NewTable()
		if err != nil {
			b.Fatal(err)
		}
		if list, err := h.Live(table); err != nil || len(list) != 1 {
			b.Fatalf("%v, %v", list, err)
		}
	}
}
