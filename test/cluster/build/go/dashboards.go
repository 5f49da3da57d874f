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
		if err = read.UnmarshalJSONStrict(text); !isFault(err) {
			err = read.Validate()
		}
	}
	if isFault(err) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// The library returns an empty list of errors for a text that fits.
func isFault(err error) bool {
	return err != nil && err.Error() != ""
}
