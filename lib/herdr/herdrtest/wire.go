package herdrtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"unicode/utf8"
)

type obj = map[string]any

// apiError is an error answer.
type apiError struct{ code, message string }

func fail(code, format string, args ...any) *apiError {
	return &apiError{code, fmt.Sprintf(format, args...)}
}

func malformed(format string, args ...any) *apiError {
	return fail("invalid_request", "invalid request: "+format, args...)
}

func ok() (obj, *apiError) { return obj{"type": "ok"}, nil }

func answerLine(id string, result obj, err *apiError) []byte {
	env := obj{"id": id}
	if err != nil {
		env["error"] = obj{"code": err.code, "message": err.message}
	} else {
		env["result"] = result
	}
	return jsonLine(env)
}

// jsonLine leaves <, > and & as they are, as herdr does.
func jsonLine(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err) // only maps, lists, strings, numbers get here
	}
	return b.Bytes()
}

type wireRequest struct {
	id     string
	method string
	params json.RawMessage
}

// parseRequest is as strict as herdr's parser.
func parseRequest(line []byte) (wireRequest, *apiError) {
	var r wireRequest
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(line, &fields); err != nil {
		return r, malformed("%v", err)
	}
	var idErr *apiError
	if raw, ok := fields["id"]; !ok {
		idErr = malformed("missing field `id`")
	} else if json.Unmarshal(raw, &r.id) != nil || isNull(raw) {
		r.id, idErr = "", malformed("invalid type: %s, expected a string", typeName(raw))
	}
	if strings.ContainsRune(r.id, utf8.RuneError) && !bytes.ContainsRune(line, utf8.RuneError) {
		r.id, idErr = "", malformed("lone leading surrogate in hex escape")
	}
	if duplicateID(line) {
		r.id, idErr = "", malformed("duplicate field `id`")
	}
	if idErr != nil {
		return r, idErr
	}
	if raw, ok := fields["method"]; !ok || json.Unmarshal(raw, &r.method) != nil || isNull(raw) {
		return r, malformed("missing field `method`")
	}
	if r.params = fields["params"]; r.params == nil {
		return r, malformed("missing field `params`")
	}
	return r, nil
}

func isNull(raw json.RawMessage) bool { return string(bytes.TrimSpace(raw)) == "null" }

func typeName(raw json.RawMessage) string {
	switch b := bytes.TrimSpace(raw); {
	case isNull(raw):
		return "null"
	case len(b) > 0 && b[0] == '"':
		return "string " + string(b)
	case len(b) > 0 && b[0] == '{':
		return "map"
	case len(b) > 0 && b[0] == '[':
		return "sequence"
	case string(b) == "true" || string(b) == "false":
		return "boolean `" + string(b) + "`"
	default:
		return "integer `" + string(b) + "`"
	}
}

func duplicateID(line []byte) bool {
	dec := json.NewDecoder(bytes.NewReader(line))
	ids, depth, key := 0, 0, true
	for {
		tok, err := dec.Token()
		if err != nil {
			return ids > 1
		}
		if d, isDelim := tok.(json.Delim); isDelim {
			if d == '{' || d == '[' {
				depth++
			} else {
				depth--
			}
			key = depth == 1
			continue
		}
		if depth != 1 {
			continue
		}
		if key && tok == "id" {
			ids++
		}
		key = !key
	}
}

// decode reads params into the struct that into points to. As in herdr a field
// may be left out unless it is tagged need:"", may be null only if it is a
// pointer and not tagged nonull:"", and is one of the words of its enum tag.
func decode(raw json.RawMessage, into any) *apiError {
	if isNull(raw) {
		return malformed("invalid type: null, expected struct")
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil {
		if b := bytes.TrimSpace(raw); len(b) > 0 && b[0] == '[' {
			fields = nil // herdr reads an empty list as no fields
		} else {
			return malformed("invalid type: %s, expected struct", typeName(raw))
		}
	}
	v := reflect.ValueOf(into).Elem()
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if err := decodeField(fields, f, v.Field(i)); err != nil {
			return err
		}
	}
	return nil
}

func decodeField(fields map[string]json.RawMessage, f reflect.StructField, v reflect.Value) *apiError {
	name := f.Tag.Get("json")
	raw, given := fields[name]
	if !given {
		if _, need := f.Tag.Lookup("need"); need {
			return malformed("missing field `%s`", name)
		}
		return nil
	}
	if isNull(raw) {
		_, never := f.Tag.Lookup("nonull")
		if v.Kind() == reflect.Pointer && !never || v.Type() == reflect.TypeFor[json.RawMessage]() {
			return nil
		}
		return malformed("invalid type: null, expected %s", expected(v.Type()))
	}
	if err := json.Unmarshal(raw, v.Addr().Interface()); err != nil {
		return malformed("invalid type: %s, expected %s", typeName(raw), expected(v.Type()))
	}
	return checkEnum(f.Tag.Get("enum"), v)
}

func checkEnum(words string, v reflect.Value) *apiError {
	if words == "" {
		return nil
	}
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	for _, w := range strings.Split(words, ",") {
		if v.String() == w {
			return nil
		}
	}
	return malformed("unknown variant `%s`, expected one of `%s`", v.String(), strings.ReplaceAll(words, ",", "`, `"))
}

func expected(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "a boolean"
	case reflect.Map:
		return "a map"
	case reflect.Slice:
		return "a sequence"
	case reflect.Pointer:
		return expected(t.Elem())
	case reflect.String:
		return "a string"
	default:
		return t.Kind().String()
	}
}

func deref[T any](p *T) T {
	if p == nil {
		return *new(T)
	}
	return *p
}

// put sets a key unless the value is empty: herdr leaves absent options out.
func put(o obj, key, value string) {
	if value != "" {
		o[key] = value
	}
}
