package hook

import (
	"context"
	"fmt"
	"time"

	"sessionhub/lib/herdr"
	"sessionhub/lib/text"
)

// Herdr is what NotifyBlocked needs of a herdr client.
type Herdr interface {
	Pane(ctx context.Context, paneID string) (herdr.Pane, error)
	ShowNotification(ctx context.Context, n herdr.Notification) (herdr.Shown, error)
}

const (
	// notifyWait bounds the two calls of a notification. herdr waits for a
	// closing pane with every call, up to half a second each (finding 7 of the
	// protocol captures).
	notifyWait = 3 * time.Second
	// titleLimit is how much of a title a notification shows, in characters.
	titleLimit = 80
)

// NotifyBlocked tells the person at the screen that the session in a pane
// waits. A herdr that shows nothing because its user wants none, or has no
// client in front, is no error; a refusal is.
func NotifyBlocked(ctx context.Context, h Herdr, paneID, machine string) error {
	ctx, cancel := context.WithTimeout(ctx, notifyWait)
	defer cancel()
	title := "Claude"
	if p, err := h.Pane(ctx, paneID); err == nil {
		if t := text.Cut(text.Line(p.TerminalTitleStripped), titleLimit); t != "" {
			title = t
		}
	}
	shown, err := h.ShowNotification(ctx, herdr.Notification{Title: "Blocked: " + title, Body: machine, Sound: "request"})
	if err != nil {
		return fmt.Errorf("notification: %w", err)
	}
	switch shown.Reason {
	case herdr.NotificationShown, herdr.NotificationDisabled, herdr.NotificationNoClient:
		return nil
	}
	return fmt.Errorf("notification not shown: %s", text.Line(shown.Reason))
}
