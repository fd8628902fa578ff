package world

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"sessionhub/lib/config"
	"sessionhub/lib/hubclient"
	"sessionhub/lib/record"
)

// Machines asks the hub for its machines.
func (w *World) Machines() ([]record.Machine, error) {
	token, err := os.ReadFile(filepath.Join(w.config(), "user-token"))
	if err != nil {
		return nil, err
	}
	c, err := hubclient.New(config.Config{ServerURL: "http://" + w.Addr}, strings.TrimSpace(string(token)))
	if err != nil {
		return nil, err
	}
	return c.Machines(context.Background())
}
