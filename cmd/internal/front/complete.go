package front

import (
	"fmt"
	"strings"
)

// completion is a completion script for a shell: verbs after the tool, flags
// after a verb.
func (t Tool) completion(args []string) (string, error) {
	shell := ""
	if len(args) == 1 {
		shell = args[0]
	}
	switch shell {
	case "bash":
		return t.bash(), nil
	case "zsh":
		return "#compdef " + t.Name + "\nautoload -U +X bashcompinit && bashcompinit\n" + t.bash(), nil
	case "fish":
		return t.fish(), nil
	}
	return "", fmt.Errorf("--completion: which shell? bash, zsh or fish")
}

func (t Tool) bash() string {
	var b strings.Builder
	fmt.Fprintf(&b, "_%s() {\n  local cur=${COMP_WORDS[COMP_CWORD]} words=\n  case \"${COMP_WORDS[1]}\" in\n", t.Name)
	for _, v := range t.Verbs {
		var words []string
		for _, sub := range v.Verbs {
			words = append(words, sub.Name)
		}
		fmt.Fprintf(&b, "    %s) words=%q ;;\n", v.Name, strings.Join(append(words, flagNames(v)...), " "))
	}
	words := verbNames(t.Verbs)
	if t.Main != nil {
		words = append(words, flagNames(*t.Main)...)
		fmt.Fprintf(&b, "    -*) words=%q ;;\n", strings.Join(flagNames(*t.Main), " "))
	}
	fmt.Fprintf(&b, "  esac\n  [ \"$COMP_CWORD\" -eq 1 ] && words=%q\n", strings.Join(words, " "))
	fmt.Fprintf(&b, "  COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n}\ncomplete -o default -F _%s %s\n", t.Name, t.Name)
	return b.String()
}

func (t Tool) fish() string {
	var b strings.Builder
	fmt.Fprintf(&b, "complete -c %s -n __fish_use_subcommand -f\n", t.Name) // a verb is no file
	if t.Main != nil {
		for _, d := range flagDocs(*t.Main) {
			fmt.Fprintf(&b, "complete -c %s -n __fish_use_subcommand -l %s -d %s\n", t.Name, d.name, fishQuote(d.usage))
		}
	}
	for _, v := range t.Verbs {
		fmt.Fprintf(&b, "complete -c %s -n __fish_use_subcommand -a %s -d %s\n", t.Name, v.Name, fishQuote(v.Short))
		for _, d := range flagDocs(v) {
			fmt.Fprintf(&b, "complete -c %s -n '__fish_seen_subcommand_from %s' -l %s -d %s\n", t.Name, v.Name, d.name, fishQuote(d.usage))
		}
	}
	return b.String()
}

func fishQuote(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(s) + "'"
}

func verbNames(verbs []Verb) []string {
	var names []string
	for _, v := range verbs {
		names = append(names, v.Name)
	}
	return names
}

func flagNames(v Verb) []string {
	var names []string
	for _, d := range flagDocs(v) {
		names = append(names, "--"+d.name)
	}
	return names
}
