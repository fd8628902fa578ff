package claude

import (
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf16"
)

// maxFolder is the length of a project folder's name before its hash, in
// UTF-16 units.
const maxFolder = 200

// ProjectFolder is the name of the folder in which Claude Code keeps the
// transcripts of a working directory (its real path, without symbolic links):
// every UTF-16 unit outside [A-Za-z0-9] becomes "-". A longer name than 200
// units is cut and gets a hash of the path. Different directories may share a
// folder, so the name can't be turned back. Found by trial with 2.1.332.
func ProjectFolder(dir string) string {
	all := units(dir)
	var b strings.Builder
	for i, u := range all {
		if i == maxFolder {
			return b.String() + "-" + folderHash(all)
		}
		if u < 0x80 && isWord(byte(u)) {
			b.WriteByte(byte(u))
		} else {
			b.WriteByte('-')
		}
	}
	return b.String()
}

func units(s string) []uint16 { return utf16.Encode([]rune(s)) }

func isWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// folderHash is h*31+unit over the units in 32 bits, its absolute value in
// base 36.
func folderHash(units []uint16) string {
	var h int32
	for _, u := range units {
		h = h<<5 - h + int32(u)
	}
	n := int64(h) // the absolute value of the smallest int32 is none
	return strconv.FormatInt(max(n, -n), 36)
}

// Project is the folder of the transcripts of a working directory.
func (h Home) Project(dir string) string {
	return filepath.Join(string(h), "projects", ProjectFolder(dir))
}
