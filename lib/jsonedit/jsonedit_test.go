package jsonedit

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

func parse(t *testing.T, text string) *Doc {
	t.Helper()
	d, err := Parse([]byte(text))
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return d
}

// at follows keys down from the root.
func at(t *testing.T, d *Doc, keys ...string) Node {
	t.Helper()
	n := d.Root
	for _, k := range keys {
		var i int
		if n, i = n.Member(k); i < 0 {
			t.Fatalf("%s: no %q", d.Text, k)
		}
	}
	return n
}

func TestPlaces(t *testing.T) {
	d := parse(t, "\xef\xbb\xbf {\"a\" : [1, \"x\\u0041\", {}], \"\\u0061\":null , \"b\":true}\n")
	if a, i := d.Root.Member("a"); i != 1 || a.Kind != Null {
		t.Errorf("of two members the last counts: %d, %+v", i, a)
	}
	first := d.Root.Items[0]
	for i, want := range []string{"1", `"x\u0041"`, "{}"} {
		n := first.Items[i]
		if got := string(d.Text[n.Start:n.End]); got != want {
			t.Errorf("item %d is %s, want %s", i, got, want)
		}
	}
	if first.Items[1].Text != "xA" || at(t, d, "b").Kind != Bool {
		t.Errorf("%+v", d.Root)
	}
}

func TestAppendFollowsTheStyle(t *testing.T) {
	const value = `{"k":["v",1]}`
	for _, c := range []struct{ name, text, keys, want string }{
		{"two blanks", "{\n  \"a\": 1\n}\n", "", "{\n  \"a\": 1,\n  \"new\": {\n    \"k\": [\n      \"v\",\n      1\n    ]\n  }\n}\n"},
		{"tabs, no final newline", "{\n\t\"a\": 1\n}", "", "{\n\t\"a\": 1,\n\t\"new\": {\n\t\t\"k\": [\n\t\t\t\"v\",\n\t\t\t1\n\t\t]\n\t}\n}"},
		{"CRLF", "{\r\n  \"a\": 1\r\n}\r\n", "", "{\r\n  \"a\": 1,\r\n  \"new\": {\r\n    \"k\": [\r\n      \"v\",\r\n      1\r\n    ]\r\n  }\r\n}\r\n"},
		{"minified", `{"a":1}`, "", `{"a":1,"new":{"k":["v",1]}}`},
		{"one line", `{"a": 1, "b": 2}`, "", `{"a": 1, "b": 2, "new": {"k": ["v", 1]}}`},
		{"nothing to go by", "{}", "", "{\n  \"new\": {\n    \"k\": [\n      \"v\",\n      1\n    ]\n  }\n}"},
		{"an empty object in a file with lines", "{\n    \"o\": {}\n}", "o", "{\n    \"o\": {\n        \"new\": {\n            \"k\": [\n                \"v\",\n                1\n            ]\n        }\n    }\n}"},
		{"an object on one line in a file with lines", "{\n  \"o\": {\"a\": 1}\n}", "o", "{\n  \"o\": {\"a\": 1, \"new\": {\"k\": [\"v\", 1]}}\n}"},
		{"an empty object in a minified file", `{"o":{}}`, "o", `{"o":{"new":{"k":["v",1]}}}`},
		{"an array's brackets in one line", "{\n  \"o\": [{\n    \"a\": 1\n  }]\n}", "o", "{\n  \"o\": [{\n    \"a\": 1\n  }, {\n    \"k\": [\n      \"v\",\n      1\n    ]\n  }]\n}"},
		{"a byte order mark", "\xef\xbb\xbf{\n  \"a\": 1\n}\n", "", "\xef\xbb\xbf{\n  \"a\": 1,\n  \"new\": {\n    \"k\": [\n      \"v\",\n      1\n    ]\n  }\n}\n"},
		{"ragged", "{ \"a\":1\n,\"b\" :2 }", "", "{ \"a\":1\n,\"b\" :2,\"new\": {\"k\": [\"v\", 1]} }"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := parse(t, c.text)
			n := at(t, d, strings.Fields(c.keys)...)
			var got *Doc
			if n.Kind == Array {
				got = d.Append(n, value)
			} else {
				got = d.AppendMember(n, "new", value)
			}
			if string(got.Text) != c.want {
				t.Errorf("got\n%q, want\n%q", got.Text, c.want)
			}
			n = at(t, got, strings.Fields(c.keys)...)
			last := len(n.Items) - 1
			back := got
			if last > 0 {
				back = got.Delete(n, last)
			} else {
				back = got.Empty(n, "")
			}
			if string(back.Text) != c.text {
				t.Errorf("taken out again\n%q, want\n%q", back.Text, c.text)
			}
		})
	}
}

func TestDeleteTheFirst(t *testing.T) {
	for text, want := range map[string]string{
		`{"a": 1, "b": 2}`:              `{"b": 2}`,
		"{\n  \"a\": 1,\n  \"b\": 2\n}": "{\n  \"b\": 2\n}",
		"[1 , 2,3]":                     "[2,3]",
	} {
		d := parse(t, text)
		if got := string(d.Delete(d.Root, 0).Text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestSyntaxErrorsSayWhere(t *testing.T) {
	for text, want := range map[string]string{
		"{\n  \"a\": 1,\n}":  "line 3, column 1: invalid character '}' looking for beginning of object key string",
		"{\n  // x\n}":       "line 2, column 3: invalid character '/' looking for beginning of object key string",
		"{\"a\":":            "line 1, column 6: unexpected end of JSON input",
		"":                   "line 1, column 1: unexpected end of JSON input",
		"{} {}":              "line 1, column 4: invalid character '{' after top-level value",
		"\xef\xbb\xbf{\n]":   "line 2, column 1: invalid character ']' looking for beginning of object key string",
		"{\"a\": \"x\ny\"}":  "line 1, column 9: invalid character '\\n' in string literal",
		"\xff\xfe{\x00}\x00": "line 1, column 1: invalid character 'ÿ' looking for beginning of value",
	} {
		if _, err := Parse([]byte(text)); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// What is put in and taken out again leaves the bytes as they were, and what
// is put in is there, for any document.
func FuzzAppend(f *testing.F) {
	for _, s := range []string{"{}", "[]", "{\"a\":[1,{\"b\":[]}]}", "{\r\n\t\"a\" : 1\r\n}", "\xef\xbb\xbf[ 1 ]", "{\"a\":{},\"a\":{\"c\":1e400}}", "[[[]],\n[ ]]", "{\n\"\\ud800\":\"\xff\"}"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := Parse(text)
		if json.Valid(bytes.TrimPrefix(text, bom)) != (err == nil) {
			t.Fatalf("%q: %v", text, err)
		}
		if err == nil {
			appendEverywhere(t, d, d.Root)
		}
	})
}

func appendEverywhere(t *testing.T, d *Doc, n Node) {
	const value = `{"k":["a:,\"b",1]}`
	var with *Doc
	switch n.Kind {
	case Object:
		with = d.AppendMember(n, "new", value)
	case Array:
		with = d.Append(n, value)
	default:
		return
	}
	same, ok := find(with.Root, n.Start)
	if !ok || len(same.Items) != len(n.Items)+1 || len(same.Items[len(n.Items)].Items) != 1 {
		t.Fatalf("%q: it is not there", with.Text)
	}
	back := with.Empty(same, d.Space(Node{Start: n.Start, End: n.End}))
	if len(n.Items) > 0 {
		back = with.Delete(same, len(n.Items))
	}
	if !bytes.Equal(back.Text, d.Text) {
		t.Fatalf("%q became %q", d.Text, back.Text)
	}
	for _, item := range n.Items {
		appendEverywhere(t, d, item)
	}
}

// find is the container that begins at a place.
func find(n Node, start int) (Node, bool) {
	if n.Start == start {
		return n, true
	}
	for _, item := range n.Items {
		if item.Start <= start && start < item.End {
			return find(item, start)
		}
	}
	return Node{}, false
}
