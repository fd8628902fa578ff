package herdr

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// Identity tells one server's socket file from its successor's. The inode
// number alone does not: it may come back (facts of herdr 0.8.2), so the time
// of its making counts, too. Comparable with ==.
type Identity struct {
	Dev, Inode uint64
	MTimeNS    int64
}

// SocketIdentity returns the identity of the socket file at path. A missing
// file is os.ErrNotExist.
func SocketIdentity(path string) (Identity, error) {
	fi, err := os.Stat(path)
	if err != nil {
		return Identity{}, fmt.Errorf("herdr socket: %w", err)
	}
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return Identity{}, fmt.Errorf("herdr socket: %s: this system has no inodes", path)
	}
	return Identity{Dev: uint64(st.Dev), Inode: st.Ino, MTimeNS: fi.ModTime().UnixNano()}, nil
}

// DefaultSession is the name of the session that has none.
const DefaultSession = "default"

// DefaultSocket returns the socket that herdr itself would use with that
// environment: HERDR_SOCKET_PATH, else the session named by HERDR_SESSION, else
// the default session. It is "" if the environment names no home directory.
func DefaultSocket(getenv func(string) string) string {
	if path := getenv("HERDR_SOCKET_PATH"); path != "" {
		return path
	}
	return SessionSocket(getenv("HERDR_SESSION"), getenv)
}

// SessionSocket returns the socket of a named session, of the default one for
// "" and for names that herdr would refuse.
func SessionSocket(name string, getenv func(string) string) string {
	dir := configDir(getenv)
	if dir == "" {
		return ""
	}
	if name == DefaultSession || !validSession(name) {
		return filepath.Join(dir, "herdr.sock")
	}
	return filepath.Join(dir, "sessions", name, "herdr.sock")
}

// SessionName returns the name of the session whose socket that is: "default"
// or its own name, or the path itself if it is not in herdr's own folders.
func SessionName(socketPath string, getenv func(string) string) string {
	dir, path := configDir(getenv), filepath.Clean(socketPath)
	if dir == "" || filepath.Base(path) != "herdr.sock" {
		return socketPath
	}
	folder := filepath.Dir(path)
	if samePath(folder, dir) {
		return DefaultSession
	}
	name := filepath.Base(folder)
	if validSession(name) && name != DefaultSession && samePath(filepath.Dir(folder), filepath.Join(dir, "sessions")) {
		return name
	}
	return socketPath
}

// samePath also sees through symlinks, such as a home directory that is one.
func samePath(a, b string) bool {
	if a == b {
		return true
	}
	ra, errA := filepath.EvalSymlinks(a)
	rb, errB := filepath.EvalSymlinks(b)
	return errA == nil && errB == nil && ra == rb
}

func configDir(getenv func(string) string) string {
	if dir := getenv("XDG_CONFIG_HOME"); dir != "" {
		return filepath.Join(dir, "herdr")
	}
	if home := getenv("HOME"); home != "" {
		return filepath.Join(home, ".config", "herdr")
	}
	return ""
}

// validSession is herdr's own rule for session names.
func validSession(s string) bool {
	if s == "" || len(s) > 64 || s == "." || s == ".." {
		return false
	}
	for _, r := range s {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		if !letter && r != '.' && r != '_' && r != '-' {
			return false
		}
	}
	return true
}
