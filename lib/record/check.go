package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// maxName bounds ids and names: herdr's are under 128, UUIDs have 36.
const maxName = 200

// CheckID checks an identifier that becomes part of a file name or a URL:
// letters, digits, '-' and '_', 1 to 200 of them.
func CheckID(field, s string) error {
	return check(field, s, "-_")
}

// CheckName checks a name that others gave, such as herdr's "w1:p2": as
// CheckID, and also '.', ':', '@', '+' and '~'.
func CheckName(field, s string) error {
	return check(field, s, "-_.:@+~")
}

func check(field, s, extra string) error {
	if s == "" {
		return fmt.Errorf("%q is missing", field)
	}
	if len(s) > maxName {
		return fmt.Errorf("%q is longer than %d bytes", field, maxName)
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		ok := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte(extra, c) >= 0
		if !ok {
			return fmt.Errorf("%q has the character %q, which is not allowed", field, c)
		}
	}
	return nil
}

// Decode reads one JSON value into v and tells errors in the words of
// records: the field and what it should be.
func Decode(b []byte, v any) error { return decode(b, v) }

func decode(b []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(b))
	if err := dec.Decode(v); err != nil {
		return explain(err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one JSON value")
	}
	return nil
}

// Explain says an error of encoding/json in the words of records.
func Explain(err error) error { return explain(err) }

func explain(err error) error {
	var typ *json.UnmarshalTypeError
	var syn *json.SyntaxError
	switch {
	case errors.As(err, &typ):
		if typ.Field == "" {
			return fmt.Errorf("a JSON object is wanted, not %s", article(typ.Value))
		}
		return fmt.Errorf("%q must be %s, not %s", typ.Field, goKind(typ.Type.Kind().String()), article(typ.Value))
	case errors.As(err, &syn):
		return fmt.Errorf("not valid JSON at byte %d: %s", syn.Offset, syn.Error())
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("not valid JSON: it ends too early")
	}
	return err
}

func article(value string) string {
	switch {
	case strings.HasPrefix(value, "array"), strings.HasPrefix(value, "object"):
		return "an " + value
	}
	return "a " + value
}

func goKind(kind string) string {
	switch kind {
	case "struct", "map", "ptr":
		return "an object"
	case "slice", "array":
		return "an array"
	case "bool":
		return "true or false"
	case "string":
		return "a string"
	}
	return "a number"
}

// cut keeps an error line short when it quotes what it refuses.
func cut(s string) string {
	const limit = 40
	if len(s) <= limit {
		return s
	}
	return s[:limit] + "…"
}
