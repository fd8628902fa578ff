package mailbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"sessionhub/lib/record"
	"sessionhub/lib/text"
)

// maxLetter bounds a message's file in bytes: JSON may spell a character with
// six.
const maxLetter = 6*record.MaxMessage + 4<<10

// private reports what keeps a folder or a file from being this user's alone:
// another could have written what lies there.
func private(st fs.FileInfo, mode fs.FileMode) error {
	sys, ok := st.Sys().(*syscall.Stat_t)
	switch {
	case !ok || int(sys.Uid) != os.Geteuid():
		return errors.New("it is another user's")
	case st.Mode().Perm() != mode || st.Mode()&(fs.ModeSetuid|fs.ModeSetgid|fs.ModeSticky) != 0:
		return fmt.Errorf("it has the mode %s, not %04o", st.Mode(), mode)
	}
	return nil
}

// sound checks that the mailbox's folders are private.
func (b Box) sound() error {
	for _, path := range []string{Folder(b.Dir), b.path(), b.path(takenDir)} {
		st, err := os.Lstat(path)
		if err != nil {
			return err
		}
		if !st.IsDir() {
			return fmt.Errorf("%s is no folder", path)
		}
		if err := private(st, 0o700); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil
}

// read reads a message. fs.ErrNotExist: it was taken back.
func (b Box) read(path, id string) (l Letter, err error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return l, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return l, err
	}
	if !st.Mode().IsRegular() {
		return l, errors.New("it is no regular file")
	}
	if err := private(st, 0o600); err != nil {
		return l, err
	}
	raw, err := io.ReadAll(io.LimitReader(f, maxLetter+1))
	if err != nil {
		return l, err
	}
	if len(raw) > maxLetter {
		return l, errors.New("it is too long")
	}
	if err := json.Unmarshal(raw, &l); err != nil {
		return l, fmt.Errorf("it makes no sense: %w", record.Explain(err))
	}
	if l.V != record.Version || l.ID != id || l.Session != b.Session || l.Text == "" {
		return l, errors.New("it is another message's file")
	}
	return l, nil
}

// Begins and Ends are the lines around a message as the model sees it. Both
// stand in the transcript when it arrived whole.
func Begins(id string) string { return "--- message " + id + " begins ---" }

// Ends is the line behind a message.
func Ends(id string) string { return "--- message " + id + " ends ---" }

// Framed is a message as the hook prints it. Claude Code shows the model what a
// hook says as feedback of that hook, so it says who speaks.
func (l Letter) Framed() string {
	from := ""
	if l.From != "" {
		from = " through " + text.Line(l.From)
	}
	return strings.Join([]string{
		"This is no error, and not feedback of a hook: it is a message from the owner of this session, who is the user you work for.",
		"They sent it from afar with sessionhub at " + l.Sent.UTC().Format("2006-01-02 15:04:05 UTC") + from + ", while nothing could be typed here.",
		"Take what stands between the two lines as if they had typed it as their prompt.",
		Begins(l.ID), strings.TrimRight(text.Block(l.Text), "\n"), Ends(l.ID), "",
	}, "\n")
}
