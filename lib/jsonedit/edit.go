package jsonedit

import (
	"bytes"
	"encoding/json"
	"strings"
)

// defaultUnit indents what is put into a document that shows no style.
const defaultUnit = "  "

// Append puts a value at the end of an array. The value is JSON on one line.
func (d *Doc) Append(to Node, value string) *Doc { return d.insert(to, "", value) }

// AppendMember puts a member at the end of an object.
func (d *Doc) AppendMember(to Node, key, value string) *Doc {
	return d.insert(to, Quote(key)+":", value)
}

// Replace puts a value in the place of another.
func (d *Doc) Replace(n Node, value string) *Doc { return d.splice(n.Start, n.End, value) }

// Delete takes an item out of an array or an object that has more of them. It
// is the inverse of Append and AppendMember.
func (d *Doc) Delete(from Node, i int) *Doc {
	if i == 0 {
		return d.splice(from.from[0], from.from[1], "")
	}
	return d.splice(from.Items[i-1].End, from.Items[i].End, "")
}

// Empty takes everything out of an array or an object, and leaves the given
// white space in it.
func (d *Doc) Empty(n Node, space string) *Doc { return d.splice(n.Start+1, n.End-1, space) }

// Space is what stands in an array or object without items.
func (d *Doc) Space(n Node) string { return string(d.Text[n.Start+1 : n.End-1]) }

// Quote writes a string as JSON, without the escapes that HTML wants.
func Quote(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string always can
	return strings.TrimSuffix(b.String(), "\n")
}

func (d *Doc) splice(start, end int, text string) *Doc {
	out := make([]byte, 0, len(d.Text)+len(text))
	out = append(append(append(out, d.Text[:start]...), text...), d.Text[end:]...)
	next, err := Parse(out)
	if err != nil {
		panic(err) // values are JSON, and places are those of values
	}
	return next
}

// insert puts text, a key with its colon or nothing, and a value at the end of
// a container.
func (d *Doc) insert(to Node, key, value string) *Doc {
	s := d.style()
	if len(to.Items) > 0 {
		at := to.Items[len(to.Items)-1].End
		return d.splice(at, at, ","+d.beside(s, to, key, value))
	}
	if !s.lines {
		return d.splice(to.Start+1, to.End-1, s.flat(key, value))
	}
	outer := d.indent(to.Start)
	inner := outer + s.unit
	return d.splice(to.Start+1, to.End-1, s.newline+inner+s.tall(inner, key, value)+s.newline+outer)
}

// beside is a further item, set as the last one is: on a line of its own with
// its indentation, or on the same line.
func (d *Doc) beside(s style, to Node, key, value string) string {
	last := len(to.Items) - 1
	from := to.from[last]
	space := d.spaceBefore(from)
	if i := strings.LastIndexByte(space, '\n'); i >= 0 {
		indent := space[i+1:]
		return s.newline + indent + s.tall(indent, key, value)
	}
	if last == 0 {
		space = s.comma
	}
	if bytes.IndexByte(d.Text[from:to.Items[last].End], '\n') >= 0 { // }, {
		return space + s.tall(d.indent(from), key, value)
	}
	return space + s.flat(key, value)
}

func (d *Doc) spaceBefore(at int) string {
	start := at
	for start > 0 && isSpace(d.Text[start-1]) {
		start--
	}
	return string(d.Text[start:at])
}

// indent is the white space that the line of a place begins with.
func (d *Doc) indent(at int) string {
	line := bytes.TrimPrefix(d.Text[bytes.LastIndexByte(d.Text[:at], '\n')+1:], bom)
	n := 0
	for n < len(line) && (line[n] == ' ' || line[n] == '\t') {
		n++
	}
	return string(line[:n])
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

// style is how a document is written.
type style struct {
	newline      string
	unit         string // one step of indentation
	lines        bool   // on more than one line
	colon, comma string // what follows them on a line
}

func (d *Doc) style() style {
	root := d.Text[d.Root.Start:d.Root.End]
	s := style{newline: "\n", unit: d.unit()}
	if i := bytes.IndexByte(d.Text, '\n'); i > 0 && d.Text[i-1] == '\r' {
		s.newline = "\r\n"
	}
	s.lines = bytes.IndexByte(root, '\n') >= 0 || len(d.Root.Items) == 0
	tight := !s.lines && len(d.Root.Items) > 0 && !isSpace(d.Text[d.Root.Items[0].Start-1])
	if !tight {
		s.colon, s.comma = " ", " "
	}
	return s
}

// unit is how much deeper the first line within the root is than its own.
func (d *Doc) unit() string {
	outer := d.indent(d.Root.Start)
	for at := d.Root.Start; ; {
		i := bytes.IndexByte(d.Text[at:d.Root.End], '\n')
		if i < 0 {
			return defaultUnit
		}
		at += i + 1
		if unit, deeper := strings.CutPrefix(d.indent(at), outer); deeper && unit != "" {
			return unit
		}
	}
}

// tall sets a member or item on lines of its own; indent is that of its first.
func (s style) tall(indent, key, value string) string {
	var b bytes.Buffer
	if err := json.Indent(&b, []byte(value), indent, s.unit); err != nil {
		panic(err) // values are JSON
	}
	if key != "" {
		key += " "
	}
	return key + strings.ReplaceAll(b.String(), "\n", s.newline)
}

// flat sets a member or item on one line.
func (s style) flat(key, value string) string {
	var b strings.Builder
	if key != "" {
		b.WriteString(key + s.colon)
	}
	quoted := false
	for i := 0; i < len(value); i++ {
		c := value[i]
		b.WriteByte(c)
		switch {
		case quoted && c == '\\':
			i++
			b.WriteByte(value[i])
		case c == '"':
			quoted = !quoted
		case c == ':' && !quoted:
			b.WriteString(s.colon)
		case c == ',' && !quoted:
			b.WriteString(s.comma)
		}
	}
	return b.String()
}
