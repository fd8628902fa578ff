package front

import (
	"bytes"
	"context"
	"flag"
	"strings"
	"testing"
)

// solo is a tool that does something without a verb.
func solo(n *int, args *[]string) Tool {
	return Tool{
		Name: "shx", Short: "test", Long: "What it is for.",
		Main: &Verb{
			Args: "[flags]", Short: "do it", Flags: func(fs *flag.FlagSet) { fs.IntVar(n, "times", 3, "do it `N` times") },
			Env: map[string][]string{"times": {"SHX_TIMES", "OLD_TIMES"}},
			Run: func(_ context.Context, c *Call) error { *args = append([]string{"ran"}, c.Args...); return nil },
		},
		Verbs: []Verb{{Name: "status", Short: "tell", Run: func(context.Context, *Call) error { *args = []string{"status"}; return nil }}},
	}
}

func TestAToolWithoutAVerb(t *testing.T) {
	for _, c := range []struct {
		line string
		env  map[string]string
		code int
		n    int
		ran  string
		says string
	}{
		{line: "", n: 3, ran: "ran"},
		{line: "--times 5", n: 5, ran: "ran"},
		{line: "--times 5 more", n: 5, ran: "ran more"},
		{line: "status", ran: "status"},
		{line: "stauts", code: ExitUsage, says: `"stauts" is none of status`},
		{line: "--help", says: "shx VERB [flags]"},
		{line: "--help", says: "shx - test\n"},
		{line: "--help", says: "What it is for.\n\nVERBS"},
		{line: "--help", says: "--times N"},
		{line: "--help", says: "[$SHX_TIMES, $OLD_TIMES] (default 3)"},
		{line: "status --help", says: "shx status"},
		{line: "--man", says: "WITHOUT A VERB"},
		{line: "--completion bash", says: "--times"},
		{line: "", env: map[string]string{"OLD_TIMES": "7"}, n: 7, ran: "ran"},
		{line: "", env: map[string]string{"OLD_TIMES": "7", "SHX_TIMES": "8"}, n: 8, ran: "ran"},
		{line: "--times 9", env: map[string]string{"SHX_TIMES": "8"}, n: 9, ran: "ran"},
		{line: "", env: map[string]string{"OLD_TIMES": "many"}, code: ExitConfig, says: "$OLD_TIMES"},
	} {
		var n int
		var ran []string
		var out bytes.Buffer
		env := Env{
			Args: strings.Fields(c.line), Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out,
			Getenv: func(k string) string { return c.env[k] },
		}
		tool := solo(&n, &ran)
		code := tool.Run(context.Background(), env)
		if code != c.code || strings.Join(ran, " ") != c.ran || !strings.Contains(out.String(), c.says) || c.n != 0 && n != c.n {
			t.Errorf("shx %s with %v: code %d, %d times, ran %q, said %s", c.line, c.env, code, n, ran, out.String())
		}
	}
}
