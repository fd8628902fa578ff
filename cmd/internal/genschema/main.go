// Command genschema writes the JSON Schemas of all records from their Go
// types: genschema DIR.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"

	"github.com/invopop/jsonschema"

	"sessionhub/lib/doctor"
	"sessionhub/lib/install"
	"sessionhub/lib/queue"
	"sessionhub/lib/record"
	"sessionhub/lib/revive"
	"sessionhub/lib/spawn"
	"sessionhub/lib/watch"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: genschema DIR")
		os.Exit(64)
	}
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "genschema:", err)
		os.Exit(1)
	}
}

// records are the records that have a schema, by file name.
func records() map[string]any {
	return map[string]any{
		"item":           record.Item{},
		"body-upsert":    record.Upsert{},
		"body-state":     record.State{},
		"body-closed":    record.Closed{},
		"body-ended":     record.Ended{},
		"body-report":    record.Report{},
		"body-title":     record.Title{},
		"body-ask":       record.AskBody{},
		"body-ask-ended": record.AskEnded{},
		"answer":         record.AnswerPost{},
		"snapshot":       record.Snapshot{},
		"session":        record.Session{},
		"machine":        record.Machine{},
		"inbox-entry":    record.InboxEntry{},
		"digest":         record.Digest{},
		"instructions":   record.Instructions{},
		"request":        record.Request{},
		"claim":          record.Claim{},
		"result":         record.Result{},
		"move":           record.Move{},
		"move-post":      record.MovePost{},
		"move-result":    record.MoveResult{},
		"move-key":       record.MoveKey{},
		"paired":         record.Paired{},
		"health":         record.Health{},
		"problem":        record.Problem{},
		"manifest":       record.Manifest{},
		"signature":      record.Signature{},
		"queue-stat":     queue.Stat{},
		"drain-result":   watch.Result{},
		"watcher-status": watch.Report{},
		"install-step":   install.Step{},
		"install-part":   install.Part{},
		"decision":       revive.Decision{},
		"revive-status":  revive.Status{},
		"spec":           spawn.Spec{},
		"spawned":        spawn.Spawned{},
		"doctor-finding": doctor.Finding{},
	}
}

func write(dir string) error {
	for name, v := range records() {
		b, err := json.MarshalIndent(schema(name, v), "", "  ")
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := os.WriteFile(filepath.Join(dir, name+".json"), append(b, '\n'), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func schema(name string, v any) *jsonschema.Schema {
	r := jsonschema.Reflector{
		AllowAdditionalProperties: true, // fields may be added
		Anonymous:                 true,
		DoNotReference:            true,
		Mapper:                    special,
	}
	s := r.Reflect(v)
	s.Title = name
	return s
}

// special describes types whose JSON their fields don't show.
func special(t reflect.Type) *jsonschema.Schema {
	switch t {
	case reflect.TypeFor[record.Time]():
		return &jsonschema.Schema{Type: "string", Format: "date-time"}
	case reflect.TypeFor[record.AgentState]():
		return enum(record.Working, record.Blocked, record.Idle, record.Done, record.Unknown)
	case reflect.TypeFor[record.Source]():
		return enum(record.SourcePlugin, record.SourceHook, record.SourceMCP, record.SourceCLI, record.SourceWatch)
	case reflect.TypeFor[record.Kind]():
		return enum(record.KindUpsert, record.KindState, record.KindClosed, record.KindEnded, record.KindReport,
			record.KindTitle, record.KindSnapshot, record.KindAsk, record.KindAskEnded, record.KindProbe)
	case reflect.TypeFor[record.Action]():
		return enum(record.ActionRemoteControl, record.ActionMessage, record.ActionAnswer, record.ActionResume, record.ActionStart,
			record.ActionMoveCheck, record.ActionMoveOut, record.ActionMoveIn, record.ActionMoveFinish)
	case reflect.TypeFor[record.MoveState]():
		return enum(record.MoveRequested, record.MoveChecking, record.MovePacking, record.MoveUploaded, record.MoveUnpacking, record.MoveStarting,
			record.MoveDone, record.MoveFailed, record.MoveCancelled)
	case reflect.TypeFor[record.RequestState]():
		return enum(record.RequestQueued, record.RequestOffered, record.RequestDone, record.RequestFailed, record.RequestDelivered,
			record.RequestRefused, record.RequestExpired, record.ResultBusy)
	case reflect.TypeFor[record.Behavior]():
		return enum(record.Allow, record.Deny)
	case reflect.TypeFor[record.Texts]():
		text := &jsonschema.Schema{Type: "string"}
		return &jsonschema.Schema{OneOf: []*jsonschema.Schema{text, {Type: "array", Items: text}}}
	case reflect.TypeFor[install.Outcome]():
		return enum(install.Changed, install.Unchanged, install.Planned, install.Noted, install.Failed)
	case reflect.TypeFor[doctor.State]():
		return enum(doctor.Fine, doctor.Broken, doctor.NotSetUp, doctor.Untested)
	case reflect.TypeFor[install.State]():
		return enum(install.Ready, install.Missing, install.Stale, install.Off, install.Unclear)
	case reflect.TypeFor[json.RawMessage]():
		return &jsonschema.Schema{Type: "object"}
	}
	return nil
}

func enum[T ~string](values ...T) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "string"}
	for _, v := range values {
		s.Enum = append(s.Enum, string(v))
	}
	return s
}
