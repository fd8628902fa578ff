package watch

import (
	"context"
	"encoding/json"
	"fmt"

	"sessionhub/lib/hubclient"
	"sessionhub/lib/record"
)

// claudeAgent is the agent of every session that this project knows.
const claudeAgent = "claude"

// send delivers one record. When the hub does not know the session, it is
// told what is known of it, and the record is sent once more.
func (w *Watcher) send(ctx context.Context, hub Hub, it record.Item, r resolution) error {
	err := w.deliverOne(ctx, hub, it, r)
	if hubclient.Classify(err) != hubclient.Missing || it.Kind == record.KindProbe {
		return err
	}
	up := w.upsert(record.Upsert{Agent: claudeAgent}, r)
	if err := hub.PutSession(ctx, noKey, r.session, up); err != nil {
		return err
	}
	return w.deliverOne(ctx, hub, it, r)
}

func (w *Watcher) deliverOne(ctx context.Context, hub Hub, it record.Item, r resolution) error {
	switch it.Kind {
	case record.KindUpsert:
		body, err := record.BodyAs[record.Upsert](it)
		if err != nil {
			return bodyError(it, err)
		}
		up := w.upsert(body, r)
		up.Source, up.At = it.Source, it.At
		if it.Source == record.SourceHook {
			w.noteBegun(r.session)
		}
		return hub.PutSession(ctx, it.ID, r.session, up)
	case record.KindReport:
		body, err := record.BodyAs[record.Report](it)
		if err != nil {
			return bodyError(it, err)
		}
		return hub.PostReport(ctx, r.session, record.SavedReport{ID: it.ID, At: it.At, Report: body})
	case record.KindTitle:
		body, err := record.BodyAs[record.Title](it)
		if err != nil {
			return bodyError(it, err)
		}
		return hub.PutTitle(ctx, it.ID, r.session, body)
	case record.KindSnapshot:
		body, err := record.BodyAs[record.Snapshot](it)
		if err != nil {
			return bodyError(it, err)
		}
		// The queue is this machine's. It was queued under the host's name if herdr
		// ran before the machine was joined, and under the old one if it was renamed.
		body.Machine = w.Machine
		return hub.PutSnapshot(ctx, it.ID, body)
	case record.KindProbe:
		return hub.Probe(ctx, it.ID)
	case record.KindState:
		return w.sendState(ctx, hub, it, r)
	case record.KindEnded:
		if err := hub.PostEvent(ctx, r.session, event(it, r, it.Body)); err != nil {
			return err
		}
		w.noteEnded(r.session)
		return nil
	}
	return hub.PostEvent(ctx, r.session, event(it, r, it.Body))
}

// sendState sends a state as presence sees it: what herdr said of the pane is
// one of its inputs, and lags. A hook's word of a session in herdr is not
// enough to tell idle from done; which of them was told stands until the next
// inventory.
func (w *Watcher) sendState(ctx context.Context, hub Hub, it record.Item, r resolution) error {
	body, err := record.BodyAs[record.State](it)
	if err != nil {
		return bodyError(it, err)
	}
	told, known := w.sent[r.session]
	switch {
	case r.live == nil:
	case it.Pane != nil:
		body.AgentState, body.Background = r.live.AgentState, r.live.Background
	case it.Source == record.SourceHook && atRest(body.AgentState) && known && atRest(told.AgentState):
		body.AgentState = told.AgentState
	}
	if it.Source == record.SourceHook {
		w.notes.set(r.session, body)
	} else {
		w.notes.settle(r.session, body.AgentState)
		body.Note = w.notes.of(r.session)
	}
	raw, err := json.Marshal(body)
	if err != nil {
		return bodyError(it, err)
	}
	if err := hub.PostEvent(ctx, r.session, event(it, r, raw)); err != nil {
		return err
	}
	w.sent[r.session] = record.State{AgentState: body.AgentState, Background: body.Background}
	return nil
}

// atRest reports whether a state is that of a session without a turn.
func atRest(s record.AgentState) bool { return s == record.Idle || s == record.Done }

func event(it record.Item, r resolution, body json.RawMessage) record.EventPost {
	return record.EventPost{ID: it.ID, At: it.At, Source: it.Source, Kind: it.Kind, Herdr: place(r), Body: body}
}

// upsert adds to what a record says what the session's pane gives.
func (w *Watcher) upsert(u record.Upsert, r resolution) record.UpsertPut {
	if r.live != nil {
		if u.Cwd == "" {
			u.Cwd = r.live.Cwd
		}
		if u.TitleHint == "" {
			u.TitleHint = r.live.TitleHint
		}
	}
	if u.Git == nil && u.Cwd != "" && w.Git != nil {
		u.Git = w.Git(u.Cwd)
	}
	return record.UpsertPut{Upsert: u, Source: record.SourcePlugin, Herdr: place(r)}
}

func place(r resolution) *record.Place {
	if r.live == nil || r.live.PaneID == "" {
		return nil
	}
	return &record.Place{HerdrSession: r.herdr, PaneID: r.live.PaneID, WorkspaceID: r.live.WorkspaceID}
}

// bodyError makes a record refused that passed no door: its body is wrong.
func bodyError(it record.Item, err error) error {
	const unprocessable = 422
	return &hubclient.Error{Op: string(it.Kind), Status: unprocessable, Detail: fmt.Sprintf("body: %v", err)}
}
