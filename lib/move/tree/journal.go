package tree

// Steps is what a move changed in a clone, or was about to: Undo takes back
// by it, whatever of it came to pass. It holds no file's content. Paths are
// relative to the work tree's top and spelled by git.Quote.
type Steps struct {
	Move  string `json:"move"`
	Clone string `json:"clone"` // top of the clone
	// Common is the repository's Git directory, Private the folder in it
	// where the patches lie until the move is settled or undone.
	Common  string `json:"common"`
	Private string `json:"private,omitempty"`

	// HeadRef and HeadCommit are where the clone's HEAD was; HeadRef is empty
	// when it was detached. Switched: HEAD was about to leave.
	HeadRef    string `json:"head_ref,omitempty"`
	HeadCommit string `json:"head_commit"`
	Switched   bool   `json:"switched,omitempty"`

	// Branch was at BranchWas (empty: it did not exist) and is moved to Head.
	Branch      string `json:"branch"`
	Head        string `json:"head"`
	BranchWas   string `json:"branch_was,omitempty"`
	BranchMoved bool   `json:"branch_moved,omitempty"`
	// Tracks is the ref of origin that the new branch was told to follow.
	Tracks string `json:"tracks,omitempty"`

	// Worktree is the work tree that was made for the move, and Parents the
	// folders that were made above it, absolute, from the top.
	Worktree string   `json:"worktree,omitempty"`
	Parents  []string `json:"parents,omitempty"`

	Staged      string    `json:"staged,omitempty"`  // SHA-256 of staged.patch
	Changes     string    `json:"changes,omitempty"` // of changes.patch
	IntentToAdd []string  `json:"intent_to_add,omitempty"`
	Folders     []string  `json:"folders,omitempty"` // parents before children
	Files       []Written `json:"files,omitempty"`

	// Aside is what the session had left in the clone and gave way: changes to
	// the commit Head, taken out. Its patches and files lie in its Private.
	Aside *Steps `json:"aside,omitempty"`

	// Over: nothing is left to take back.
	Over bool `json:"over,omitempty"`
}

// Written is an untracked file or link that the move put into the tree.
type Written struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256,omitempty"`
	Link   string `json:"link,omitempty"` // spelled by git.Quote
}

// Journal keeps the steps of one move. Save returns when they are on disk; it
// is called before each change.
type Journal interface {
	Save(Steps) error
}
