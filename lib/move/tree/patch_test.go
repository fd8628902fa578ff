package tree

import (
	"strings"
	"testing"
)

func TestSections(t *testing.T) {
	patch := "diff --git a/x y b/x y\nold mode 100644\nnew mode 100755\n" +
		"diff --git \"a/new\\nline\" \"b/new\\nline\"\nnew file mode 100644\nindex 0..1\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+diff --git a/q b/q\n+index 5\n" +
		"diff --git a/b b/b b/b b/b\ndeleted file mode 120000\nindex 2..0\nGIT binary patch\nliteral 3\nzindex\n\n" +
		"diff --git a/l b/l\nindex 3..4 100644\n--- a/l\n+++ b/l\n@@ -1 +1 @@\n-" + strings.Repeat("x", 3*maxHeader) + "\n+index 9\n"
	list, err := readSections(strings.NewReader(patch))
	if err != nil {
		t.Fatal(err)
	}
	want := []section{
		{path: "x y", facts: "old mode 100644\nnew mode 100755\n"},
		{path: "new\nline", facts: "new file mode 100644\nindex 0..1\n", created: true},
		{path: "b b/b", facts: "deleted file mode 120000\nindex 2..0\n", deleted: true},
		{path: "l", facts: "index 3..4 100644\n"},
	}
	if len(list) != len(want) {
		t.Fatalf("%d sections: %+v", len(list), list)
	}
	var at int64
	for i, s := range list {
		if s.from != at || s.to <= s.from || !strings.HasPrefix(patch[s.from:], "diff --git ") {
			t.Errorf("section %d from %d to %d, the last ended at %d", i, s.from, s.to, at)
		}
		at = s.to
		s.from, s.to = 0, 0
		if s != want[i] {
			t.Errorf("section %d: %+v, want %+v", i, s, want[i])
		}
	}
	if at != int64(len(patch)) {
		t.Errorf("ends at %d of %d", at, len(patch))
	}
	for _, bad := range []string{"x\n", "diff --git a/x b/y\n", "diff --git a/x\n", "diff --git a/ b/\n", "diff --git \"a/\\x\" \"b/\\x\"\n"} {
		if list, err := readSections(strings.NewReader(bad)); err == nil {
			t.Errorf("%q: %+v", bad, list)
		}
	}
}

func FuzzSections(f *testing.F) {
	f.Add("diff --git a/x b/x\nold mode 100644\nnew mode 100755\n")
	f.Add("diff --git \"a/\\303\" \"b/\\303\"\nindex 1..2\n@@ -1 +1 @@\n-a\n+b\n")
	f.Fuzz(func(t *testing.T, patch string) {
		list, err := readSections(strings.NewReader(patch))
		if err != nil {
			return
		}
		var at int64
		for _, s := range list {
			if s.from != at || s.to <= s.from || s.path == "" {
				t.Fatalf("%+v after %d", s, at)
			}
			at = s.to
		}
		if at != int64(len(patch)) {
			t.Fatalf("ends at %d of %d", at, len(patch))
		}
	})
}
