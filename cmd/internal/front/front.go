// Package front is what the commands of sessionhub share: how a tool and its
// verbs are described, how flags, environment and config file become one
// setting, how help, manual page and completions are made from the
// description, and what an error's exit status is. It holds no logic of any
// tool.
package front

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/peterbourgon/ff/v3/ffcli"

	"sessionhub/lib/config"
)

// Tool describes one command.
type Tool struct {
	Name  string
	Short string // "put records on the queue"
	Long  string
	Main  *Verb // what the tool does without a verb; nil for a tool that needs one
	Verbs []Verb
	See   []string // manual pages to see also, such as "shwatch(1)"
}

// Verb describes one verb of a tool. Either Run or Verbs is set.
type Verb struct {
	Name     string
	Args     string // what follows the verb, such as "[flags] FILE"
	Short    string
	Long     string
	Settings []string // the config.toml settings that it reads and takes as flags
	Flags    func(fs *flag.FlagSet)
	Env      map[string][]string // environment names of flags, the first that is set counts; settings have theirs by rule
	Run      func(ctx context.Context, c *Call) error
	Verbs    []Verb
	Examples []Example
	Files    []string
	Exits    []Exit // besides 0, 1 and 64
	Patient  bool   // it runs with a broken config file, too: Call.ConfigErr
	Guest    bool   // it runs in another program and ends with status 0 always
}

// Example is a command line and what it is for.
type Example struct{ Line, For string }

// Exit is an exit status and when it comes.
type Exit struct {
	Code int
	When string
}

// Env is what a process has around it.
type Env struct {
	Args   []string // without the program's name
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	Getenv func(string) string
}

// Call is one run of a verb.
type Call struct {
	Env
	Args      []string
	Config    config.Config // with Verb.Settings from flags and environment
	ConfigErr error         // of a Patient verb: what is wrong with the config file
	Tool      string
	Version   Version
}

// Main runs the tool as a process: SIGINT and SIGTERM end the context. A second
// SIGINT ends a process that does not heed it, as one that waits for a file.
func Main(t Tool) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, func() { signal.Reset(os.Interrupt) })
	code := t.Run(ctx, Env{Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv})
	stop()
	os.Exit(code)
}

// Run runs the tool and returns its exit status.
func (t Tool) Run(ctx context.Context, env Env) int {
	if done, code := t.special(env); done {
		return code
	}
	path, verb, rest := t.find(env.Args)
	err := t.run(ctx, env, path, verb, rest)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(env.Stdout, t.help(path, verb))
		return 0
	}
	if err == nil {
		return 0
	}
	code := exitCode(ctx, err)
	if line := err.Error(); line != "" && code != ExitInterrupted { // who pressed Ctrl-C knows
		// What failed is often called as the verb is: said once is enough.
		line = strings.TrimPrefix(line, path[len(path)-1]+": ")
		fmt.Fprintf(env.Stderr, "%s: %s\n", strings.Join(path, ": "), line)
	}
	return code
}

// special answers the flags that are the tool's own.
func (t Tool) special(env Env) (bool, int) {
	if len(env.Args) == 0 && t.Main != nil {
		return false, 0
	}
	if len(env.Args) == 0 {
		fmt.Fprint(env.Stderr, t.help([]string{t.Name}, Verb{Verbs: t.Verbs, Short: t.Short, Long: t.Long}))
		return true, ExitUsage
	}
	switch env.Args[0] {
	case "--version", "-version":
		fmt.Fprintf(env.Stdout, "%s %s\n", t.Name, BuildVersion())
	case "--man":
		fmt.Fprint(env.Stdout, t.man())
	case "--completion":
		script, err := t.completion(env.Args[1:])
		if err != nil {
			fmt.Fprintf(env.Stderr, "%s: %v\n", t.Name, err)
			return true, ExitUsage
		}
		fmt.Fprint(env.Stdout, script)
	default:
		return false, 0
	}
	return true, 0
}

// find follows the arguments down the verbs. It stops at the first word that
// is no verb.
func (t Tool) find(args []string) (path []string, verb Verb, rest []string) {
	path = []string{t.Name}
	verb = Verb{Verbs: t.Verbs, Short: t.Short, Long: t.Long}
	for len(args) > 0 && len(verb.Verbs) > 0 {
		next, ok := lookup(verb.Verbs, args[0])
		if !ok {
			break
		}
		path, verb, args = append(path, args[0]), next, args[1:]
	}
	if len(path) == 1 && t.Main != nil {
		verb = *t.Main
		verb.Verbs = t.Verbs
	}
	return path, verb, args
}

func lookup(verbs []Verb, name string) (Verb, bool) {
	for _, v := range verbs {
		if v.Name == name {
			return v, true
		}
	}
	return Verb{}, false
}

func (t Tool) run(ctx context.Context, env Env, path []string, verb Verb, rest []string) error {
	if verb.Run == nil {
		return group(verb, rest)
	}
	if len(path) == 1 && len(rest) > 0 && !strings.HasPrefix(rest[0], "-") {
		return unknownVerb(verb, rest[0])
	}
	call := &Call{Env: env, Tool: t.Name, Version: BuildVersion()}
	fs := flag.NewFlagSet(strings.Join(path, " "), flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	if verb.Flags != nil {
		verb.Flags(fs)
	}
	confErr := call.settings(fs, verb.Settings)
	if err := fromEnv(fs, verb.Env, env.Getenv); err != nil {
		return err
	}
	args, err := reorder(fs, rest)
	if err != nil {
		return usage(path, err)
	}
	cmd := &ffcli.Command{
		Name:    verb.Name,
		FlagSet: fs,
		Exec: func(ctx context.Context, args []string) error {
			if confErr != nil && !verb.Patient {
				return confErr
			}
			call.Args, call.ConfigErr = args, confErr
			return verb.Run(ctx, call)
		},
		UsageFunc: func(*ffcli.Command) string { return "" },
	}
	if err := cmd.Parse(args); err != nil {
		return usage(path, err)
	}
	return cmd.Run(ctx)
}

// group is a verb that only holds verbs, called without one of them.
func group(verb Verb, rest []string) error {
	if len(rest) == 0 {
		return Fail(ExitUsage, errors.New("which? see --help"))
	}
	switch rest[0] {
	case "--help", "-help", "-h", "help":
		return flag.ErrHelp
	}
	return unknownVerb(verb, rest[0])
}

func unknownVerb(verb Verb, word string) error {
	return Fail(ExitUsage, fmt.Errorf("%q is none of %s", word, strings.Join(verbNames(verb.Verbs), ", ")))
}

// usage is an error of the flags, spelled as the help spells them: the flag
// package names each with one dash.
func usage(path []string, err error) error {
	if errors.Is(err, flag.ErrHelp) {
		return err
	}
	msg := strings.TrimPrefix(err.Error(), "error parsing commandline arguments: ")
	if name, ok := strings.CutPrefix(msg, "flag provided but not defined: -"); ok {
		msg = fmt.Sprintf("there is no flag --%s: %s --help lists them", name, strings.Join(path, " "))
	} else if name, ok := strings.CutPrefix(msg, "flag needs an argument: -"); ok {
		msg = fmt.Sprintf("--%s wants a value: see %s --help", name, strings.Join(path, " "))
	}
	if said, ok := strings.CutSuffix(msg, ": parse error"); ok { // all that it says of a number or a time
		msg = fmt.Sprintf("%s: see %s --help", said, strings.Join(path, " "))
	}
	if rest, ok := strings.CutPrefix(msg, "invalid boolean value "); ok {
		msg = "invalid value " + strings.Replace(rest, " for -", " for --", 1)
	}
	return Fail(ExitUsage, errors.New(strings.Replace(msg, " for flag -", " for --", 1)))
}
