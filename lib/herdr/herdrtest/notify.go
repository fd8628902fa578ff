package herdrtest

import (
	"strings"
	"time"
)

// notices is the state of notification.show.
type notices struct {
	lastShown time.Time
	toastEnd  time.Time
}

type notifyParams struct {
	Title    string  `json:"title" need:""`
	Body     *string `json:"body"`
	Position *string `json:"position" enum:"top-left,top-right,bottom-left,bottom-right"`
	Sound    string  `json:"sound" enum:"none,done,request"`
}

func (s *Server) notify(p notifyParams) (obj, *apiError) {
	if strings.TrimSpace(p.Title) == "" {
		return nil, fail("invalid_params", "notification title is empty")
	}
	reason := s.noticeReason(time.Now())
	return obj{"type": "notification_show", "shown": reason == "shown", "reason": reason}, nil
}

func (s *Server) noticeReason(now time.Time) string {
	n := &s.notices
	switch s.cfg.Toasts {
	case "herdr":
		if now.Before(n.toastEnd) {
			return "busy"
		}
	case "terminal", "system":
	default:
		return "disabled"
	}
	if now.Sub(n.lastShown) < s.cfg.Timings.RateLimit {
		return "rate_limited"
	}
	if s.cfg.Toasts != "herdr" && !s.cfg.ClientAttached {
		return "no_foreground_client"
	}
	n.lastShown, n.toastEnd = now, now.Add(s.cfg.Timings.Toast)
	return "shown"
}

// SetToasts changes the delivery of notifications, and whether a person's
// terminal is attached.
func (s *Server) SetToasts(delivery string, clientAttached bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cfg.Toasts, s.cfg.ClientAttached = delivery, clientAttached
}
