package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"sessionhub/lib/record"
)

// endedAsks is how many asks that are over a session shows.
const endedAsks = 20

// ErrAnswered is returned for an answer to an ask that has one, or is over.
var ErrAnswered = errors.New("it can't be answered any more")

// BadAnswer is an answer that does not fit its ask.
type BadAnswer struct{ Err error }

func (b *BadAnswer) Error() string { return b.Err.Error() }

// Unwrap gives the cause.
func (b *BadAnswer) Unwrap() error { return b.Err }

// askRow is a row of the asks table. The answer is empty until there is one.
type askRow struct {
	id, session, machine, body, state, how, answer string
	at, ended                                      int64
}

const askColumns = "id, session, machine, body, state, how, answer, at, ended_at"

func scanAsk(rows *sql.Rows) (a askRow, err error) {
	return a, rows.Scan(&a.id, &a.session, &a.machine, &a.body, &a.state, &a.how, &a.answer, &a.at, &a.ended)
}

func (a *askRow) record() (record.Ask, error) {
	r := record.Ask{State: a.state, How: a.how}
	if err := json.Unmarshal([]byte(a.body), &r.AskBody); err != nil {
		return r, fmt.Errorf("ask %s: %w", a.id, err)
	}
	if a.ended > 0 {
		t := at(a.ended)
		r.EndedAt = &t
	}
	if a.answer != "" {
		r.Answer = new(record.AskAnswer)
		if err := json.Unmarshal([]byte(a.answer), r.Answer); err != nil {
			return r, fmt.Errorf("ask %s: %w", a.id, err)
		}
	}
	return r, nil
}

// addAsk keeps an ask. One that comes after its session's end is over, too.
func addAsk(tx *Tx, r *eventRow) error {
	raw, err := json.Marshal(r.ask)
	if err != nil {
		return fmt.Errorf("ask: %w", err)
	}
	state, how, ended := record.AskOpen, "", int64(0)
	if r.late {
		state, how, ended = record.AskOver, record.HowExited, r.at
	}
	err = tx.exec("INSERT INTO asks ("+askColumns+") VALUES (?,?,?,?,?,?,'',?,?) ON CONFLICT (id) DO NOTHING",
		r.ask.Ask, r.session, r.machine, string(raw), state, how, r.at, ended)
	if err != nil {
		return fmt.Errorf("ask: %w", err)
	}
	return nil
}

// endAsk notes how an ask ended. The first word counts, but that a person at the
// screen was first corrects that an answer counted: the hook can't know it, the
// transcript does. One that is not known, or is another machine's, changes
// nothing.
func endAsk(tx *Tx, r *eventRow) error {
	state := record.AskOver
	switch r.askEnded.How {
	case record.HowAnswered:
		state = record.AskAnswered
	case record.HowExpired:
		state = record.AskExpired
	}
	err := tx.exec(`UPDATE asks SET state = ?1, how = ?2, ended_at = CASE WHEN state = ?7 THEN ?3 ELSE ended_at END
		WHERE id = ?4 AND session = ?5 AND machine = ?6 AND (state = ?7 OR how = ?8 AND ?2 IN (?9, ?10))`,
		state, r.askEnded.How, r.at, r.askEnded.Ask, r.session, r.machine, record.AskOpen,
		record.HowAnswered, record.HowOnScreen, record.HowInterrupted)
	if err != nil {
		return fmt.Errorf("ask: %w", err)
	}
	return nil
}

// endAsksOf ends the open asks of a session that is over, or has left.
func endAsksOf(tx *Tx, session string, now int64) error {
	return tx.exec("UPDATE asks SET state = ?, how = ?, ended_at = ? WHERE session = ? AND state = ?",
		record.AskOver, record.HowExited, now, session, record.AskOpen)
}

// asksOf lists a session's asks, the oldest first: the open ones, and the last
// of those that are over.
func asksOf(r rower, session string) ([]record.Ask, error) {
	rows, err := all(r, scanAsk, "SELECT "+askColumns+" FROM asks WHERE session = ?1 AND (state = 'open' OR id IN "+
		"(SELECT id FROM asks WHERE session = ?1 AND state <> 'open' ORDER BY ended_at DESC, id DESC LIMIT ?2)) ORDER BY at, id", session, endedAsks)
	if err != nil {
		return nil, err
	}
	list := make([]record.Ask, len(rows))
	for i := range rows {
		if list[i], err = rows[i].record(); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// openAsks are the open asks of all sessions, the oldest first, with when the
// hub heard of each.
func openAsks(r rower) (map[string][]record.Ask, map[string]int64, error) {
	rows, err := all(r, scanAsk, "SELECT "+askColumns+" FROM asks WHERE state = 'open' ORDER BY at, id")
	if err != nil {
		return nil, nil, err
	}
	asks, last := make(map[string][]record.Ask), make(map[string]int64)
	for i := range rows {
		a, err := rows[i].record()
		if err != nil {
			return nil, nil, err
		}
		asks[rows[i].session] = append(asks[rows[i].session], a)
		last[rows[i].session] = rows[i].at
	}
	return asks, last, nil
}

// withAsks adds to sessions what they ask.
func (s *Store) withAsks(ctx context.Context, list []record.Session) error {
	asks, _, err := openAsks(s.reader(ctx))
	if err != nil {
		return err
	}
	for i := range list {
		if a := asks[list[i].Session]; a != nil {
			list[i].Asks = a
		}
	}
	return nil
}

// AnswerAsk makes a request of an answer. The first answer of an ask wins; it
// is forgotten when its request comes to nothing while the ask is still open.
// By is who answers.
func AnswerAsk(tx *Tx, o Order, by string, now time.Time) (record.Request, error) {
	if old, known, err := getRequest(tx, o.ID); err != nil || known {
		return old.record(), err
	}
	row, ok, err := one(tx, scanAsk, "SELECT "+askColumns+" FROM asks WHERE id = ? AND session = ?", o.Answer.Ask, o.Session)
	if err != nil {
		return record.Request{}, fmt.Errorf("answer: %w", err)
	}
	if !ok {
		return record.Request{}, ErrUnknown
	}
	a, err := row.record()
	if err != nil {
		return record.Request{}, err
	}
	switch {
	case a.State != record.AskOpen:
		return record.Request{}, fmt.Errorf("%w: %s", ErrAnswered, howEnded(a))
	case a.Answer != nil:
		return record.Request{}, fmt.Errorf("%w: %s answered it with %s at %s", ErrAnswered, a.Answer.By, a.Answer.Behavior, a.Answer.At)
	}
	if err := o.Answer.Fits(&a.AskBody); err != nil {
		return record.Request{}, &BadAnswer{err}
	}
	if !a.Answerable {
		return record.Request{}, fmt.Errorf("%w from afar: %s", ErrAnswered, a.Why)
	}
	o.Machine = row.machine
	raw, err := json.Marshal(record.AskAnswer{By: by, At: record.At(now), Behavior: o.Answer.Behavior, InputSHA256: o.Answer.InputSHA256, Request: o.ID})
	if err == nil {
		err = tx.exec("UPDATE asks SET answer = ? WHERE id = ?", string(raw), row.id)
	}
	if err != nil {
		return record.Request{}, fmt.Errorf("answer: %w", err)
	}
	tx.tell(o.Session)
	return AddRequest(tx, o, now)
}

// howEnded says for people how an ask ended.
func howEnded(a record.Ask) string {
	words := map[string]string{
		record.HowAnswered: "it was answered from afar", record.HowOnScreen: "it was answered at the screen",
		record.HowInterrupted: "it was refused or interrupted at the screen", record.HowExited: "who asked is gone", record.HowExpired: "it is a day old",
	}[a.How]
	if a.Answer != nil && a.How == record.HowAnswered {
		words += " by " + a.Answer.By
	}
	return words
}

// freeAsk lets an ask be answered anew when the request that carried its answer
// came to nothing.
func freeAsk(tx *Tx, r *request, state record.RequestState) error {
	if r.action != record.ActionAnswer || state == record.RequestDone {
		return nil
	}
	return tx.exec("UPDATE asks SET answer = '' WHERE session = ? AND state = 'open' AND json_extract(nullif(answer, ''), '$.request') = ?", r.session, r.id)
}

// askWords is an ask as one line: "Bash: rm -rf build".
func askWords(a *record.AskBody) string {
	var v struct {
		Command, URL, Query, Pattern string
		Path                         string `json:"file_path"`
	}
	_ = json.Unmarshal(a.Input, &v) // a field of another type is not shown here
	what := v.Command
	for _, s := range []string{v.Path, v.URL, v.Query, v.Pattern} {
		if what == "" {
			what = s
		}
	}
	switch {
	case len(a.Questions) > 0:
		return clean("Question: "+a.Questions[0].Question, maxTitle)
	case a.Tool == "ExitPlanMode":
		return clean("Plan: "+a.Plan, maxTitle)
	case what == "":
		what = string(a.Input)
	}
	first, _, more := strings.Cut(strings.TrimSpace(what), "\n")
	if more {
		first += " …"
	}
	return clean(a.Tool+": "+first, maxTitle)
}
