package claude

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"
)

// Whatever stands in the registry, only an entry of this very process is
// believed, and nothing panics.
func FuzzEntry(f *testing.F) {
	for _, s := range []string{
		`{"pid":1,"sessionId":"A"}`, `{"pid":"1"}`, `[]`, `null`, `{"pid":1e99,"sessionId":"A"}`, "", "\x00", `{"sessionId":{"a":1},"startedAt":-1}`,
	} {
		f.Add(s)
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, s string) {
		path := filepath.Join(dir, "x.json")
		if err := os.WriteFile(path, []byte(s), 0o600); err != nil {
			t.Fatal(err)
		}
		p, _, err := readOnce[Process](path)
		if err != nil {
			return
		}
		if alive(p, psTable{}) {
			t.Errorf("alive without any process: %+v", p)
		}
	})
}

func FuzzProjectFolder(f *testing.F) {
	f.Add("/home/dev/src/app")
	f.Add("/ö😀日本/../x")
	f.Add("\xff\x00/")
	f.Fuzz(func(t *testing.T, s string) {
		got := ProjectFolder(s)
		n := len(utf16.Encode([]rune(s)))
		if n <= maxFolder && len(got) != n || n > maxFolder && (len(got) <= maxFolder || len(got) > maxFolder+8) {
			t.Errorf("%d units became %d", n, len(got))
		}
		if strings.Trim(got, "-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz") != "" {
			t.Errorf("%q is no safe name", got)
		}
	})
}

func FuzzParsePS(f *testing.F) {
	f.Add(psSample)
	f.Fuzz(func(t *testing.T, s string) {
		for pid, p := range parsePS(s) {
			if p.PID != pid {
				t.Errorf("%d under %d", p.PID, pid)
			}
			Below(parsePS(s), pid, -1) // ends, though the tree may have a circle
		}
	})
}
