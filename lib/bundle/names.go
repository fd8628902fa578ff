package bundle

import (
	"encoding/hex"
	"fmt"
	"io/fs"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"sessionhub/lib/record"
	"sessionhub/lib/text"
)

// topLevel knows all that a bundle may hold (contract §4): what else
// lies in Claude Code's home, its credentials above all, never travels (field
// report A38).
func topLevel(name string) (file, folder bool) {
	switch name {
	case "transcript.jsonl", "commits.bundle", "staged.patch", "changes.patch":
		return true, false
	case "sidecar", "file-history", "untracked":
		return false, true
	}
	return false, false
}

// CheckName checks the name of an entry: relative, without "..", empty
// segments, backslashes or control characters, at most 4096 bytes and 255 a
// segment, under a known top-level name, and nowhere in a ".git".
func CheckName(name string) error {
	if err := checkName(name); err != nil {
		return unsound("entry %s: %w", shown(name), err)
	}
	return nil
}

func checkName(name string) error {
	switch {
	case name == "":
		return fmt.Errorf("it has no name")
	case len(name) > maxPath:
		return fmt.Errorf("its name is longer than %d bytes", maxPath)
	case !utf8.ValidString(name):
		return fmt.Errorf("its name is not UTF-8")
	case strings.HasPrefix(name, "/"):
		return fmt.Errorf("its name is absolute")
	case strings.Contains(name, `\`):
		return fmt.Errorf("its name holds a backslash")
	case strings.ContainsFunc(name, unicode.IsControl):
		return fmt.Errorf("its name holds a control character")
	}
	top, rest, below := strings.Cut(name, "/")
	file, folder := topLevel(top)
	switch {
	case !file && !folder:
		return fmt.Errorf("a bundle holds no %s", shown(top))
	case file && below:
		return fmt.Errorf("%s is no folder", top)
	case folder && !below:
		return fmt.Errorf("%s is a folder", top)
	}
	if !below {
		return nil
	}
	for seg := range strings.SplitSeq(rest, "/") {
		switch {
		case seg == "":
			return fmt.Errorf("its name has an empty segment")
		case seg == "." || seg == "..":
			return fmt.Errorf("its name holds %q", seg)
		case len(seg) > maxSegment:
			return fmt.Errorf("a segment of its name is longer than %d bytes", maxSegment)
		case isGit(seg):
			return fmt.Errorf("it lies in a .git, where files are commands")
		}
	}
	return nil
}

// isGit reports a segment that some file system takes for ".git": macOS's fold
// case and pass over characters of no width, and Windows's has short names.
func isGit(seg string) bool {
	s := strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, seg)
	s = fold(strings.TrimRight(s, ". "))
	return s == ".git" || s == "git~1"
}

// fold is the same for two segments that a file system may take for one:
// macOS's ignores case, and how a letter and its accent are put together.
func fold(seg string) string {
	ascii := true
	for i := 0; i < len(seg) && ascii; i++ {
		ascii = seg[i] < utf8.RuneSelf
	}
	if ascii {
		return strings.ToLower(seg)
	}
	return norm.NFC.String(cases.Fold().String(norm.NFD.String(seg)))
}

// foldPath folds a name segment by segment.
func foldPath(name string) string {
	segs := strings.Split(name, "/")
	for i := range segs {
		segs[i] = fold(segs[i])
	}
	return strings.Join(segs, "/")
}

// CheckEntries checks a manifest's entries: each by itself, that no two are
// one file somewhere, that none lies below another that is no folder, and that
// their sizes sum to at most limit bytes (0: DefaultLimit).
func CheckEntries(entries []record.ManifestEntry, limit int64) error {
	if limit <= 0 {
		limit = DefaultLimit
	}
	seen := make(map[string]string, len(entries)) // folded name → name
	left := limit
	for i := range entries {
		e := &entries[i]
		if err := CheckName(e.Name); err != nil {
			return err
		}
		if err := checkEntry(e); err != nil {
			return unsound("entry %s: %w", shown(e.Name), err)
		}
		if e.Size > left {
			return unsound("its entries have more than the limit of %d bytes", limit)
		}
		left -= e.Size
		key := foldPath(e.Name)
		switch other, twice := seen[key]; {
		case twice && other == e.Name:
			return unsound("entry %s: it is there twice", shown(e.Name))
		case twice:
			return unsound("entries %s and %s: some file systems take them for one", shown(other), shown(e.Name))
		}
		seen[key] = e.Name
	}
	return checkBelow(entries, seen)
}

// checkBelow refuses an entry below one that is a file or a link: a link would
// be walked through.
func checkBelow(entries []record.ManifestEntry, seen map[string]string) error {
	for i := range entries {
		key := foldPath(entries[i].Name)
		for at := strings.LastIndexByte(key, '/'); at > 0; at = strings.LastIndexByte(key[:at], '/') {
			if other, ok := seen[key[:at]]; ok {
				return unsound("entry %s: it lies below %s, which is no folder", shown(entries[i].Name), shown(other))
			}
		}
	}
	return nil
}

func checkEntry(e *record.ManifestEntry) error {
	switch {
	case e.Size < 0:
		return fmt.Errorf("its size is negative")
	case e.Mode&^uint32(fs.ModePerm) != 0:
		return fmt.Errorf("its mode %o is more than permissions", e.Mode)
	case e.Link != "":
		return checkLink(e)
	}
	if b, err := hex.DecodeString(e.SHA256); err != nil || len(b) != 32 || strings.ToLower(e.SHA256) != e.SHA256 {
		return fmt.Errorf("its SHA-256 is not 64 hex digits")
	}
	return nil
}

func checkLink(e *record.ManifestEntry) error {
	switch {
	case !strings.HasPrefix(e.Name, "untracked/"):
		return fmt.Errorf("a link has no place there")
	case e.Size != 0 || e.SHA256 != "":
		return fmt.Errorf("a link has neither size nor SHA-256")
	case len(e.Link) > maxPath:
		return fmt.Errorf("its target is longer than %d bytes", maxPath)
	case !utf8.ValidString(e.Link) || strings.ContainsFunc(e.Link, unicode.IsControl):
		return fmt.Errorf("its target is not plain text")
	}
	return nil
}

// shownLength is how many characters of a hostile name an error shows.
const shownLength = 80

func shown(name string) string {
	s := name[:min(len(name), 4*shownLength)] // one character can have any number of accents
	s = text.Cut(s, shownLength)
	return `"` + strings.NewReplacer("\n", "<U+000A>", "\t", "<U+0009>").Replace(text.Visible(s)) + `"`
}
