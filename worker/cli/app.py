"""The verbs of `vectail`, their options and their help; what they do is in the files beside this one."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from worker.cli.demo import DemoOptions, demo, shown_queries
from worker.cli.exits import CommandFailed
from worker.cli.run import run_worker
from worker.cli.screen import Screen
from worker.service import MUST_CHANGE
from worker.settings import Settings, SettingsError, load_settings

app = typer.Typer(
    name="vectail",
    help="Turns Kafka log topics into a searchable Milvus index, continuously, and answers queries while it indexes.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

Config = Annotated[
    Path | None,
    typer.Option("--config", "-c", help="Settings file (TOML). The environment stands over it, flags over both.", envvar="VECTAIL_CONFIG"),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output, and nothing else.")]
Bootstrap = Annotated[
    str | None, typer.Option("--bootstrap-servers", help="Kafka's address, HOST:PORT[,HOST:PORT…]; over kafka.bootstrap_servers.")
]


@app.command("demo")
def demo_verb(
    files: Annotated[
        list[str] | None,
        typer.Argument(help="Log files, `-` for standard input. None: a synthetic stream of a dozen services.", metavar="[FILES]..."),
    ] = None,
    *,
    query: Annotated[list[str] | None, typer.Option("--query", "-q", help="Ask this once everything is indexed; may be repeated.")] = None,
    data: Annotated[Path | None, typer.Option("--data", help="Keep the index in this folder. None: a temporary one.")] = None,
    k: Annotated[int, typer.Option("-k", help="Hits per query.", min=1, max=1000)] = 5,
    serve: Annotated[bool, typer.Option("--serve", help="Keep running, so that `vectail search` works from another terminal.")] = False,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """See it work: index log files (or a synthetic stream) in one process and search them. Needs no Kafka, no Milvus, no GPU."""
    options = DemoOptions(files=tuple(files or ()), queries=shown_queries(query or ()), data=data, k=k, serve=serve, config=config)
    result = demo(options, Screen(silent=as_json))
    if as_json:
        typer.echo(json.dumps(result, ensure_ascii=False))


@app.command("run")
def run_verb(*, config: Config = None) -> None:
    """Run the worker: index the log topics and answer the query topic, until SIGTERM.

    Exit codes: 0 drained; 1 crashed or a limit was reached; 2 something must be changed first (settings, model, index); 3 the drain
    deadline passed.
    """
    raise typer.Exit(run_worker(settings_or_fail(config)))


def settings_or_fail(config: Path | None, flags: dict[str, dict[str, object]] | None = None) -> Settings:
    """Load the settings; whatever is wrong with them is the user's to change."""
    try:
        return load_settings(config, flags)
    except SettingsError as error:
        raise CommandFailed(str(error), MUST_CHANGE) from error


def run_app(application: Callable[[], None] = app) -> int:
    """Run the command line; returns the exit code. A failure is one line on standard error."""
    try:
        application()
    except CommandFailed as failed:
        typer.echo(f"vectail: {failed}", err=True)
        return failed.exit_code
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else 1
    return 0
