package digest

import (
	"cmp"
	"maps"
	"os"
	"slices"

	"sessionhub/lib/state"
)

// keptVersion is the version of digests.json. A change of what a tally means
// raises it, so that transcripts are read anew.
const keptVersion = 1

// maxKept bounds digests.json: the transcripts that changed last stay, which
// are many more than run on one machine. One is some 2 KB.
const maxKept = 1000

// kept is the content of digests.json.
type kept struct {
	V           int               `json:"v"`
	Transcripts map[string]memory `json:"transcripts"` // by path
}

// load reads digests.json once. What can't be read, or is of another version,
// is started anew: the transcripts have it all.
func (d *Digester) load() {
	if d.good != nil {
		return
	}
	var k kept
	if err := state.ReadJSON(d.Dir.Digests(), &k); err != nil || k.V != keptVersion || k.Transcripts == nil {
		k.Transcripts = map[string]memory{}
	}
	d.good, d.ahead = k.Transcripts, map[string]ahead{}
}

// save writes digests.json without the transcripts that are gone.
func (d *Digester) save() error {
	gone := func(path string) bool {
		_, err := os.Stat(path)
		return os.IsNotExist(err)
	}
	maps.DeleteFunc(d.good, func(path string, _ memory) bool { return gone(path) })
	maps.DeleteFunc(d.ahead, func(path string, _ ahead) bool { return gone(path) })
	if over := len(d.good) - maxKept; over > 0 {
		oldest := slices.SortedFunc(maps.Keys(d.good), func(a, b string) int {
			return cmp.Or(d.good[a].MTime.Compare(d.good[b].MTime), cmp.Compare(a, b))
		})
		for _, path := range oldest[:over] {
			delete(d.good, path)
		}
	}
	return state.ReplaceJSON(d.Dir.Digests(), kept{V: keptVersion, Transcripts: d.good})
}
