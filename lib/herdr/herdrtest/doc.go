// Package herdrtest is a herdr server for tests and demonstrations: a Unix
// socket that speaks herdr's protocol, real shells in real terminals, agents
// that are detected by their process and their screen, plugins whose hooks run
// as under herdr, restarts, and faults to inject.
//
// It was written against captures of real servers of herdr 0.8.2 and the
// published schema of 0.9.3, and runs the same conformance suite as a real
// herdr (Conformance). Where the two differ, this package is wrong.
//
// On systems other than Linux processes are seen less well: working directories
// and command lines of panes are those they were started with.
package herdrtest
