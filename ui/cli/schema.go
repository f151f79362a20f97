package cli

import (
	_ "embed"
	"io"

	"github.com/spf13/cobra"
)

// outputSchema describes every line that --output json writes.
//
//go:embed output.schema.json
var outputSchema string

func (a *app) schemaCommand() *cobra.Command {
	return unprepared(&cobra.Command{
		Use:   "schema",
		Short: "Print the JSON schema of --output json",
		Long: `Print the JSON schema (draft 2020-12) of the lines that --output json writes. Each line
names its type and the schema's version. Members may be added within a version; none is
removed or changes its meaning.`,
		Example: `  aipscope schema > aipscope.schema.json`,
		Args:    noArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := io.WriteString(a.out, outputSchema)
			return err
		},
	})
}
