package directive

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"
)

func call(name, input string) Call { return Call{Name: name, Input: json.RawMessage(input)} }

func TestParse(t *testing.T) {
	for _, c := range []struct {
		name, prompt string
		want         Script
	}{
		{"plain text", "hello [x] < y", Script{}},
		{"rounds", `a [[tool Read {"f":"x"}]] b [[tool Bash {"c":"y"}]] [[say Done.]]`,
			Script{Rounds: [][]Call{{call("Read", `{"f":"x"}`)}, {call("Bash", `{"c":"y"}`)}}, Say: "Done."}},
		{"side by side", `[[tool A {}]] [[and B {"x":1}]]`, Script{Rounds: [][]Call{{call("A", "{}"), call("B", `{"x":1}`)}}}},
		{"brackets in the input", `[[tool AskUserQuestion {"questions":[{"options":[["a"]]}]}]]`,
			Script{Rounds: [][]Call{{call("AskUserQuestion", `{"questions":[{"options":[["a"]]}]}`)}}}},
		{"a sub-agent's own", `[[tool Agent {"prompt":"go <<sleep 50>> <<say Sub.>>"}]] [[say Main.]]`,
			Script{Rounds: [][]Call{{call("Agent", `{"prompt":"go <<sleep 50>> <<say Sub.>>"}`)}}, Say: "Main."}},
		{"in a sub-agent", `go <<tool Read {"f":"x"}>> <<sleep 50>> <<say Sub.>>`,
			Script{Rounds: [][]Call{{call("Read", `{"f":"x"}`)}}, Sleep: 50 * time.Millisecond, Say: "Sub."}},
		{"no input", `[[tool ExitPlanMode]] x`, Script{Rounds: [][]Call{{call("ExitPlanMode", "{}")}}}},
		{"over lines", "[[tool Bash\n  {\"c\":\n\"y\"}]]", Script{Rounds: [][]Call{{call("Bash", "{\"c\":\n\"y\"}")}}}},
		{"the rest", `[[sleep 1500]][[status 429 slow down]][[title Fix it]]`,
			Script{Sleep: 1500 * time.Millisecond, Status: 429, StatusText: "slow down", Title: "Fix it"}},
		{"unknown words", `[[x]] [[nothing here]]`, Script{}},
		{"broken input", `[[tool Bash {"c"]] [[say x]]`, Script{Bad: []string{"Bash: invalid character ']' after object key"}, Say: "x"}},
		{"not closed", `[[say x`, Script{Bad: []string{"no ]] after say"}}},
		{"no number", `[[sleep x]] [[status 9 y]]`, Script{Bad: []string{"sleep x", "status 9 y"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Parse(c.prompt); !reflect.DeepEqual(got, c.want) {
				t.Errorf("got  %+v\nwant %+v", got, c.want)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add(`[[tool Bash {"c":"y"}]] [[and <<tool`)
	f.Add("[[ ]]<<>>[[tool]][[sleep -1]]")
	f.Fuzz(func(t *testing.T, s string) {
		for _, round := range Parse(s).Rounds {
			for _, c := range round {
				if c.Name == "" || !json.Valid(c.Input) {
					t.Errorf("call %q with %q", c.Name, c.Input)
				}
			}
		}
	})
}
