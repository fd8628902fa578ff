package bundle

import (
	"archive/tar"
	"errors"
	"io"
	"strings"
	"testing"

	"sessionhub/lib/record"
)

func TestNames(t *testing.T) {
	for _, name := range []string{
		"transcript.jsonl", "commits.bundle", "staged.patch", "changes.patch", "sidecar/a", "file-history/0b5c/a@v1",
		"untracked/-rf", "untracked/..a", "untracked/a b/ü", "untracked/.gitignore", "untracked/git~2", "untracked/x.git/a",
		"untracked/" + strings.Repeat("s", 255), "untracked/" + strings.Repeat("a/", 2043),
	} {
		if name = strings.TrimSuffix(name, "/"); CheckName(name) != nil {
			t.Errorf("%q: %v", name, CheckName(name))
		}
	}
}

func TestRefusedNames(t *testing.T) {
	for _, c := range []struct{ name, why string }{
		{"", "no name"},
		{"/etc/passwd", "absolute"},
		{"untracked/../../x", `".."`},
		{"untracked/..", `".."`},
		{"..", `a bundle holds no ".."`},
		{"untracked/./x", `"."`},
		{"untracked//x", "empty segment"},
		{"untracked/x/", "empty segment"},
		{"untracked/a\\..\\b", "backslash"},
		{"untracked/a\x00b", "control"},
		{"untracked/a\nb", "control"},
		{"untracked/\x1b[2J", "control"},
		{"untracked/a\u0085b", "control"},
		{"untracked/\xff", "UTF-8"},
		{"untracked/" + strings.Repeat("s", 256), "segment"},
		{"untracked/" + strings.Repeat("a/", 2043) + "a/b", "longer than 4096"},
		{"untracked", "is a folder"},
		{"transcript.jsonl/x", "is no folder"},
		{"transcript.JSONL", "holds no"},
		{"manifest.json", "holds no"},
		{".credentials.json", "holds no"}, // field report A38
		{"projects/x", "holds no"},
		{"untracked/.git/hooks/post-checkout", ".git"},
		{"untracked/sub/.GIT/config", ".git"},
		{"untracked/.g\u200cit/config", ".git"}, // macOS passes over the joiner
		{"untracked/.git. /config", ".git"},
		{"untracked/GIT~1/config", ".git"},
	} {
		err := CheckName(c.name)
		if !errors.Is(err, ErrUnsound) || !strings.Contains(err.Error(), c.why) {
			t.Errorf("%q: got %v, want %q", c.name, err, c.why)
		}
	}
}

func TestRefusedEntries(t *testing.T) {
	k := ours(t)
	over := plainFile("untracked/a", "a")
	for _, c := range []struct {
		name   string
		files  []File
		change func(e []record.ManifestEntry)
		why    string
	}{
		{"twice", []File{over, over}, nil, "twice"},
		{"case", []File{plainFile("untracked/README", ""), plainFile("untracked/readme", "")}, nil, "take them for one"},
		{"case beyond ASCII", []File{plainFile("untracked/STRASSE", ""), plainFile("untracked/straße", "")}, nil, "take them for one"},
		{"composed and not", []File{plainFile("untracked/\u00e9", ""), plainFile("untracked/e\u0301", "")}, nil, "take them for one"},
		{"composed and not, and case", []File{plainFile("untracked/d/\u00c9", ""), plainFile("untracked/d/e\u0301", "")}, nil, "take them for one"},
		{"below a link", []File{link("untracked/l", "/etc"), plainFile("untracked/l/passwd", "")}, nil, "no folder"},
		{"below a link that comes later", []File{plainFile("untracked/l/x/passwd", ""), link("untracked/l", "/etc")}, nil, "no folder"},
		{"below a link in another case", []File{link("untracked/L", "/etc"), plainFile("untracked/l/passwd", "")}, nil, "no folder"},
		{"below a link in capitals", []File{link("untracked/l", "/etc"), plainFile("untracked/L/passwd", "")}, nil, "no folder"},
		{"below a file", []File{plainFile("untracked/f", ""), plainFile("untracked/f/g", "")}, nil, "no folder"},
		{"a link elsewhere", []File{link("sidecar/l", "/etc")}, nil, "no place"},
		{"the transcript a link", []File{link("transcript.jsonl", "/etc/passwd")}, nil, "no place"},
		{"a link's target with a control", []File{link("untracked/l", "a\x1b[2J")}, nil, "target"},
		{"a link's target too long", []File{link("untracked/l", strings.Repeat("a", 4097))}, nil, "target"},
		{"a link with content", []File{link("untracked/l", "a")}, func(e []record.ManifestEntry) { e[0].Size = 1 }, "neither size"},
		{"negative", []File{over}, func(e []record.ManifestEntry) { e[0].Size = -1 }, "negative"},
		{"set-user-id", []File{over}, func(e []record.ManifestEntry) { e[0].Mode = 0o4755 }, "more than permissions"},
		{"no hash", []File{over}, func(e []record.ManifestEntry) { e[0].SHA256 = "" }, "SHA-256"},
		{"a hash that is none", []File{over}, func(e []record.ManifestEntry) { e[0].SHA256 = strings.ToUpper(sum("a")) }, "SHA-256"},
		{"more than the limit", []File{over}, func(e []record.ManifestEntry) { e[0].Size = DefaultLimit + 1 }, "limit"},
		{"a sum that overflows", []File{over, plainFile("untracked/b", "b"), plainFile("untracked/c", "c")}, func(e []record.ManifestEntry) {
			for i := range e {
				e[i].Size = 1<<63 - 1
			}
		}, "limit"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := manifest(k)
			m.Entries = entries(t, c.files)
			if c.change != nil {
				c.change(m.Entries)
			}
			b := forge(t, k, m, func(w *tar.Writer) {
				for i, f := range c.files { // as a hostile writer would, in full
					h := *header(&m, m.Entries[i])
					if f.Link != "" || h.Size < 0 || h.Size > 1<<20 {
						h.Size = 0
					}
					h.Mode &= 0o777
					content := ""
					if f.Link == "" && h.Size > 0 {
						r, _ := f.Open()
						b, _ := io.ReadAll(r)
						content = string(b)
					}
					put(t, w, h, content)
				}
			})
			refused(t, b, trusting(), c.why)
			if c.change == nil { // the writer would not have written it
				if _, err := Write(io.Discard, manifest(k), c.files, 0, k.Sign); !errors.Is(err, ErrUnsound) || !strings.Contains(err.Error(), c.why) {
					t.Errorf("the writer says %v", err)
				}
			}
		})
	}
}
