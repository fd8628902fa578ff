// Package ask answers what a session asks its person, permission prompts,
// questions and plans, from afar: a hook beside Claude Code's own dialog waits
// for an answer in a file, and who answers first wins.
package ask
