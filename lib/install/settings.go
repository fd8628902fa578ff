package install

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"sessionhub/lib/jsonedit"
)

// keyHooks is the key of Claude Code's hooks: an object of arrays, one for
// each event, of groups; each group is an object with an array of hooks.
const keyHooks = "hooks"

// plant returns settings with the rows in them. What is as it should be stays
// as it is; one of ours that is not (another path, another limit) is mended in
// its place; missing ones are added at the end of their event. Everything else
// stays to the byte. Settings without a character but white space count as {},
// as they do for Claude.
func plant(settings []byte, rows []Row, shq string) ([]byte, error) {
	d, err := parseSettings(settings)
	if err != nil {
		return nil, err
	}
	events := []string{}
	for _, r := range rows {
		if !slices.Contains(events, r.Event) {
			events = append(events, r.Event)
		}
	}
	for _, e := range events {
		if err := checkKinds(d, e); err != nil {
			return nil, err
		}
	}
	for _, e := range events {
		d = plantEvent(d, e, rows, shq)
	}
	if bytes.Equal(d.Text, fresh) {
		return settings, nil
	}
	return d.Text, nil
}

// fresh is what settings begin with that are not there.
var fresh = []byte("{}\n")

func parseSettings(settings []byte) (*jsonedit.Doc, error) {
	if len(bytes.TrimSpace(settings)) == 0 {
		settings = fresh
	}
	return jsonedit.Parse(settings)
}

// kindError is a value that is not of the kind that Claude wants there.
type kindError struct {
	key        string
	have, want jsonedit.Kind
}

func (e *kindError) Error() string {
	return fmt.Sprintf("%s is %s, where Claude Code wants %s", e.key, e.have, e.want)
}

func checkKinds(d *jsonedit.Doc, event string) error {
	if d.Root.Kind != jsonedit.Object {
		return &kindError{"it", d.Root.Kind, jsonedit.Object}
	}
	hooks, i := d.Root.Member(keyHooks)
	if i >= 0 && hooks.Kind != jsonedit.Object {
		return &kindError{`"hooks"`, hooks.Kind, jsonedit.Object}
	}
	if list, i := hooks.Member(event); i >= 0 && list.Kind != jsonedit.Array {
		return &kindError{fmt.Sprintf(`"hooks"."%s"`, event), list.Kind, jsonedit.Array}
	}
	return nil
}

func plantEvent(d *jsonedit.Doc, event string, rows []Row, shq string) *jsonedit.Doc {
	var missing []string
	for _, r := range rows {
		if r.Event != event {
			continue
		}
		var there bool
		if d, there = mend(d, r, shq); !there {
			missing = append(missing, r.entry(shq))
		}
	}
	if len(missing) == 0 {
		return d
	}
	group := `{"hooks":[` + strings.Join(missing, ",") + `]}`
	hooks, i := d.Root.Member(keyHooks)
	if i < 0 {
		return d.AppendMember(d.Root, keyHooks, "{"+jsonedit.Quote(event)+":["+group+"]}")
	}
	list, i := hooks.Member(event)
	if i < 0 {
		return d.AppendMember(hooks, event, "["+group+"]")
	}
	return d.Append(list, group)
}

// mend makes our entry for a row as it should be, and takes out further ones.
// It reports whether there is one.
func mend(d *jsonedit.Doc, r Row, shq string) (*jsonedit.Doc, bool) {
	for {
		list := slices.DeleteFunc(ours(d), func(p place) bool { return p.event != r.Event || p.hook != r.Hook })
		keep := slices.IndexFunc(list, func(p place) bool { return p.everywhere })
		switch {
		case len(list) == 0:
			return d, false
		case len(list) > 1 || keep < 0:
			d = takeOut(d, list[(keep+1)%len(list)], nil)
			continue
		}
		return mendEntry(d, list[0].entry, r.fields(shq)), true
	}
}

func mendEntry(d *jsonedit.Doc, entry jsonedit.Node, fields []field) *jsonedit.Doc {
	start := entry.Start
	for _, f := range fields {
		n, i := entry.Member(f.key)
		switch {
		case i < 0:
			d = d.AppendMember(entry, f.key, f.value)
		case !sameValue(d, n, f.value):
			d = d.Replace(n, f.value)
		default:
			continue
		}
		entry = objectAt(d.Root, start)
	}
	return d
}

// sameValue compares strings decoded: a file may escape what we do not.
func sameValue(d *jsonedit.Doc, n jsonedit.Node, value string) bool {
	if n.Kind == jsonedit.String {
		return jsonedit.Quote(n.Text) == value
	}
	return string(d.Text[n.Start:n.End]) == value
}

// objectAt is the object that begins at a place.
func objectAt(n jsonedit.Node, start int) jsonedit.Node {
	for n.Start != start {
		i := slices.IndexFunc(n.Items, func(c jsonedit.Node) bool { return c.Start <= start && start < c.End })
		n = n.Items[i]
	}
	return n
}

// place is where an entry of ours stands.
type place struct {
	event, hook, program string
	everywhere           bool // no matcher keeps it from running
	entry                jsonedit.Node
	list, group, item    int // indexes: of the event, of its group, in the group's hooks
}

// ours are our entries in the settings that count: of two members of one name
// the last does.
func ours(d *jsonedit.Doc) []place {
	var list []place
	each(d, func(p place, command string) {
		if p.hook, p.program = ourHook(command); p.hook != "" {
			list = append(list, p)
		}
	})
	return list
}

// foreign counts the entries of another program's `PROGRAM hook NAME`.
func foreign(d *jsonedit.Doc, program string) int {
	n := 0
	each(d, func(_ place, command string) {
		if name, _ := hookOf(command, program); name != "" {
			n++
		}
	})
	return n
}

// each visits the entries that hold a command.
func each(d *jsonedit.Doc, visit func(p place, command string)) {
	hooks, _ := d.Root.Member(keyHooks)
	for i, event := range hooks.Keys {
		list, last := hooks.Member(event)
		if last != i || list.Kind != jsonedit.Array {
			continue
		}
		for g, group := range list.Items {
			entries, _ := group.Member(keyHooks)
			if entries.Kind != jsonedit.Array {
				continue
			}
			for k, entry := range entries.Items {
				if c, _ := entry.Member("command"); c.Kind == jsonedit.String {
					visit(place{event: event, everywhere: matchesAll(group), entry: entry, list: i, group: g, item: k}, c.Text)
				}
			}
		}
	}
}

func matchesAll(group jsonedit.Node) bool {
	m, i := group.Member("matcher")
	return i < 0 || m.Kind == jsonedit.String && (m.Text == "" || m.Text == "*")
}
