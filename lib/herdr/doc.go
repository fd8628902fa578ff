// Package herdr talks to herdr, the terminal multiplexer for coding agents,
// through its API socket: one typed method a call, typed errors, and a limit
// on every wait. It knows herdr 0.8.0 and later, ignores what it does not know
// (fields, statuses, event names), and says clearly when a server is too old.
//
// A hook that herdr starts for every event uses this package, so it has no
// start-up work and pulls in nothing heavier than net and encoding/json.
//
// "Finding N" in comments means the numbered findings of the captures of real
// herdr servers that this package was written against.
package herdr
