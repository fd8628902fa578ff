package front

import (
	"flag"
	"fmt"
	"slices"
	"sort"
	"strings"
)

// flagDoc is one flag as help, manual page and completions show it.
type flagDoc struct {
	name, arg, usage, env, def string
	may                        string // what a switch takes besides, as in --wait=20s
}

// flagDocs describes the flags of a verb, settings with their environment
// names. Defaults that the config file gives are not shown: they are not the
// tool's.
func flagDocs(v Verb) []flagDoc {
	fs := flag.NewFlagSet(v.Name, flag.ContinueOnError)
	if v.Flags != nil {
		v.Flags(fs)
	}
	var docs []flagDoc
	fs.VisitAll(func(f *flag.Flag) {
		arg, usage := flag.UnquoteUsage(f)
		def, may := f.DefValue, ""
		if isBool(f.Value) {
			arg, may = "", arg
		}
		if def == "false" || def == "0" || def == "0s" || def == "true" {
			def = ""
		}
		docs = append(docs, flagDoc{name: f.Name, arg: arg, usage: usage, def: def, may: may, env: strings.Join(v.Env[f.Name], ", $")})
	})
	all := settings()
	for _, name := range v.Settings {
		flagName := strings.ReplaceAll(name, "_", "-")
		arg, usage := splitUsage(all[name].usage)
		env := envName(flagName)
		if own := v.Env[flagName]; len(own) > 0 {
			env = strings.Join(own, ", $")
		}
		docs = append(docs, flagDoc{name: flagName, arg: arg, usage: usage, env: env, def: "config.toml: " + name})
	}
	sort.Slice(docs, func(i, j int) bool { return docs[i].name < docs[j].name })
	return docs
}

func splitUsage(s string) (arg, usage string) {
	f := &flag.Flag{Usage: s, Value: new(stringValue)}
	arg, usage = flag.UnquoteUsage(f)
	if !strings.Contains(s, "`") {
		arg = ""
	}
	return arg, usage
}

func (d flagDoc) head() string {
	switch {
	case d.may != "":
		return "--" + d.name + "[=" + strings.ToUpper(d.may) + "]"
	case d.arg == "":
		return "--" + d.name
	}
	return "--" + d.name + " " + strings.ToUpper(d.arg)
}

func (d flagDoc) tail() string {
	s := d.usage
	if d.env != "" {
		s += " [$" + d.env + "]"
	}
	if d.def != "" {
		s += " (default " + d.def + ")"
	}
	return s
}

// exits are the exit statuses of a verb: those of all, then its own.
func exits(v Verb) []Exit {
	if v.Guest {
		return []Exit{{0, "always"}}
	}
	var list []Exit
	for _, e := range v.Exits { // a status is told once
		if i := slices.IndexFunc(list, func(o Exit) bool { return o.Code == e.Code }); i >= 0 {
			list[i].When += "; or " + e.When
			continue
		}
		list = append(list, e)
	}
	for _, e := range []Exit{{0, "done"}, {1, "failed"}, {ExitUsage, "wrong usage"}} {
		if !slices.ContainsFunc(list, func(o Exit) bool { return o.Code == e.Code }) {
			list = append(list, e)
		}
	}
	sort.Slice(list, func(i, j int) bool { return list[i].Code < list[j].Code })
	return list
}

func (t Tool) help(path []string, v Verb) string {
	var b strings.Builder
	name := strings.Join(path, " ")
	short, long := v.Short, strings.TrimSpace(v.Long)
	if len(path) == 1 && t.Main != nil { // what the tool is for comes first
		short, long = t.Short, strings.TrimSpace(t.Long)+"\n\n"+long
	}
	fmt.Fprintf(&b, "%s - %s\n\nUSAGE\n", name, short)
	if v.Run != nil {
		fmt.Fprintf(&b, "  %s\n", strings.TrimSpace(name+" "+v.Args))
	}
	if len(v.Verbs) > 0 {
		fmt.Fprintf(&b, "  %s VERB [flags] [args]\n", name)
	}
	if long != "" {
		fmt.Fprintf(&b, "\n%s\n", strings.TrimSpace(long))
	}
	if len(v.Verbs) > 0 {
		b.WriteString("\nVERBS\n")
		for _, sub := range v.Verbs {
			fmt.Fprintf(&b, "  %-14s %s\n", sub.Name, sub.Short)
		}
		if len(path) == 1 {
			fmt.Fprintf(&b, "\n%s VERB --help tells more of a verb; %s --version which build this is.\n", t.Name, t.Name)
		}
	}
	if v.Run == nil && len(v.Verbs) > 0 {
		return b.String()
	}
	writeFlags(&b, v)
	if len(v.Examples) > 0 {
		b.WriteString("\nEXAMPLES\n")
		for _, e := range v.Examples {
			fmt.Fprintf(&b, "  # %s\n  %s\n", e.For, e.Line)
		}
	}
	if len(v.Files) > 0 {
		b.WriteString("\nFILES\n")
		for _, f := range v.Files {
			fmt.Fprintf(&b, "  %s\n", f)
		}
	}
	b.WriteString("\nEXIT STATUS\n")
	for _, e := range exits(v) {
		fmt.Fprintf(&b, "  %3d  %s\n", e.Code, e.When)
	}
	return b.String()
}

func writeFlags(b *strings.Builder, v Verb) {
	docs := flagDocs(v)
	if len(docs) == 0 {
		return
	}
	b.WriteString("\nFLAGS\n")
	for _, d := range docs {
		fmt.Fprintf(b, "  %-24s %s\n", d.head(), d.tail())
	}
}
