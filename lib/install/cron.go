package install

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"sessionhub/lib/shell"
)

// cron is a user's crontab, by way of the program of that name. In it one line is
// ours; everything else is its user's, and stays to the byte.
type cron struct {
	Kind
	program string
	home    string
}

const (
	// cronMark ends our line. To sh it is a comment.
	cronMark = " # by shinstall revive"
	// cronKey is the crontab's name in the ledger: its file is nobody's business.
	cronKey = "crontab"
	// cronTimes are those of the timer.
	cronTimes = "7,22,37,52 * * * *"
	// cronLongest bounds our line: vixie cron cuts a command of 1000 bytes.
	cronLongest = 980
)

// newCron is nil where there is no cron.
func newCron(k Kind, getenv func(string) string) *cron {
	path, err := program("", "crontab", "", getenv)
	if err != nil {
		return nil
	}
	return &cron{Kind: k, program: path, home: getenv("HOME")}
}

// line is a job as a line of a crontab, without its end. HOME is named, as not
// every cron sets it.
func (c *cron) line(j Job) (string, error) {
	if err := j.check(); err != nil {
		return "", err
	}
	words := []string{cronTimes, "HOME=" + shell.Quote(c.home)}
	for _, kv := range j.Env {
		name, value, _ := strings.Cut(kv, "=")
		words = append(words, name+"="+shell.Quote(value))
	}
	words = append(words, Command{Argv: j.Argv}.Line(), ">>", shell.Quote(c.Log), "2>&1")
	// To cron a percent sign is the end of a line.
	line := strings.ReplaceAll(strings.Join(words, " ")+cronMark, "%", `\%`)
	if len(line) > cronLongest {
		return "", fmt.Errorf("the crontab's line would have %d bytes, and cron takes %d: shorter paths are wanted (--bin-dir, --claude)", len(line), cronLongest)
	}
	return line, nil
}

// ourLine reports whether a line of a crontab is ours, also one that a person
// changed or commented out.
func ourLine(line string) bool {
	return strings.HasSuffix(strings.TrimRight(line, " \t\r\n"), cronMark)
}

// splitCrontab takes our lines out of a crontab.
func splitCrontab(text []byte) (rest []byte, mine []string) {
	if text == nil {
		return nil, nil
	}
	rest = []byte{}
	for line := range bytes.Lines(text) {
		if ourLine(string(line)) {
			mine = append(mine, strings.TrimSuffix(string(line), "\n"))
			continue
		}
		rest = append(rest, line...)
	}
	return rest, mine
}

// withLine puts our line into a crontab: in the place of the first one of ours, else
// in front, where none of its user's settings (SHELL, PATH) counts for it and a
// missing newline at the end does no harm.
func withLine(text []byte, line string) []byte {
	if _, mine := splitCrontab(text); len(mine) == 0 {
		return append([]byte(line+"\n"), text...)
	}
	var out []byte
	there := false
	for old := range bytes.Lines(text) {
		switch {
		case !ourLine(string(old)):
			out = append(out, old...)
		case !there:
			out, there = append(out, line+"\n"...), true
		}
	}
	return out
}

// read is the crontab; nil means that there is none.
func (c *cron) read(ctx context.Context) ([]byte, error) {
	cmd := Command{Argv: []string{c.program, "-l"}}
	out, err := Ask(ctx, cmd)
	switch said := string(out.Stderr); {
	case err != nil:
		return nil, err
	case out.Code == 0 && out.Stdout == nil:
		return []byte{}, nil
	case out.Code == 0:
		return out.Stdout, nil
	case strings.Contains(said, "no crontab for"), strings.Contains(said, "can't open") && strings.Contains(said, "No such file"): // busybox
		return nil, nil
	}
	return nil, fmt.Errorf("%s: %s", cmd.Line(), out.Line())
}

// put has cron run a job. A line of ours that a person changed stays.
func (c *cron) put(ctx context.Context, r *Run, b *books, j Job) error {
	line, err := c.line(j)
	if err != nil {
		return err
	}
	old, err := c.read(ctx)
	if err != nil {
		return err
	}
	_, mine := splitCrontab(old)
	for _, l := range mine {
		if l != line && !b.ledger.asWritten(cronKey, []byte(l)) {
			r.Note("crontab", "its line of shrevive is not as shinstall wrote it: it stays, and is yours; take it out (crontab -e) to have it made anew")
			return nil
		}
	}
	f := File{Path: cronKey, Old: old, New: withLine(old, line)}
	if f.same() {
		r.Unchanged("crontab", "cron runs shrevive every quarter of an hour")
		return nil
	}
	block := line
	if w, known := b.ledger.of(cronKey, b.by); old == nil || known && w.Block == "" {
		block = "" // all of it is ours
	}
	b.ledger.note(File{Path: cronKey, New: []byte(line)}, b.by, block, j.runs()...)
	if err := b.ledger.save(r); err != nil {
		return err
	}
	return c.write(ctx, r, f, "cron runs shrevive every quarter of an hour; its words are in "+c.Log)
}

// take takes our line out of the crontab, and the crontab away if nothing is in it
// but what we made.
func (c *cron) take(ctx context.Context, r *Run, b *books) (gone bool, err error) {
	old, err := c.read(ctx)
	if err != nil {
		return false, err
	}
	rest, mine := splitCrontab(old)
	w, known := b.ledger.of(cronKey, b.by)
	b.ledger.forget(cronKey)
	if len(mine) == 0 {
		return false, nil
	}
	f := File{Path: cronKey, Old: old, New: rest}
	if len(rest) == 0 && known && w.Block == "" {
		f.New = nil
	}
	return true, c.write(ctx, r, f, "cron runs shrevive no more")
}

// write replaces the crontab, or removes it.
func (c *cron) write(ctx context.Context, r *Run, f File, detail string) error {
	if r.DryRun {
		cmd := Command{Argv: []string{c.program, "FILE"}}
		if f.New == nil {
			cmd.Argv[1] = "-r"
		}
		r.tell(Step{Step: "crontab", Outcome: Planned, Diff: f.diff(), Command: cmd.Line()})
		return nil
	}
	now, err := c.read(ctx)
	if err != nil {
		return err
	}
	if (now == nil) != (f.Old == nil) || !bytes.Equal(now, f.Old) {
		return fmt.Errorf("the crontab %w", ErrChanged)
	}
	out, err := c.replace(ctx, f.New)
	if err == nil && out.Code != 0 && len(f.New) > 0 && f.New[len(f.New)-1] != '\n' && strings.Contains(string(out.Stderr), "newline") {
		r.Note("crontab", "its last line had no newline, which cron wants: it has one now")
		out, err = c.replace(ctx, append(f.New, '\n'))
	}
	switch {
	case err != nil:
		return err
	case out.Code != 0:
		return fmt.Errorf("%s: %s", c.program, out.Line())
	}
	r.Changed("crontab", "%s", detail)
	return nil
}

// replace gives the crontab another content; nil removes it.
func (c *cron) replace(ctx context.Context, text []byte) (out Output, err error) {
	if text == nil {
		return Ask(ctx, Command{Argv: []string{c.program, "-r"}})
	}
	f, err := os.CreateTemp("", "shinstall-crontab-") // 0600
	if err != nil {
		return out, err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(text)
	if err := errors.Join(err, f.Close()); err != nil {
		return out, err
	}
	return Ask(ctx, Command{Argv: []string{c.program, f.Name()}})
}
