package front

import (
	"fmt"
	"runtime"
)

// Set by the linker (make build); never changed at run time.
var (
	version = "devel"
	commit  = "unknown"
)

// Version is which build this is.
type Version struct{ Number, Commit string }

// BuildVersion is the version that the linker was given.
func BuildVersion() Version { return Version{Number: version, Commit: commit} }

// String is the version with platform, Go version and commit.
func (v Version) String() string {
	return fmt.Sprintf("%s (%s/%s, %s, %s)", v.Number, runtime.GOOS, runtime.GOARCH, runtime.Version(), v.Commit)
}
