// Command shinstall hooks sessionhub up and takes it away again.
package main

import "sessionhub/cmd/internal/front"

func main() { front.Main(tool()) }

func tool() front.Tool {
	var verbs []front.Verb
	for _, h := range hookUps() {
		verbs = append(verbs, hookUpVerb(h))
	}
	return front.Tool{
		Name:  "shinstall",
		Short: "hook sessionhub up, and take it away again",
		Long: `shinstall hooks sessionhub up to the programs that it works with. Several things
can be named in one call: shinstall hub plugin hooks mcp revive. What is as it
should be is left alone, so it may be run again at any time, and should be after an
upgrade. --dry-run shows every change and makes none; --remove takes away what
was made, and only that. shinstall doctor tests all of it.`,
		Verbs: append(verbs, statusVerb(), doctorVerb(), manifestVerb()),
		See:   []string{"shq(1)", "shwatch(1)", "shctl(1)", "shhub(1)"},
	}
}
