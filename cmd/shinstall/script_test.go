package main

import (
	"testing"

	"sessionhub/cmd/internal/script"
)

func TestMain(m *testing.M) { script.Main(m, "shinstall", main) }

func TestScripts(t *testing.T) { script.Run(t) }
