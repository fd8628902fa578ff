package doctor

import (
	"os"

	"golang.org/x/sys/unix"
)

// FileSystem tells whether a path lies on a file system of another machine.
func FileSystem(path string) (name string, remote bool, err error) {
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil {
		return "", false, &os.PathError{Op: "statfs", Path: path, Err: err}
	}
	return unix.ByteSliceToString(st.Fstypename[:]), st.Flags&unix.MNT_LOCAL == 0, nil
}
