package front

import (
	"fmt"
	"strings"
)

// man is the tool's manual page, made from the same description as --help, so
// that the two can't differ.
func (t Tool) man() string {
	var b strings.Builder
	fmt.Fprintf(&b, ".TH %s 1 \"\" \"sessionhub\" \"sessionhub manual\"\n", strings.ToUpper(t.Name))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", roff(t.Name), roff(t.Short))
	b.WriteString(".SH SYNOPSIS\n")
	if t.Main != nil {
		fmt.Fprintf(&b, ".B %s\n%s\n.br\n", roff(t.Name), roff(t.Main.Args))
	}
	fmt.Fprintf(&b, ".B %s\n.I VERB\n[flags] [args]\n", roff(t.Name))
	fmt.Fprintf(&b, ".SH DESCRIPTION\n%s\n", paragraphs(t.Long))
	if t.Main != nil {
		manMain(&b, t)
	}
	for _, v := range t.Verbs {
		manVerb(&b, []string{t.Name}, v)
	}
	b.WriteString(".SH ENVIRONMENT\n" +
		".TP\n.B SESSIONHUB_CONFIG\nThe config file, in place of ~/.config/sessionhub/config.toml.\n" +
		".TP\n.B SESSIONHUB_STATE_DIR\nThe state directory, in place of ~/.local/state/sessionhub.\n" +
		".TP\n.B SESSIONHUB_*\nA setting, as each flag above names it.\n")
	if len(t.See) > 0 {
		fmt.Fprintf(&b, ".SH SEE ALSO\n%s\n", roff(strings.Join(t.See, ", ")))
	}
	return b.String()
}

func manVerb(b *strings.Builder, path []string, v Verb) {
	path = append(path[:len(path):len(path)], v.Name)
	if len(v.Verbs) > 0 {
		for _, sub := range v.Verbs {
			manVerb(b, path, sub)
		}
		return
	}
	fmt.Fprintf(b, ".SH \"%s\"\n.B %s\n%s\n.PP\n%s.\n", strings.ToUpper(strings.Join(path[1:], " ")), roff(strings.Join(path, " ")), roff(v.Args), roff(capital(v.Short)))
	if v.Long != "" {
		fmt.Fprintf(b, ".PP\n%s\n", paragraphs(v.Long))
	}
	manTail(b, v)
}

// manMain describes what a tool does without a verb.
func manMain(b *strings.Builder, t Tool) {
	fmt.Fprintf(b, ".SH \"WITHOUT A VERB\"\n%s.\n", roff(capital(t.Main.Short)))
	if t.Main.Long != "" {
		fmt.Fprintf(b, ".PP\n%s\n", paragraphs(t.Main.Long))
	}
	manTail(b, *t.Main)
}

// manTail are the flags, examples, files and exit statuses.
func manTail(b *strings.Builder, v Verb) {
	for _, d := range flagDocs(v) {
		fmt.Fprintf(b, ".TP\n.B %s\n%s\n", roff(d.head()), roff(d.tail()))
	}
	if len(v.Examples) > 0 {
		b.WriteString(".SS Examples\n")
		for _, e := range v.Examples {
			fmt.Fprintf(b, ".TP\n%s\n.B %s\n", roff(e.For), roff(e.Line))
		}
	}
	if len(v.Files) > 0 {
		b.WriteString(".SS Files\n.nf\n")
		for _, f := range v.Files {
			fmt.Fprintf(b, "%s\n", roff(f))
		}
		b.WriteString(".fi\n")
	}
	b.WriteString(".SS \"Exit status\"\n")
	for _, e := range exits(v) {
		fmt.Fprintf(b, ".TP\n.B %d\n%s\n", e.Code, roff(e.When))
	}
}

func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

func paragraphs(s string) string {
	parts := strings.Split(strings.TrimSpace(s), "\n\n")
	for i := range parts {
		parts[i] = roff(parts[i])
	}
	return strings.Join(parts, "\n.PP\n")
}

// roff escapes what groff would take as its own.
func roff(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(s)
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, ".") || strings.HasPrefix(l, "'") {
			lines[i] = `\&` + l
		}
	}
	return strings.Join(lines, "\n")
}
