package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"sessionhub/cmd/internal/front"
	"sessionhub/lib/hubclient"
	"sessionhub/lib/record"
)

// maxRules bounds the standing rules in bytes, as the hub does: they go into
// every prompt.
const maxRules = 64 << 10

func instructionsVerb() front.Verb {
	var edit, asJSON bool
	var set string
	return front.Verb{
		Name: "instructions", Args: "[flags]", Short: "see or change the standing rules", Settings: asking(),
		Long: `Prints the standing rules, which "shq hook context" adds to every prompt of every
session on all machines. --edit opens them in $VISUAL or $EDITOR; --set takes
them from a file, or from standard input with "-". A machine has a change with
its next heartbeat.`,
		Flags: func(fs *flag.FlagSet) {
			fs.BoolVar(&edit, "edit", false, "change them in an editor")
			fs.StringVar(&set, "set", "", "replace them by a `file`, or - for standard input")
			fs.BoolVar(&asJSON, "json", false, "JSON, with the version")
		},
		Run: func(ctx context.Context, c *front.Call) error {
			switch {
			case len(c.Args) > 0:
				return front.Usage("no arguments are wanted, not %q", c.Args[0])
			case edit && set != "":
				return front.Usage("--edit or --set, not both")
			}
			hub, err := connect(c)
			if err != nil {
				return err
			}
			now, _, err := hub.Instructions(ctx, "")
			if err != nil {
				return err
			}
			switch {
			case edit:
				now, err = editRules(ctx, c, hub, now)
			case set != "":
				now, err = setRules(ctx, c, hub, set)
			}
			if err != nil {
				return err
			}
			return printRules(c, now, asJSON, edit || set != "")
		},
		Examples: []front.Example{
			{Line: "shctl instructions --edit", For: "change them"},
			{Line: "shctl instructions --set rules.md", For: "take them from a file"},
		},
		Exits: hubExits(front.Exit{Code: front.ExitBusy, When: "somebody else changed them meanwhile"}, front.Exit{Code: front.ExitData, When: "they are too long"}),
	}
}

func printRules(c *front.Call, in record.Instructions, asJSON, changed bool) error {
	if asJSON {
		return front.PrintJSON(c.Stdout, in)
	}
	if changed {
		fmt.Fprintf(c.Stderr, "stored as version %s\n", in.Version)
		return nil
	}
	if in.Text == "" {
		fmt.Fprintln(c.Stderr, "there are no standing rules; shctl instructions --edit writes some")
		return nil
	}
	_, err := io.WriteString(c.Stdout, strings.TrimRight(in.Text, "\n")+"\n")
	return err
}

func setRules(ctx context.Context, c *front.Call, hub *hubclient.Client, name string) (record.Instructions, error) {
	in := c.Input(ctx)
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return record.Instructions{}, err
		}
		defer f.Close()
		in = f
	}
	text, err := readRules(in)
	if err != nil {
		return record.Instructions{}, err
	}
	return hub.SetInstructions(ctx, text)
}

func readRules(r io.Reader) (string, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxRules+1))
	if err != nil {
		return "", err
	}
	if len(b) > maxRules {
		return "", front.Fail(front.ExitData, fmt.Errorf("the rules are over %d bytes, and they go into every prompt: shorten them", maxRules))
	}
	return string(b), nil
}

// editRules lets a person edit the rules. What was written is kept in its file
// when it can't be stored.
func editRules(ctx context.Context, c *front.Call, hub *hubclient.Client, before record.Instructions) (record.Instructions, error) {
	dir, err := os.MkdirTemp("", "sessionhub-rules-") // 0700
	if err != nil {
		return before, err
	}
	path := filepath.Join(dir, "rules.md")
	if err := os.WriteFile(path, []byte(before.Text), 0o600); err != nil {
		return before, err
	}
	after, err := storeEdited(ctx, c, hub, before, path)
	if err != nil {
		return before, fmt.Errorf("%w; your text is in %s", err, path)
	}
	return after, os.RemoveAll(dir)
}

func storeEdited(ctx context.Context, c *front.Call, hub *hubclient.Client, before record.Instructions, path string) (record.Instructions, error) {
	if err := runEditor(ctx, c, path); err != nil {
		return before, err
	}
	f, err := os.Open(path)
	if err != nil {
		return before, err
	}
	defer f.Close()
	text, err := readRules(f)
	if err != nil || text == before.Text {
		return before, err
	}
	now, _, err := hub.Instructions(ctx, "")
	if err != nil {
		return before, err
	}
	if now.Version != before.Version {
		return before, front.Fail(front.ExitBusy, errors.New("somebody else changed the rules meanwhile"))
	}
	return hub.SetInstructions(ctx, text)
}

// runEditor runs the person's editor, which may be a command with arguments.
func runEditor(ctx context.Context, c *front.Call, path string) error {
	editor := c.Getenv("VISUAL")
	if editor == "" {
		editor = c.Getenv("EDITOR")
	}
	if editor == "" {
		editor = "vi"
	}
	cmd := exec.CommandContext(ctx, "sh", "-c", editor+` "$1"`, "sh", path)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = c.Stdin, c.Stderr, c.Stderr
	if f, ok := c.Stdout.(*os.File); ok && c.Terminal() {
		cmd.Stdout = f
	}
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("editor %q: %w", editor, err)
	}
	return nil
}
