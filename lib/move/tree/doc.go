// Package tree is the Git side of moving a session: what of a work tree
// travels, how it is applied to another clone, and how that is taken back.
//
// The source calls [Capture] while a person may work there; it changes
// nothing. Commits travel by the remote ([Captured.Push]), or in a Git bundle
// ([Captured.Commits]). The target calls [FindClone], [Target.Check] and
// [Target.Apply]. Apply writes every change to a journal before it makes it;
// [Undo] takes back by the journal what Apply did, and only that, after a
// crash at any point: never by git reset, git clean, git stash or a forced
// checkout. [Settle] ends it when the session runs on the target.
package tree
