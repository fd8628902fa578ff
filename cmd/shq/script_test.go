package main

import (
	"testing"

	"sessionhub/cmd/internal/script"
)

func TestMain(m *testing.M) { script.Main(m, "shq", main) }

func TestScripts(t *testing.T) { script.Run(t) }
