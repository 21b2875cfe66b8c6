// Loads a compose file as Docker Compose does and prints the resolved project as JSON: the same library, without a daemon.
//
//	compose_check FOLDER [--profile NAME]... [--env-file FILE]...
//
// The environment counts as it does for Docker Compose, and so does a .env in the folder. Exit code 1 and one line for a file that
// does not load.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"github.com/compose-spec/compose-go/v2/cli"
)

type names []string

func (n *names) String() string { return fmt.Sprint(*n) }

func (n *names) Set(name string) error {
	*n = append(*n, name)
	return nil
}

func main() {
	resolved, err := load(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Stdout.Write(resolved)
}

func load(arguments []string) ([]byte, error) {
	var profiles, files names
	flags := flag.NewFlagSet("compose_check", flag.ContinueOnError)
	flags.Var(&profiles, "profile", "a profile that is on; without any, those of COMPOSE_PROFILES are")
	flags.Var(&files, "env-file", "read this one in place of .env")
	if err := flags.Parse(arguments); err != nil {
		return nil, err
	}
	if flags.NArg() != 1 {
		return nil, fmt.Errorf("one folder is needed, and it comes after the flags")
	}
	options, err := cli.NewProjectOptions(nil,
		cli.WithWorkingDirectory(flags.Arg(0)),
		cli.WithOsEnv,
		cli.WithEnvFiles(files...),
		cli.WithDotEnv,
		cli.WithConfigFileEnv,
		cli.WithDefaultConfigPath,
		cli.WithDefaultProfiles(profiles...),
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
