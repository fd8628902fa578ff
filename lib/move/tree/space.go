package tree

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// FreeSpace is how many bytes this user may still write to the file system
// that path is on.
func FreeSpace(path string) (uint64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil {
		return 0, fmt.Errorf("free space of %s: %w", path, err)
	}
	return uint64(st.Bavail) * uint64(st.Bsize), nil
}
