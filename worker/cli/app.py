"""The verbs of `vectail`, their options and their help; what they do is in the files beside this one.

A verb imports what it needs when it is called: `vectail --help` must not wait for the libraries of the model and of Milvus.
Whatever goes wrong ends as one line on standard error and an exit code of `worker.runtime.exit_codes`.
"""

from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import Annotated

import typer
from typer.exceptions import TyperException

from worker.cli.dlq_verbs import dlq_app
from worker.cli.exits import CommandFailed, stop_on_signals
from worker.cli.given import kafka_flags, settings_or_fail, worker_settings_or_fail
from worker.cli.kinds_verbs import kinds_app
from worker.cli.model_verbs import model_app
from worker.cli.offsets_verbs import positions_app
from worker.cli.options import PLAIN, AsJson, Bootstrap, Config, Copies, Hits, Query, Verbs
from worker.cli.output import never_fail_on_a_character, print_facts, print_json, print_text
from worker.cli.search_verbs import search_app
from worker.cli.verify_verbs import verify_app
from worker.runtime.exit_codes import USER_ERROR

app = typer.Typer(
    name="vectail",
    cls=Verbs,
    help="""Makes logs searchable by meaning: reads Kafka topics, keeps an index in Milvus, and answers questions while it indexes.

    Begin with `vectail demo FILE`: it needs no Kafka and no Milvus.

    Exit codes: 0 done; 1 something failed, or nobody answered; 2 something must be changed first (an option, a setting, a file, a
    topic, the model, the index); 3 `run` did not drain in time; 130 ended by Ctrl-C.
    """,
    **PLAIN,
)
topics_app = typer.Typer(help="Make the Kafka topics that vectail needs.", **PLAIN)
config_app = typer.Typer(help="Check the settings, or show all of them.", **PLAIN)
for verbs in (search_app, kinds_app, positions_app, verify_app):
    app.add_typer(verbs)
for verb, verbs in (("dlq", dlq_app), ("topics", topics_app), ("config", config_app), ("model", model_app)):
    app.add_typer(verbs, name=verb)


@app.command("demo")
def demo_verb(
    files: Annotated[
        list[str] | None, typer.Argument(help="Log files, `-` for standard input. None: a made-up stream of logs.", metavar="FILE")
    ] = None,
    *,
    query: Annotated[list[str] | None, Query] = None,
    data: Annotated[Path | None, typer.Option(metavar="DIR", help="Keep the index in this folder, to add to it next time.")] = None,
    k: Hits = 5,
    serve: Annotated[bool, typer.Option("--serve", help="Keep running, so that `vectail search` works from another terminal.")] = False,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """See it work: index your log files and search them.

    All in one process, on an embedded Kafka broker, Milvus Lite and a model that is installed with vectail: needs no server, no GPU.
    """
    from worker.cli.demo import DemoOptions, demo
    from worker.cli.screen import Screen
    from worker.cli.search import checked_text

    queries = tuple(checked_text(text) for text in query or ())
    stop = Event()
    stop_on_signals(stop.set)
    options = DemoOptions(files=tuple(files or ()), queries=queries, data=data, k=k, serve=serve, config=config)
    demo(options, Screen(silent=as_json), ready=print_json if as_json else lambda _result: None, stop=stop)


@app.command("run")
def run_verb(
    *,
    config: Config = None,
    workers: Annotated[
        int, typer.Option(help="Run so many, sharing cores and GPU; needs a Milvus server.", min=1, max=64, metavar="N")
    ] = 1,
    start: Annotated[
        str | None, typer.Option("--from", help="Read on from here, as `offsets reset --to` does; at each start.", metavar="WHERE")
    ] = None,
    part: Annotated[str | None, typer.Option(hidden=True, metavar="K/N")] = None,
) -> None:
    """Run the worker: index topics and answer questions.

    It goes on until SIGTERM or Ctrl-C, and then finishes what it has begun; a second one ends it at once.

    Exit codes: 0 drained; 1 crashed or a limit was reached; 2 something must be changed first (settings, model, index); 3 the drain
    deadline passed.
    """
    from worker.cli.offsets import read_target
    from worker.cli.run import begin_at, run_worker
    from worker.cli.workers import read_part, run_workers, shares_of
    from worker.runtime.logs import configure_logs

    settings = worker_settings_or_fail(config)
    if part is not None:
        mine = read_part(part)
        raise typer.Exit(run_worker(worker_settings_or_fail(config, shares_of(settings, mine)), number=mine.number))
    target = None if start is None else read_target(start, option="--from")
    if workers == 1:
        raise typer.Exit(run_worker(settings, start=target))
    if target is not None:
        configure_logs()
        begin_at(settings.kafka, target, Event())
    raise typer.Exit(run_workers(settings, config, workers))


@app.command("feed")
def feed_verb(
    files: Annotated[list[str] | None, typer.Argument(help="Log files, `-` for standard input.", metavar="FILE")] = None,
    *,
    synthetic: Annotated[
        bool, typer.Option("--synthetic", help="In place of files: made-up logs of a dozen services, without end.")
    ] = False,
    topic: Annotated[str | None, typer.Option(help="Topic to write to. Not given: the first of kafka.topics.", metavar="NAME")] = None,
    rate: Annotated[float | None, typer.Option(help="Lines a second. Not given: as many as Kafka takes.", min=0.001, metavar="N")] = None,
    bootstrap_servers: Bootstrap = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Send lines of files to a Kafka topic.

    One record a line, for `vectail run` or `vectail demo --serve` to index. Waits for a Kafka that is away. Ctrl-C stops reading, and
    waits until what was sent has arrived.
    """
    from worker.cli.feed import FeedOptions, feed_files
    from worker.cli.screen import Screen

    stop = Event()
    stop_on_signals(stop.set)
    settings = settings_or_fail(config, kafka_flags(bootstrap_servers))
    options = FeedOptions(files=tuple(files or ()), synthetic=synthetic, topic=topic, rate=rate)
    result = feed_files(settings, options, Screen(silent=as_json), stop)
    if as_json:
        print_json(result)


@topics_app.command("init")
def topics_init_verb(
    *,
    partitions: Annotated[int, typer.Option(help="Of log topics and query topic: as many workers can share one.", min=1, metavar="N")] = 4,
    replication_factor: Annotated[int | None, Copies] = None,
    bootstrap_servers: Bootstrap = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Make the topics that are missing.

    These are the log topics, and those for queries, replies and dead letters. Topics that exist stay as they are.
    """
    from worker.cli.screen import Screen
    from worker.cli.topics import init_topics

    kafka = settings_or_fail(config, kafka_flags(bootstrap_servers)).kafka
    result = init_topics(kafka, Screen(silent=as_json), partitions=partitions, replication_factor=replication_factor)
    if as_json:
        print_json(result)


@config_app.command("check")
def config_check_verb(*, config: Config = None) -> None:
    """Say whether the settings are valid.

    That is: every name is known, every value is possible. Starts nothing and connects to nothing.
    """
    worker_settings_or_fail(config)
    print_text("settings are valid")


@config_app.command("show")
def config_show_verb(*, config: Config = None, as_json: AsJson = False) -> None:
    """Show all settings, secrets hidden.

    As they are in the end: file, environment and defaults together. Printed as TOML, ready to become a settings file.
    """
    from worker.cli.toml import settings_as_toml, shown_settings

    settings = settings_or_fail(config)
    print_json(shown_settings(settings)) if as_json else print_text(settings_as_toml(settings))


@app.command("version")
def version_verb(*, as_json: AsJson = False) -> None:
    """Show versions, of vectail and of its libraries."""
    from worker.cli.version import versions

    print_json(versions()) if as_json else print_facts(versions())


def run_app(application: Callable[..., object] = app) -> int:
    """Run the command line; returns the exit code. A failure is one line on standard error."""
    never_fail_on_a_character()
    try:
        exit_code = application(prog_name="vectail", standalone_mode=False)
    except CommandFailed as failed:
        from worker.runtime.logs import printable

        typer.echo(f"vectail: {printable(str(failed))}", err=True)
        return failed.exit_code
    except TyperException as wrong:
        typer.echo(usage_error(wrong), err=True)
        return USER_ERROR
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else 1
    return exit_code if isinstance(exit_code, int) else 0


def usage_error(wrong: TyperException) -> str:
    """Return what was wrong with the words on the command line, in one line, and where to read on; the whole help if there were none."""
    message = wrong.format_message()
    where = getattr(wrong, "ctx", None)
    if "\n" in message or where is None:
        return message
    return f"vectail: {message} (`{where.command_path} --help` says more)"
