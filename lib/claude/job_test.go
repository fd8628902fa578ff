package claude

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestJobs(t *testing.T) {
	h := Home(t.TempDir())
	if list, err := h.Jobs(); len(list) != 0 || err != nil {
		t.Errorf("none: %v %v", list, err)
	}
	written := time.Date(2026, 11, 30, 20, 0, 0, 0, time.UTC)
	for short, content := range map[string]string{
		"whole": `{"state":"blocked","detail":"x","sessionId":"s1","updatedAt":"2026-11-30T21:13:19.189Z"}`,
		"old":   `{"state":"blocked","detail":"x"}`, // as older versions wrote it
		"odd":   `{"state":"blocked","detail":7,"updatedAt":"yesterday","sessionId":"s3"}`,
		"cut":   `{"state":"blo`,
	} {
		path := filepath.Join(string(h), "jobs", short, "state.json")
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, written, written); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(string(h), "jobs", "pins.json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	list, err := h.Jobs()
	if err != nil || len(list) != 3 {
		t.Fatalf("%+v %v", list, err)
	}
	if j := list["whole"]; j.Session != "s1" || j.Updated.Year() != 2026 || j.Updated.Hour() != 21 {
		t.Errorf("%+v", j)
	}
	if j := list["old"]; j.State != JobBlocked || !j.Updated.Equal(written) {
		t.Errorf("%+v", j)
	}
	if j := list["odd"]; j.State != JobBlocked {
		t.Errorf("%+v", j)
	}
}
