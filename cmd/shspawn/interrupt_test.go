package main

import (
	"testing"

	"sessionhub/cmd/internal/script"
)

func TestInterruptedWhileReading(t *testing.T) {
	script.Interrupted(t, tool(), []string{"start"})
}
