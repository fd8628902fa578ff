package install

import "testing"

func TestAnswersInTheConfig(t *testing.T) {
	const own = "remote_answer = true # by shinstall hooks --answers\n"
	for _, c := range []struct{ name, old, with, without string }{
		{"none", "", own, ""},
		{"others", "server_url = \"x\" # mine\n\n", "server_url = \"x\" # mine\n\n" + own, "server_url = \"x\" # mine\n\n"},
		{"no newline at the end", "machine = \"a\"", "machine = \"a\"\n" + own, "machine = \"a\"\n"},
		{"it was false", "a = 1\nremote_answer=false # no\nb = 2\n", "a = 1\nremote_answer = true # by shinstall hooks --answers, was false\nb = 2\n", "a = 1\nremote_answer = false\nb = 2\n"},
		{"it is its user's", "remote_answer = true\n", "remote_answer = true\n", "remote_answer = true\n"},
		{"a comment alone", "# remote_answer = false\n", "# remote_answer = false\n" + own, "# remote_answer = false\n"},
		{"a table", "a = 1\n[t]\nb = 2\n", "a = 1\n" + own + "[t]\nb = 2\n", "a = 1\n[t]\nb = 2\n"},
		{"of Windows", "a = 1\r\nremote_answer = false\r\n", "a = 1\r\nremote_answer = true # by shinstall hooks --answers, was false\r\n", "a = 1\r\nremote_answer = false\r\n"},
	} {
		with := allowAnswers([]byte(c.old))
		if string(with) != c.with {
			t.Errorf("%s: with %q, want %q", c.name, with, c.with)
		}
		if again := allowAnswers(with); string(again) != c.with {
			t.Errorf("%s: again %q", c.name, again)
		}
		if without := forbidAnswers(with); string(without) != c.without {
			t.Errorf("%s: without %q, want %q", c.name, without, c.without)
		}
		if err := validTOML(with); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
