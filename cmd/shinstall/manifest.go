package main

import (
	"context"
	"flag"

	"sessionhub/cmd/internal/front"
	"sessionhub/lib/install"
)

func manifestVerb() front.Verb {
	var o options
	return front.Verb{
		Name: "manifest", Args: "[flags]", Short: "print the plugin's manifest for herdr",
		Long: "Prints the manifest that shinstall plugin writes, for those who link it by other\nmeans.",
		Flags: func(fs *flag.FlagSet) {
			fs.StringVar(&o.binDir, "bin-dir", "", "`folder` of the tools, in place of the one that shinstall was found in")
		},
		Run: func(_ context.Context, c *front.Call) error {
			if len(c.Args) > 0 {
				return front.Usage("no arguments are wanted, not %q", c.Args[0])
			}
			t, err := findTools(c, o)
			if err != nil {
				return front.Fail(front.ExitConfig, err)
			}
			text, err := install.NewManifest(t, c.Version.Number).TOML()
			if err != nil {
				return err
			}
			_, err = c.Stdout.Write(text)
			return err
		},
	}
}
