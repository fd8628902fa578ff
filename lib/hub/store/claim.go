package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"sessionhub/lib/record"
)

// NextClaim tells, without writing, whether a machine has something to do now,
// and if not, when that may change by itself: a busy message is due again, a
// lease lapses, a request expires. A zero time is never. Many machines wait for
// their requests, so this must be cheap.
func (s *Store) NextClaim(ctx context.Context, machine string, now time.Time) (ready bool, next time.Time, err error) {
	open, err := openOf(s.reader(ctx), machine)
	if err != nil || len(open) == 0 {
		return false, next, err
	}
	ms := now.UnixMilli()
	moving, err := openMoves(s.reader(ctx))
	if err != nil {
		return false, next, err
	}
	if pick(open, moving, ms) != nil {
		return true, next, nil
	}
	var soonest int64
	for i := range open {
		r := &open[i]
		for _, t := range []int64{r.expires, r.notBefore, r.leaseUntil} {
			if t > ms && (soonest == 0 || t < soonest) {
				soonest = t
			}
		}
		if r.overdue(ms) {
			return true, next, nil // to be ended
		}
	}
	if soonest > 0 {
		next = time.UnixMilli(soonest)
	}
	return false, next, nil
}

// pick chooses the request that a machine is to carry out next: the oldest one
// whose session no other request of the machine is being carried out for.
// Messages of one session keep their order: a busy one holds back those behind
// it, not other requests. An answer touches no pane: it waits for nothing, and
// nothing for it. While a session moves, and until the last step of its move is
// done here, nothing else of it is offered, answers aside. Nil when there is
// none.
func pick(open []request, moving map[string]*move, now int64) *request {
	finishing := make(map[string]bool) // sessions that a move is not done with here
	for i := range open {
		if open[i].move != "" {
			finishing[open[i].session] = true
		}
	}
	taken := make(map[string]bool) // sessions that a claim is out for
	for i := range open {
		if r := &open[i]; r.state == record.RequestOffered && r.leaseUntil > now && r.session != "" && r.action != record.ActionAnswer {
			taken[r.session] = true
		}
	}
	held := make(map[string]bool) // sessions with an earlier message that waits
	for i := range open {
		r := &open[i]
		message := r.action == record.ActionMessage
		if r.overdue(now) || r.state == record.RequestOffered && r.leaseUntil > now {
			continue
		}
		if r.action == record.ActionAnswer && r.notBefore <= now {
			return r
		}
		if taken[r.session] || message && held[r.session] || r.move == "" && (moving[r.session] != nil || finishing[r.session]) {
			continue
		}
		if r.notBefore > now {
			held[r.session] = held[r.session] || message
			continue
		}
		return r
	}
	return nil
}

// Claim offers a machine its next request and leases it. ok is false when there
// is none. ended are requests whose time was over.
func Claim(tx *Tx, machine string, now time.Time) (c record.Claim, ok bool, ended []string, err error) {
	if err := EndOverdueMoves(tx, now); err != nil {
		return c, false, nil, err
	}
	if ended, err = EndOverdue(tx, machine, now); err != nil {
		return c, false, nil, err
	}
	open, err := openOf(tx, machine)
	if err != nil {
		return c, false, nil, err
	}
	moving, err := openMoves(tx)
	if err != nil {
		return c, false, nil, err
	}
	r := pick(open, moving, now.UnixMilli())
	if r == nil {
		return c, false, ended, nil
	}
	var p payload
	if err := json.Unmarshal([]byte(r.body), &p); err != nil {
		return c, false, nil, fmt.Errorf("request %s: %w", r.id, err)
	}
	var m *record.ClaimMove
	if r.move != "" {
		if m, err = claimMove(tx, r, now); err != nil {
			return c, false, nil, err
		}
	}
	c = record.Claim{
		V: record.Version, ID: r.id, Action: r.action, ExpiresAt: at(r.expires), AskedAt: at(r.created), Attempt: r.attempt + 1,
		Text: p.Text, AsCommand: p.AsCommand, Start: p.Start, Answer: p.Answer, Move: m,
	}
	if r.session != "" {
		if c.Session, err = claimSession(tx, r.session, now); err != nil {
			return c, false, nil, err
		}
	}
	err = tx.exec("UPDATE requests SET state = ?, attempt = attempt + 1, offered_at = ?, lease_until = ?, expires_at = ? WHERE id = ?",
		string(record.RequestOffered), now.UnixMilli(), now.Add(leaseTime).UnixMilli(), r.expires, r.id)
	if err != nil {
		return c, false, nil, fmt.Errorf("claim: %w", err)
	}
	return c, true, ended, nil
}

func claimSession(tx *Tx, id string, now time.Time) (*record.ClaimSession, error) {
	list, err := all(tx, scanSeen(now), withSeen()+"WHERE s.id = ?", id)
	if err != nil {
		return nil, fmt.Errorf("claim: %w", err)
	}
	if len(list) == 0 { // forgotten meanwhile
		return &record.ClaimSession{Session: id, Status: record.StatusEnded, AgentState: record.Unknown}, nil
	}
	s := list[0]
	return &record.ClaimSession{Session: s.Session, Status: s.Status, AgentState: s.AgentState, Title: s.Title, Cwd: s.Cwd, Herdr: s.Herdr}, nil
}

// RenewClaim lengthens a machine's lease. ErrEnded when the request is over,
// so that whoever works on it learns that nobody waits any more.
func RenewClaim(tx *Tx, machine, id string, now time.Time) error {
	r, err := ownRequest(tx, machine, id)
	if err != nil {
		return err
	}
	if r.ended > 0 {
		return ErrEnded
	}
	err = tx.exec("UPDATE requests SET state = ?, lease_until = ? WHERE id = ?", string(record.RequestOffered), now.Add(leaseTime).UnixMilli(), id)
	if err != nil {
		return fmt.Errorf("renew: %w", err)
	}
	return nil
}

func ownRequest(tx *Tx, machine, id string) (request, error) {
	r, ok, err := getRequest(tx, id)
	if err == nil && (!ok || r.machine != machine) {
		err = ErrUnknown
	}
	return r, err
}

// FinishClaim takes a machine's result. The same result again changes nothing;
// another one of a request that is over is ErrEnded.
func FinishClaim(tx *Tx, machine string, res record.Result, now time.Time) error {
	r, err := ownRequest(tx, machine, res.ID)
	if err != nil {
		return err
	}
	res.ID, res.V = "", 0 // as it is stored
	if r.move != "" && res.State != record.ResultBusy {
		return finishStep(tx, &r, res, now)
	}
	if r.ended > 0 {
		if raw, err := json.Marshal(res); err == nil && string(raw) == r.result {
			return nil
		}
		return fmt.Errorf("%w: it is %s", ErrEnded, r.state)
	}
	if res.State != record.ResultBusy {
		return end(tx, &r, res, now)
	}
	err = tx.exec("UPDATE requests SET state = ?, detail = ?, not_before = ?, lease_until = 0 WHERE id = ?",
		string(record.RequestQueued), clean(res.Detail, maxText), time.UnixMilli(r.offeredAt).Add(busyPause).UnixMilli(), r.id)
	if err != nil {
		return fmt.Errorf("result: %w", err)
	}
	return nil
}
