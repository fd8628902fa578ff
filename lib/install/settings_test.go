package install

import (
	"errors"
	"os/exec"
	"strings"
	"testing"

	"sessionhub/lib/jsonedit"
)

const shqPath = "/home/dev/.local/bin/shq"

func mustPlant(t testing.TB, settings string) string {
	t.Helper()
	out, err := plant([]byte(settings), HookRows(), shqPath)
	if err != nil {
		t.Fatalf("%s: %v", settings, err)
	}
	return string(out)
}

// The entries are part of the contract with Claude Code: events, names, limits,
// order, no matcher.
func TestHooksInNewSettings(t *testing.T) {
	want := `{
  "hooks": {
    "SessionStart": [
      {
        "hooks": [
          {
            "type": "command",
            "command": "/home/dev/.local/bin/shq hook session-start",
            "timeout": 10
          },
          {
            "type": "command",
            "command": "/home/dev/.local/bin/shq hook refresh-instructions",
            "timeout": 10
          },
          {
            "type": "command",
            "command": "/home/dev/.local/bin/shq hook mailbox",
            "timeout": 1209600,
            "async": true,
            "asyncRewake": true
          }
        ]
      }
    ],
    "UserPromptSubmit": [
      {
        "hooks": [
          {
            "type": "command",
            "command": "/home/dev/.local/bin/shq hook prompt",
            "timeout": 10
          },
          {
            "type": "command",
            "command": "/home/dev/.local/bin/shq hook context",
            "timeout": 10
          }
        ]
      }
    ],
    "Stop": [
      {
        "hooks": [
          {
            "type": "command",
            "command": "/home/dev/.local/bin/shq hook stop",
            "timeout": 10
          },
          {
            "type": "command",
            "command": "/home/dev/.local/bin/shq hook mailbox",
            "timeout": 1209600,
            "async": true,
            "asyncRewake": true
          }
        ]
      }
    ],
    "StopFailure": [
      {
        "hooks": [
          {
            "type": "command",
            "command": "/home/dev/.local/bin/shq hook stop",
            "timeout": 10
          },
          {
            "type": "command",
            "command": "/home/dev/.local/bin/shq hook mailbox",
            "timeout": 1209600,
            "async": true,
            "asyncRewake": true
          }
        ]
      }
    ],
    "Notification": [
      {
        "hooks": [
          {
            "type": "command",
            "command": "/home/dev/.local/bin/shq hook notification",
            "timeout": 10
          }
        ]
      }
    ],
    "SessionEnd": [
      {
        "hooks": [
          {
            "type": "command",
            "command": "/home/dev/.local/bin/shq hook session-end",
            "timeout": 10
          }
        ]
      }
    ],
    "PermissionRequest": [
      {
        "hooks": [
          {
            "type": "command",
            "command": "/home/dev/.local/bin/shq hook ask",
            "timeout": 86400
          }
        ]
      }
    ]
  }
}
`
	for _, settings := range []string{"", "\n", "{}\n"} {
		if got := mustPlant(t, settings); got != want {
			t.Errorf("%q became %s", settings, got)
		}
	}
}

// A hook that may last and wake a session is a row like any other.
func TestARowThatWakes(t *testing.T) {
	rows := []Row{{Event: "Stop", Hook: "mailbox", Timeout: 604800, Rewake: true}, {Event: "PermissionRequest", Hook: "ask", Timeout: 86400}}
	out, err := plant([]byte(`{"a":1}`), rows, "/b/shq")
	want := `{"a":1,"hooks":{"Stop":[{"hooks":[{"type":"command","command":"/b/shq hook mailbox","timeout":604800,"async":true,"asyncRewake":true}]}],` +
		`"PermissionRequest":[{"hooks":[{"type":"command","command":"/b/shq hook ask","timeout":86400}]}]}}`
	if err != nil || string(out) != want {
		t.Errorf("%v: %s", err, out)
	}
}

func TestOldEntriesAreMendedInPlace(t *testing.T) {
	current := mustPlant(t, "{}")
	for _, c := range []struct{ name, from, to string }{
		{"another path", shqPath + " hook", "/usr/local/bin/shq hook"},
		{"a quoted path", shqPath + " hook", `'/opt/my tools/shq' hook`},
		{"a bare name", shqPath + " hook", "shq hook"},
		{"another limit", `"timeout": 10`, `"timeout": 60`},
		{"escaped, and the same", "command", `\u0063ommand`},
	} {
		t.Run(c.name, func(t *testing.T) {
			old := strings.ReplaceAll(current, c.from, c.to)
			got := mustPlant(t, old)
			if c.name == "escaped, and the same" {
				current = old
			}
			if got != current {
				t.Errorf("got %s", got)
			}
		})
	}
}

func TestMendKeepsWhatAPersonAdded(t *testing.T) {
	old := `{"hooks": {"Stop": [{"hooks": [{"command": "x"}, {"statusMessage": "s", "command": "/old/shq hook stop", "type": "command"}, {"type": "command", "command": "y"}]}]}}`
	got := mustPlant(t, old)
	want := `{"command": "x"}, {"statusMessage": "s", "command": "/home/dev/.local/bin/shq hook stop", "type": "command", "timeout": 10}, {"type": "command", "command": "y"}`
	if !strings.Contains(got, want) {
		t.Errorf("got %s", got)
	}
}

// One entry each is left, and one that a matcher keeps from running does not
// count.
func TestMendDoublesAndMatchers(t *testing.T) {
	old := `{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "/a/shq hook stop"}, {"type": "command", "command": "/b/shq hook stop"}]}],
 "SessionStart": [{"matcher": "startup", "hooks": [{"type": "command", "command": "shq hook session-start"}]}, {"matcher": "*", "hooks": [{"type": "command", "command": "/a/shq hook refresh-instructions"}]}]}}`
	d, err := jsonedit.Parse([]byte(mustPlant(t, old)))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for _, p := range ours(d) {
		seen[p.event+" "+p.hook]++
		if p.program != shqPath || !p.everywhere {
			t.Errorf("%+v", p)
		}
	}
	for _, r := range HookRows() {
		if seen[r.Event+" "+r.Hook] != 1 {
			t.Errorf("%s %s: %d times", r.Event, r.Hook, seen[r.Event+" "+r.Hook])
		}
	}
}

func TestOurHook(t *testing.T) {
	for command, want := range map[string]string{
		"shq hook stop": "stop", "/a/b/shq hook session-start": "session-start", `"/a b/shq" hook 'prompt'`: "prompt",
		"sessionhub hook stop": "", "shq hook": "", "shq event": "", "shq hook stop now": "", "bash -c 'shq hook stop'": "",
		"shq hook stop || true": "", "echo shq hook stop": "", "/a/shqx hook stop": "", "shq 'hook": "",
	} {
		if got, _ := ourHook(command); got != want {
			t.Errorf("%q: got %q, want %q", command, got, want)
		}
	}
}

// What Claude gives to sh finds the tool, whatever its path looks like.
func TestA23CommandsComeOutOfSh(t *testing.T) {
	for _, path := range []string{"/home/dev/.local/bin/shq", "/opt/my tools/shq", "/home/o'neil/$HOME/shq", "/ü/日本/shq", `/a\b"c/shq`, "/a;b&c|d/shq"} {
		line := Row{Hook: "stop"}.command(path)
		out, err := exec.Command("sh", "-c", "printf '%s\\n' "+line).Output()
		if want := path + "\nhook\nstop\n"; err != nil || string(out) != want {
			t.Errorf("%s: %q, %v", line, out, err)
		}
		if name, program := ourHook(line); name != "stop" || program != path {
			t.Errorf("%s is not recognised: %q %q", line, name, program)
		}
	}
}

func TestWrongKindsAreRefused(t *testing.T) {
	for settings, want := range map[string]string{
		`[]`:                              "it is an array, where Claude Code wants an object",
		`{"hooks": []}`:                   `"hooks" is an array, where Claude Code wants an object`,
		`{"hooks": null}`:                 `"hooks" is null, where Claude Code wants an object`,
		`{"hooks": {"Stop": {}}}`:         `"hooks"."Stop" is an object, where Claude Code wants an array`,
		`{"hooks":{},"hooks":"x"}`:        `"hooks" is a string, where Claude Code wants an object`,
		`{"hooks": {"SessionEnd": 1}}`:    `"hooks"."SessionEnd" is a number, where Claude Code wants an array`,
		`{"hooks": {"SessionEnd": true}}`: `"hooks"."SessionEnd" is true or false, where Claude Code wants an array`,
	} {
		_, err := plant([]byte(settings), HookRows(), shqPath)
		var kind *kindError
		if !errors.As(err, &kind) || err.Error() != want {
			t.Errorf("%s: %v, want %s", settings, err, want)
		}
		if out, err := uproot([]byte(settings), nil); err != nil || string(out) != settings {
			t.Errorf("%s: taken out: %s, %v", settings, out, err)
		}
	}
}

func TestUproot(t *testing.T) {
	for _, c := range []struct{ name, settings, before, want string }{
		{"from a shared group", `{"hooks": {"Stop": [{"hooks": [{"command": "a"}, {"command": "/x/shq hook stop"}, {"command": "b"}]}]}}`, "",
			`{"hooks": {"Stop": [{"hooks": [{"command": "a"}, {"command": "b"}]}]}}`},
		{"the first of a group", `{"hooks": {"Stop": [{"hooks": [{"command": "/x/shq hook stop"}, {"command": "b"}]}]}}`, "", `{"hooks": {"Stop": [{"hooks": [{"command": "b"}]}]}}`},
		{"a name of a later version", `{"a": 1, "hooks": {"PermissionRequest": [{"hooks": [{"command": "/x/shq hook ask"}]}]}}`, "", `{"a": 1}`},
		{"a group with more in it", `{"hooks": {"Stop": [{"note": 1, "hooks": [{"command": "/x/shq hook stop"}]}]}}`, "", `{"hooks": {"Stop": [{"note": 1, "hooks": []}]}}`},
		{"an array that was there", `{"hooks": {"Stop": [{"hooks": [{"command": "/x/shq hook stop"}]}]}}`, `{"hooks": {"Stop": [ ]}}`, `{"hooks": {"Stop": [ ]}}`},
		{"an object that was there", `{"hooks": {"Stop": [{"hooks": [{"command": "/x/shq hook stop"}]}]}}`, `{"hooks": {}}`, `{"hooks": {}}`},
		{"a backup that was meddled with", `{"a": 1, "hooks": {"Stop": [{"hooks": [{"command": "/x/shq hook stop"}]}]}}`, `{"hooks": `, `{"a": 1}`},
		{"a backup of another shape", `{"a": 1, "hooks": {"Stop": [{"hooks": [{"command": "/x/shq hook stop"}]}]}}`, `{"hooks": 1}`, `{"a": 1}`},
		{"an event that is there twice", `{"hooks": {"Stop": [{"hooks": []}], "Stop": [{"hooks": [{"command": "/x/shq hook stop"}]}]}}`, "", `{"hooks": {"Stop": [{"hooks": []}], "Stop": []}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			var before []byte
			if c.before != "" {
				before = []byte(c.before)
			}
			got, err := uproot([]byte(c.settings), before)
			if err != nil || string(got) != c.want {
				t.Errorf("got %s, %v", got, err)
			}
		})
	}
	if got, err := uproot([]byte(mustPlant(t, "")), nil); err != nil || got != nil {
		t.Errorf("a file that was ours alone: %q, %v", got, err)
	}
}
