// Package revive resumes Claude Code's background sessions that a usage limit,
// an outage or the network stopped. A background session never goes on by
// itself after that (seen with 2.1.332), and nothing inside of it can wake it.
//
// The core is pure: Decide says what to do with the sessions, and why. Around
// it, a Reviver reads their files and carries it out.
package revive
