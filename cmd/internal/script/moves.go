package script

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"sessionhub/lib/config"
	"sessionhub/lib/hub/hubtest"
	"sessionhub/lib/hub/store"
	"sessionhub/lib/hubclient"
	"sessionhub/lib/record"
)

// moving are the commands of hub that play a machine's part in a move.
var moving = map[string]func(ts *testscript.TestScript, h *hubtest.Hub, args []string) error{
	"mover": mover, "upload": upload, "result": moveResult,
}

func tokenFile(ts *testscript.TestScript, machine string) string {
	if machine == "tower" {
		return filepath.Join(ts.Getenv("HOME"), ".config", "sessionhub", "token")
	}
	return filepath.Join(ts.Getenv("HOME"), machine+"-token")
}

// asMachine is a client with a machine's token.
func asMachine(ts *testscript.TestScript, h *hubtest.Hub, machine string) (*hubclient.Client, error) {
	token, err := os.ReadFile(tokenFile(ts, machine))
	if err != nil {
		return nil, err
	}
	return hubclient.New(config.Config{ServerURL: h.URL, Machine: machine}, strings.TrimSpace(string(token)))
}

// mover makes a machine that the hub hears of, with keys for moves.
func mover(ts *testscript.TestScript, h *hubtest.Hub, args []string) error {
	machine := args[0]
	if machine != "tower" {
		token := h.AddToken(store.Token{Kind: store.KindMachine, Name: machine})
		if err := os.WriteFile(tokenFile(ts, machine), []byte(token+"\n"), 0o600); err != nil {
			return err
		}
	}
	c, err := asMachine(ts, h, machine)
	if err != nil {
		return err
	}
	snap := record.Snapshot{V: record.Version, At: record.At(time.Now()), Machine: machine, HerdrSession: "default"}
	if err := c.PutSnapshot(context.Background(), "", snap); err != nil {
		return err
	}
	sum := sha256.Sum256([]byte(machine)) // any 32 bytes
	k := record.MoveKey{Recipient: "age1" + machine, Signer: base64.StdEncoding.EncodeToString(sum[:])}
	k.Fingerprint = record.Fingerprint(k.Recipient, k.Signer)
	return c.PutMoveKey(context.Background(), k)
}

func upload(ts *testscript.TestScript, h *hubtest.Hub, args []string) error {
	c, err := asMachine(ts, h, "tower")
	if err != nil {
		return err
	}
	content := ts.ReadFile(args[1])
	sum := sha256.Sum256([]byte(content))
	b := record.Bundle{Size: int64(len(content)), SHA256: hex.EncodeToString(sum[:])}
	_, err = c.UploadBundle(context.Background(), strings.TrimSpace(ts.ReadFile(args[0])), b, strings.NewReader(content))
	return err
}

// moveResult takes the move's id from a file, as upload does.
func moveResult(ts *testscript.TestScript, h *hubtest.Hub, args []string) error {
	c, err := asMachine(ts, h, args[0])
	if err != nil {
		return err
	}
	r := record.MoveResult{V: record.Version, ID: strings.TrimSpace(ts.ReadFile(args[1])), State: record.MoveState(args[2])}
	if len(args) > 3 {
		r.Detail = args[3]
	}
	_, err = c.PostMoveResult(context.Background(), r)
	return err
}
