package control

import (
	"context"
	"encoding/base64"
	"os"
	"path/filepath"
	"testing"

	"sessionhub/lib/record"
)

// A step of a move goes to who can carry it out; without one it fails, and
// nothing is touched.
func TestStepsOfMoves(t *testing.T) {
	m := newMachine(t)
	k := record.MoveKey{Recipient: "age1qqq", Signer: base64.StdEncoding.EncodeToString(make([]byte, 32))}
	k.Fingerprint = record.Fingerprint(k.Recipient, k.Signer)
	c := record.Claim{V: 1, ID: "c1", Action: record.ActionMoveCheck, Session: &record.ClaimSession{Session: "s1"}, Move: &record.ClaimMove{
		ID: "m1", Session: "s1", From: "tower", To: "laptop", State: record.MoveChecking, Keys: record.MoveKeys{From: k, To: k},
	}}
	if r := m.d.Do(t.Context(), c); r.ID != "c1" || r.State != record.RequestFailed || r.Detail != "this machine's tools can't move sessions" {
		t.Errorf("%+v", r)
	}
	var got record.Claim
	m.d.Move = func(_ context.Context, c record.Claim) record.Result {
		got = c
		return record.Result{State: record.RequestDone, Detail: "it could"}
	}
	if r := m.d.Do(t.Context(), c); r.ID != "c1" || r.V != 1 || r.State != record.RequestDone || got.Move.ID != "m1" {
		t.Errorf("%+v of %+v", r, got)
	}
	c.Move = nil
	if r := m.d.Do(t.Context(), c); r.State != record.RequestFailed {
		t.Errorf("a claim that makes no sense: %+v", r)
	}
}

// shmove can't be started, as while it is replaced, or ends without a result:
// only what begins a move fails. A target that failed then would have the session
// start at its source, beside the one that it started; a finish would be over.
func TestShmoveDoesNotRun(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "shmove")
	if err := os.WriteFile(bad, []byte("#!/bin/sh\nexit 1\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, program := range []string{bad, bad + ".gone"} {
		m := &Mover{Program: program, Stderr: os.Stderr}
		for action, want := range map[record.Action]record.RequestState{
			record.ActionMoveCheck: record.RequestFailed, record.ActionMoveOut: record.RequestFailed,
			record.ActionMoveIn: record.ResultBusy, record.ActionMoveFinish: record.ResultBusy,
		} {
			if r := m.Do(t.Context(), record.Claim{Action: action}); r.State != want || r.Detail == "" {
				t.Errorf("%s by %s: %+v", action, program, r)
			}
		}
	}
}
