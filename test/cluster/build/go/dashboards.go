// Reads a dashboard from standard input with Grafana's own types, strictly, and exits with an error for a field that they do not have.
package main

import (
	"fmt"
	"io"
	"os"

	"github.com/grafana/grafana-foundation-sdk/go/cog/plugins"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

func main() {
	plugins.RegisterDefaultPlugins()
	text, err := io.ReadAll(os.Stdin)
	if err == nil {
		var read dashboard.Dashboard
		if err = read.UnmarshalJSONStrict(text); err == nil {
			err = read.Validate()
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
