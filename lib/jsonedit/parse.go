// Package jsonedit changes a JSON document that a person keeps: it finds values
// with their places in the text and splices bytes, so that all else stays as
// it is, to the byte: order, indentation, line ends, duplicate keys, numbers,
// a byte order mark. What is put in follows the document's own style.
package jsonedit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// bom is a byte order mark, which Windows editors put first and which
// encoding/json does not take.
var bom = []byte("\xef\xbb\xbf")

// SyntaxError says where a text is no JSON. Line and Column count from 1, the
// column in bytes.
type SyntaxError struct {
	Line, Column int
	Msg          string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Msg)
}

// Kind is what a value is.
type Kind string

// The kinds of values, as messages name them.
const (
	Object Kind = "an object"
	Array  Kind = "an array"
	String Kind = "a string"
	Number Kind = "a number"
	Bool   Kind = "true or false"
	Null   Kind = "null"
)

// Node is a value in the text, which is Text[Start:End].
type Node struct {
	Kind       Kind
	Start, End int
	Keys       []string // of an object, decoded
	Items      []Node   // of an array, or an object's values
	Text       string   // of a string, decoded
	from       []int    // where each item begins: in an object with its key
}

// Member is the value of a key and its index. Of several the last counts, as
// for JavaScript.
func (n Node) Member(key string) (Node, int) {
	for i := len(n.Keys) - 1; i >= 0; i-- {
		if n.Keys[i] == key {
			return n.Items[i], i
		}
	}
	return Node{}, -1
}

// Doc is a document.
type Doc struct {
	Text []byte
	Root Node
}

// Parse reads a document: one value, with a byte order mark or without. The
// error is a *SyntaxError.
func Parse(text []byte) (*Doc, error) {
	rest := bytes.TrimPrefix(text, bom)
	skip := len(text) - len(rest)
	var raw json.RawMessage
	if err := json.Unmarshal(rest, &raw); err != nil {
		return nil, syntaxError(rest, err)
	}
	p := &parser{text: text, at: skip, skip: skip, dec: json.NewDecoder(bytes.NewReader(rest))}
	p.dec.UseNumber()
	root, err := p.value()
	if err != nil {
		return nil, syntaxError(rest, err)
	}
	return &Doc{Text: text, Root: root}, nil
}

func syntaxError(text []byte, err error) error {
	at := int64(len(text))
	var s *json.SyntaxError
	if errors.As(err, &s) && s.Offset > 0 {
		at = s.Offset - 1 // it counts the byte that does not fit
		if strings.HasPrefix(s.Error(), "unexpected end") {
			at = s.Offset
		}
	}
	before := text[:min(at, int64(len(text)))]
	line := bytes.Count(before, []byte("\n")) + 1
	return &SyntaxError{Line: line, Column: len(before) - bytes.LastIndexByte(before, '\n'), Msg: err.Error()}
}

// parser walks the tokens of a document that is known to be JSON.
type parser struct {
	text []byte
	dec  *json.Decoder
	skip int // bytes before the decoder's first
	at   int // end of the last token
}

// token reads a token and where it begins.
func (p *parser) token() (json.Token, int, error) {
	tok, err := p.dec.Token()
	if err != nil {
		return nil, 0, err
	}
	start := p.at
	for strings.IndexByte(" \t\r\n,:", p.text[start]) >= 0 {
		start++
	}
	p.at = p.skip + int(p.dec.InputOffset())
	return tok, start, nil
}

func (p *parser) value() (Node, error) {
	tok, start, err := p.token()
	if err != nil {
		return Node{}, err
	}
	n := Node{Start: start, End: p.at}
	switch v := tok.(type) {
	case json.Delim:
		n.Kind = Array
		if v == '{' {
			n.Kind = Object
		}
		return n, p.items(&n)
	case string:
		n.Kind, n.Text = String, v
	case json.Number:
		n.Kind = Number
	case bool:
		n.Kind = Bool
	default:
		n.Kind = Null
	}
	return n, nil
}

func (p *parser) items(n *Node) error {
	for p.dec.More() {
		from := -1
		if n.Kind == Object {
			key, start, err := p.token()
			if err != nil {
				return err
			}
			from = start
			n.Keys = append(n.Keys, key.(string))
		}
		item, err := p.value()
		if err != nil {
			return err
		}
		if from < 0 {
			from = item.Start
		}
		n.Items, n.from = append(n.Items, item), append(n.from, from)
	}
	_, _, err := p.token()
	n.End = p.at
	return err
}
