// Loads a compose file as Docker Compose does and prints the resolved project as JSON: the same library, without a daemon.
//
//	compose_check FOLDER
//
// The environment counts as it does for Docker Compose, COMPOSE_PROFILES too, and so does a .env in the folder. Exit code 1 and one line
// for a file that does not load.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/compose-spec/compose-go/v2/cli"
)

func main() {
	resolved, err := load(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Stdout.Write(resolved)
}

func load(folder string) ([]byte, error) {
	options, err := cli.NewProjectOptions(nil,
		cli.WithWorkingDirectory(folder),
		cli.WithOsEnv,
		cli.WithEnvFiles(),
		cli.WithDotEnv,
		cli.WithConfigFileEnv,
		cli.WithDefaultConfigPath,
		cli.WithDefaultProfiles(),
	)
	if err != nil {
		return nil, err
	}
	project, err := options.LoadProject(context.Background())
	if err != nil {
		return nil, err
	}
	return project.MarshalJSON()
}
