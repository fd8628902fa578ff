package herdrtest

import (
	"strings"
	"time"
	"unicode"
)

const (
	maxTokensPerReport = 16
	maxTokens          = 32
	maxTokenName       = 32
	maxValue           = 80 // characters of a token or a title
	maxSource          = 80
	maxTTL             = 86400000 // ms
)

type token struct {
	value   string
	expires time.Time // zero: never
}

// metadata are the texts that reporters attach to a pane or a workspace.
type metadata struct {
	tokens       map[string]token
	title        string
	displayAgent string
	labels       map[string]string
	seqs         map[string]uint64
}

func (m *metadata) values() obj {
	o := obj{}
	for k, t := range m.tokens {
		o[k] = t.value
	}
	return o
}

func (m *metadata) show(o obj) {
	m.showTexts(o)
	if len(m.tokens) > 0 {
		o["tokens"] = m.values()
	}
}

func (m *metadata) showTexts(o obj) {
	put(o, "title", m.title)
	put(o, "display_agent", m.displayAgent)
	if len(m.labels) > 0 {
		o["state_labels"] = m.labels
	}
}

func (m *metadata) expire(now time.Time) (changed bool) {
	for k, t := range m.tokens {
		if !t.expires.IsZero() && now.After(t.expires) {
			delete(m.tokens, k)
			changed = true
		}
	}
	return changed
}

func (s *Server) expireTokens(p *pane, now time.Time) {
	if p.meta.expire(now) {
		s.updated(p)
	}
}

type metadataParams struct {
	PaneID            string             `json:"pane_id" need:""`
	Source            string             `json:"source" need:""`
	Title             *string            `json:"title"`
	DisplayAgent      *string            `json:"display_agent"`
	StateLabels       map[string]string  `json:"state_labels"`
	Tokens            map[string]*string `json:"tokens"`
	ClearTitle        bool               `json:"clear_title"`
	ClearDisplayAgent bool               `json:"clear_display_agent"`
	ClearStateLabels  bool               `json:"clear_state_labels"`
	Seq               *uint64            `json:"seq"`
	TTLMS             *int64             `json:"ttl_ms"`
}

func (s *Server) reportPaneMetadata(p metadataParams) (obj, *apiError) {
	q, err := s.findPane(p.PaneID)
	if err != nil {
		return nil, err
	}
	if err := p.check(); err != nil {
		return nil, err
	}
	m := &q.meta
	if over(m.tokens, p.Tokens) {
		return nil, fail("metadata_token_limit", "pane metadata may contain at most %d tokens", maxTokens)
	}
	accepted, err := m.accepts("pane", p.Source, p.Seq)
	if err != nil || !accepted {
		return orOK(err)
	}
	if m.setTokens(p.Tokens, p.TTLMS) {
		s.updated(q)
	}
	if m.setTexts(p) {
		q.revision++
		s.emitStatus(q, q.agent.label(), false)
	}
	return ok()
}

func orOK(err *apiError) (obj, *apiError) {
	if err != nil {
		return nil, err
	}
	return ok()
}

func (p metadataParams) check() *apiError {
	if err := checkSource(p.Source); err != nil {
		return err
	}
	if err := checkTokens(p.Tokens); err != nil {
		return err
	}
	if err := checkTTL(p.TTLMS); err != nil {
		return err
	}
	for state := range p.StateLabels {
		switch state {
		case "idle", "working", "blocked", "done", "unknown":
		default:
			return fail("invalid_state_label", "unknown state label: %s", state)
		}
	}
	sets := p.Title != nil || p.DisplayAgent != nil || len(p.StateLabels) > 0
	clears := p.ClearTitle || p.ClearDisplayAgent || p.ClearStateLabels
	if p.Title != nil && p.ClearTitle || p.DisplayAgent != nil && p.ClearDisplayAgent || len(p.StateLabels) > 0 && p.ClearStateLabels {
		return fail("invalid_metadata_request", "cannot set and clear the same metadata field")
	}
	if !sets && !clears && len(p.Tokens) == 0 {
		return fail("invalid_metadata_request", "missing metadata field to set or clear")
	}
	return nil
}

func checkSource(source string) *apiError {
	switch {
	case source == "":
		return fail("invalid_metadata_source", "metadata source must not be empty")
	case len([]rune(source)) > maxSource:
		return fail("invalid_metadata_source", "metadata source must be %d characters or fewer", maxSource)
	case !only(source, ":._-"):
		return fail("invalid_metadata_source", "metadata source may contain only ASCII letters, digits, colon, dot, underscore, and hyphen")
	}
	return nil
}

func checkTokens(tokens map[string]*string) *apiError {
	if len(tokens) > maxTokensPerReport {
		return fail("invalid_metadata_token", "a metadata report may update at most %d tokens", maxTokensPerReport)
	}
	for name := range tokens {
		if name == "" || len(name) > maxTokenName || !only(name, "_-") {
			return fail("invalid_metadata_token", "invalid metadata token key: %s", name)
		}
	}
	return nil
}

func checkTTL(ttl *int64) *apiError {
	switch {
	case ttl == nil:
	case *ttl < 1:
		return fail("invalid_metadata_ttl", "metadata ttl_ms must be at least 1")
	case *ttl > maxTTL:
		return fail("invalid_metadata_ttl", "metadata ttl_ms must be %d or less", maxTTL)
	}
	return nil
}

// only reports whether s consists of ASCII letters, digits and extra.
func only(s, extra string) bool {
	for _, r := range s {
		alnum := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		if !alnum && !strings.ContainsRune(extra, r) {
			return false
		}
	}
	return true
}

func over(have map[string]token, set map[string]*string) bool {
	n := len(have)
	for name, v := range set {
		_, had := have[name]
		switch gone := v == nil || clean(*v) == ""; {
		case had && gone:
			n--
		case !had && !gone:
			n++
		}
	}
	return n > maxTokens
}

func (m *metadata) accepts(what, source string, seq *uint64) (bool, *apiError) {
	if seq == nil {
		return true, nil
	}
	last, sequenced := m.seqs[source]
	if sequenced && *seq <= last {
		return false, nil
	}
	if !sequenced && len(m.seqs) >= maxSources {
		return false, fail("metadata_sequence_source_limit", "%s metadata may track at most %d sequenced sources", what, maxSources)
	}
	if m.seqs == nil {
		m.seqs = map[string]uint64{}
	}
	m.seqs[source] = *seq
	return true, nil
}

func (m *metadata) setTokens(set map[string]*string, ttl *int64) (changed bool) {
	if m.tokens == nil {
		m.tokens = map[string]token{}
	}
	for name, v := range set {
		value := clean(deref(v))
		old, had := m.tokens[name]
		changed = changed || value != old.value
		if value == "" {
			if had {
				delete(m.tokens, name)
			}
			continue
		}
		t := token{value: value}
		if ttl != nil {
			t.expires = time.Now().Add(time.Duration(*ttl) * time.Millisecond)
		}
		m.tokens[name] = t
	}
	return changed
}

func (m *metadata) setTexts(p metadataParams) (changed bool) {
	before := m.title + "\x00" + m.displayAgent
	if p.Title != nil || p.ClearTitle {
		m.title = clean(deref(p.Title))
	}
	if p.DisplayAgent != nil || p.ClearDisplayAgent {
		m.displayAgent = clean(deref(p.DisplayAgent))
	}
	if len(p.StateLabels) > 0 || p.ClearStateLabels {
		m.labels = p.StateLabels
		changed = true
	}
	return changed || before != m.title+"\x00"+m.displayAgent
}

// clean drops control characters (of an escape sequence the rest stays), trims
// and cuts.
func clean(v string) string {
	v = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, v)
	runes := []rune(strings.TrimSpace(v))
	return string(runes[:min(len(runes), maxValue)])
}
