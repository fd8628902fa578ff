package session

import (
	"context"
	"strings"

	"sessionhub/lib/claude/transcript"
	"sessionhub/lib/herdr"
)

const (
	// linkPrefix is how a Remote Control link begins.
	linkPrefix = "https://claude.ai/code/"
	// banner is what Claude Code shows when Remote Control is on.
	banner = "/remote-control is active"
	// dialogText is in the dialog that it shows when it was on already.
	dialogText = "This session is available in the Claude mobile app"
)

// link is a session's Remote Control link as Claude Code keeps it: in the
// registry while it is on, else the last one in the transcript that was not
// there before. The screen is asked last, as its row is cut at the pane's edge
// (finding 50).
func (d *Desk) link(ctx context.Context, p place, before string) string {
	w := d.find(ctx, p.found.Session)
	for _, at := range w.in {
		if url := bridged(at.found.Bridge); url != "" {
			return url
		}
	}
	if url := d.written(p); url != "" && url != before {
		return url
	}
	return ""
}

// written is the last link in a session's transcript.
func (d *Desk) written(p place) string {
	path, ok := d.Home.TranscriptNear(p.found.Session, p.found.Cwd)
	if !ok {
		return ""
	}
	url, err := transcript.BridgeURL(path)
	if err != nil || !strings.HasPrefix(url, linkPrefix) {
		return ""
	}
	return clip(url)
}

// screen reads a pane's screen; "" when it can't be read.
func (d *Desk) screen(ctx context.Context, h Herdr, pane string) string {
	ctx, cancel := context.WithTimeout(ctx, d.Timing.Screen)
	defer cancel()
	s, err := h.Read(ctx, herdr.ReadParams{PaneID: pane, Source: herdr.ReadVisible})
	if err != nil {
		return ""
	}
	return s.Text
}

// shownLinks are the whole links that stand in rows with a text. One that ends
// at the edge of the pane may have been cut, and does not count.
func shownLinks(screen, with string) []string {
	var list []string
	width := 0
	for row := range strings.SplitSeq(screen, "\n") {
		width = max(width, len([]rune(strings.TrimRight(row, "\r"))))
	}
	for row := range strings.SplitSeq(screen, "\n") {
		row = strings.TrimRight(row, "\r")
		i := strings.Index(row, linkPrefix)
		if i < 0 || !strings.Contains(row, with) {
			continue
		}
		url := clip(row[i:])
		if url == linkPrefix || len([]rune(row[:i]+url)) >= width {
			continue
		}
		list = append(list, url)
	}
	return list
}

// clip is the link at the start of s, up to what can't be part of one.
func clip(s string) string {
	end := strings.IndexFunc(s, func(r rune) bool {
		return r <= ' ' || r > '~' || strings.ContainsRune(`"'<>()[]{}|\^`+"`", r)
	})
	if end >= 0 {
		s = s[:end]
	}
	return strings.TrimRight(s, ".,;:")
}
