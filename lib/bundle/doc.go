// Package bundle writes and reads what a session travels in: a PAX tar in one
// zstd frame. manifest.json comes first, its signature directly after it, then
// the entries in the manifest's order; stock tar reads it. The manifest binds
// every entry by name, size, mode and SHA-256, so that its signature covers
// the whole. Sealing for a recipient is lib/seal's.
//
// A bundle is hostile until Read returned without an error: the reader takes
// sizes from the signed manifest alone, and refuses whatever the writer would
// not have written. Memory is bounded at any size of the bundle.
package bundle

import (
	"errors"
	"fmt"
)

// The entries that are the bundle's own.
const (
	ManifestName  = "manifest.json"
	SignatureName = "signature.json"
)

// The limits of a bundle, in bytes.
const (
	DefaultLimit   = 512 << 20 // sum of all entries; what a hub takes by default
	maxManifest    = 8 << 20   // some 40,000 entries, and the largest thing held in memory
	maxSignature   = 4 << 10
	maxPath        = 4096 // Linux's PATH_MAX
	maxSegment     = 255  // Linux's and macOS's NAME_MAX
	maxWindow      = 8 << 20
	tarBlock       = 512
	tarRecord      = 20 * tarBlock // what tar pads its end to
	bufferSize     = 256 << 10
	maxFrameHeader = 18
)

// ErrUnsound is wrapped by every error about the content of a bundle, as
// against one of reading or writing it.
var ErrUnsound = errors.New("unsound bundle")

func unsound(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrUnsound}, args...)...)
}
