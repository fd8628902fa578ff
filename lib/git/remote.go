package git

import (
	"net/url"
	"strings"
)

// SameRemote reports whether two addresses name one repository: scheme, user,
// default port, a final .git and the host's case make no difference.
func SameRemote(a, b string) bool { return a != "" && b != "" && plainRemote(a) == plainRemote(b) }

func plainRemote(s string) string {
	s = strings.TrimSpace(s)
	host, path := "", s
	if u, err := url.Parse(s); err == nil && u.Scheme != "" && strings.Contains(s, "://") {
		host, path = u.Hostname(), u.Path
		if p := u.Port(); p != "" && p != map[string]string{"ssh": "22", "https": "443", "http": "80", "git": "9418"}[u.Scheme] {
			host += ":" + p
		}
	} else if colon := strings.IndexByte(s, ':'); colon > 0 && !strings.Contains(s[:colon], "/") {
		host, path = s[:colon], s[colon+1:]
		host = host[strings.LastIndexByte(host, '@')+1:]
	}
	path = strings.TrimRight(path, "/")
	path = strings.TrimSuffix(path, ".git")
	path = strings.TrimRight(path, "/")
	if host != "" { // of a local path the leading slash counts
		path = strings.TrimLeft(path, "/")
	}
	return strings.ToLower(host) + "\x00" + path
}
