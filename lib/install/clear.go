package install

import (
	"bytes"
	"slices"

	"sessionhub/lib/jsonedit"
)

// uproot returns settings without any entry of ours. Containers that hold
// nothing then go, too, unless they were there before us: before are the
// settings as they were then, nil when that is not known or there were none.
// Then an object that is left with nothing in it is nil, for a file that was
// ours alone.
func uproot(settings, before []byte) ([]byte, error) {
	d, err := parseSettings(settings)
	if err != nil {
		return nil, err
	}
	list := ours(d)
	if len(list) == 0 {
		return settings, nil
	}
	was, err := parseSettings(before)
	if err != nil || before == nil {
		was = nil // a backup that was meddled with tells nothing
	}
	for ; len(list) > 0; list = ours(d) {
		d = takeOut(d, list[0], was)
	}
	if len(d.Root.Items) > 0 {
		return d.Text, nil
	}
	if before == nil || len(bytes.TrimSpace(before)) == 0 {
		return before, nil
	}
	return d.Text, nil
}

// takeOut deletes one entry of ours, and what holds nothing without it.
func takeOut(d *jsonedit.Doc, p place, was *jsonedit.Doc) *jsonedit.Doc {
	hooks, hooksAt := d.Root.Member(keyHooks)
	list := hooks.Items[p.list]
	group := list.Items[p.group]
	entries, _ := group.Member(keyHooks)
	switch {
	case len(entries.Items) > 1:
		return d.Delete(entries, p.item)
	case !bare(group):
		return d.Empty(entries, "")
	case len(list.Items) > 1:
		return d.Delete(list, p.group)
	}
	if space, keep := emptyBefore(was, keyHooks, p.event); keep || twice(hooks, p.event) {
		return d.Empty(list, space)
	}
	if len(hooks.Items) > 1 {
		return d.Delete(hooks, p.list)
	}
	if space, keep := emptyBefore(was, keyHooks); keep || twice(d.Root, keyHooks) {
		return d.Empty(hooks, space)
	}
	if len(d.Root.Items) > 1 {
		return d.Delete(d.Root, hooksAt)
	}
	space, _ := emptyBefore(was)
	return d.Empty(d.Root, space)
}

// bare reports whether a group holds nothing but its hooks, and perhaps for
// what they are: without hooks it is nothing.
func bare(group jsonedit.Node) bool {
	return !slices.ContainsFunc(group.Keys, func(k string) bool { return k != keyHooks && k != "matcher" })
}

// twice reports whether a key is there twice: without the last the first would
// count, which it did not before.
func twice(n jsonedit.Node, key string) bool {
	_, last := n.Member(key)
	return slices.Index(n.Keys, key) != last
}

// emptyBefore reports whether a container was there, and the white space in
// it if it was empty.
func emptyBefore(was *jsonedit.Doc, keys ...string) (space string, there bool) {
	if was == nil {
		return "", false
	}
	n := was.Root
	for _, k := range keys {
		i := -1
		if n, i = n.Member(k); i < 0 {
			return "", false
		}
	}
	switch {
	case n.Kind != jsonedit.Object && n.Kind != jsonedit.Array:
		return "", false
	case len(n.Items) == 0:
		space = was.Space(n)
	}
	return space, true
}
