// Command fakeherdr is a stand-in for herdr: a server and the verbs of herdr's
// command line that this project and its scripts use. It is never installed.
package main

import (
	"os"

	"sessionhub/lib/herdr/herdrtest/fakecli"
)

func main() {
	os.Exit(fakecli.Main(fakecli.Process{
		Args: os.Args[1:], Getenv: os.Getenv, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
	}))
}
