"""The verbs of `vectail`, their options and their help.

`NAME_commands.py` declares a verb's options and help, `NAME.py` does its work, `NAME_screen.py` decides what a person sees; verbs
without a commands module are declared here. A verb imports its work when it is called: `vectail --help` waits for no large library.
Every error ends as one line on standard error and an exit code of `worker.cli.exit_codes`.
"""

from collections.abc import Callable
from functools import partial
from threading import Event
from typing import Annotated

import typer
from typer.exceptions import TyperException

from consumers.decode.rules import Format
from worker.cli.dlq_commands import dlq_app
from worker.cli.exit_codes import USER_ERROR
from worker.cli.exits import CommandFailed, failure, stop_on_signals, usage_error, user_error
from worker.cli.masks_commands import masks_app
from worker.cli.model_commands import model_app
from worker.cli.offsets_commands import positions_app
from worker.cli.options import (
    TYPER_SETTINGS,
    BootstrapOption,
    ConfigOption,
    JsonOption,
    OrderedVerbs,
    Shared,
    kafka_flags,
    settings_or_fail,
    takes_options,
    takes_shared,
    worker_settings_or_fail,
)
from worker.cli.output import facts_text, print_json, print_text, replace_unencodable, warn
from worker.cli.reindex_commands import reindex_app
from worker.cli.search_commands import search_app
from worker.cli.verb_options import DemoOptions
from worker.cli.verify_commands import verify_app
from worker.runtime.logs import printable, printable_lines
from worker.runtime.wording import counted

app = typer.Typer(
    name="vectail",
    cls=OrderedVerbs,
    help="""Makes logs searchable by meaning: reads Kafka topics, keeps an index in Milvus, and answers questions while it indexes.

    Begin with `vectail demo FILE`: it needs no Kafka and no Milvus.

    Exit codes: 0 done; 1 something failed or did not answer; 2 something must be changed first (an option, a setting, a file, a
    topic, the model, the index, the installation); 3 `run` did not drain in time; 130 ended by Ctrl-C.
    """,
    context_settings={"help_option_names": ["--help", "-h"]},
    **(TYPER_SETTINGS | {"add_completion": True}),
)
topics_app = typer.Typer(help="Create the Kafka topics that vectail needs.", **TYPER_SETTINGS)
config_app = typer.Typer(help="Check the settings, or show all of them.", **TYPER_SETTINGS)
for verb, verbs in (("dlq", dlq_app), ("topics", topics_app), ("config", config_app), ("masks", masks_app), ("model", model_app)):
    app.add_typer(verbs, name=verb)
for verbs in (search_app, positions_app, verify_app, reindex_app):
    app.add_typer(verbs)


def _print_version(is_wanted: bool) -> None:
    if is_wanted:
        from worker.runtime.process import vectail_version

        print_text(f"vectail {vectail_version()}")
        raise typer.Exit


@app.callback()
def program(
    *,
    version: Annotated[
        bool, typer.Option("--version", "-V", callback=_print_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Take the options that stand before a verb."""


@app.command("demo")
@takes_options
@takes_shared(kafka=False)
def demo_verb(*, options: DemoOptions, shared: Shared) -> None:
    """See it work: index your log files and search them.

    Everything runs in one process, on an embedded Kafka broker, Milvus Lite and a model that is installed with vectail: no server and
    no GPU is needed.
    """
    from worker.cli.demo_start import begin_demo

    screen = shared.screen()
    start = begin_demo(options, shared.config, screen)

    from worker.cli.demo import demo  # takes seconds to import

    stop = Event()
    stop_on_signals(stop.set)
    demo(options, screen, start=start, ready=shared.show, stop=stop)


@app.command("run")
def run_verb(
    *,
    config: ConfigOption = None,
    workers: Annotated[
        int, typer.Option(help="How many workers to run; they share cores and GPU, and need a Milvus server.", min=1, max=64, metavar="N")
    ] = 1,
    start: Annotated[
        str | None, typer.Option("--from", help="Continue from here, given as `offsets reset --to`; at every start.", metavar="WHERE")
    ] = None,
    adopt: Annotated[
        bool, typer.Option("--adopt", help="Take the index over from another consumer group, which must not use it any more.")
    ] = False,
    part: Annotated[str | None, typer.Option(hidden=True, metavar="K/N")] = None,
) -> None:
    """Run the worker: index topics and answer questions.

    Runs until SIGTERM or Ctrl-C, then finishes what it has begun; a second signal ends it at once.

    Exit codes: 0 drained; 1 crashed or a limit was reached; 2 something must be changed first (settings, model, index); 3 the drain
    deadline passed.
    """
    from worker.cli.offsets_verb import read_target
    from worker.cli.run import move_log_group, run_worker
    from worker.cli.workers import read_worker_index, run_workers, worker_share
    from worker.runtime.logs import configure_logs

    settings = worker_settings_or_fail(config)
    if part is not None:
        index = read_worker_index(part)
        raise typer.Exit(run_worker(worker_settings_or_fail(config, worker_share(settings, index)), number=index.number))
    target = None if start is None else read_target(start, option="--from")
    if workers == 1:
        raise typer.Exit(run_worker(settings, start=target, adopt=adopt))
    if adopt:
        raise user_error("--adopt: let one worker take the index over first, without --workers")
    if target is not None:
        configure_logs()
        move_log_group(settings, target, Event())
    raise typer.Exit(run_workers(settings, config, workers))


@app.command("serve")
@takes_shared(kafka=False)
def serve_verb(
    *,
    port: Annotated[int | None, typer.Option(help="Port to listen on; overrides http.port.", min=0, max=65_535, metavar="N")] = None,
    shared: Shared,
) -> None:
    """Give vectors of texts over HTTP, without an index.

    As OpenAI's API and Text Embeddings Inference give them, with the settings' model and those of `[[serve.model]]`. Needs no Kafka.
    Runs until SIGTERM or Ctrl-C; what was asked by then is answered first.

    Exit codes: 0 stopped; 1 crashed; 2 something must be changed first (settings, model).
    """
    from worker.cli.serve import serve_embeddings

    raise typer.Exit(serve_embeddings(shared.settings({} if port is None else {"http": {"port": port}})))


@app.command("peek")
@takes_shared()
def peek_verb(
    source: Annotated[
        str | None, typer.Argument(help="A topic, a log file or folder, or `-` for standard input.", metavar="TOPIC|FILE")
    ] = None,
    *,
    number: Annotated[int, typer.Option("-n", help="Look at this many records.", min=1, max=10_000, metavar="N")] = 10,
    form: Annotated[Format | None, typer.Option("--format", help="Read them as this format; overrides the settings.")] = None,
    file: Annotated[str | None, typer.Option(help="This file or folder, where a word could be a topic as well.", metavar="FILE")] = None,
    topic: Annotated[
        str | None, typer.Option(help="This topic; of a file, whose settings hold. Default: the first of the settings.", metavar="NAME")
    ] = None,
    shared: Shared,
) -> None:
    """See how records are decoded, before you index them.

    Shows of each record the format, the time and who said it, level, service, fields, the template that its text gets, and what was
    uncertain. Of a topic the newest records are read, of a file the first lines. Nothing is indexed, nothing is committed.
    """
    from worker.cli.peek import PeekOptions, peek
    from worker.cli.peek_screen import show_peek

    settings = shared.settings()
    told = peek(settings, PeekOptions(source=source, file=file, number=number, topic=topic, form=form))
    shared.show(told, show_peek)


@app.command("feed")
@takes_shared()
def feed_verb(
    files: Annotated[list[str] | None, typer.Argument(help="Log files or folders, `-` for standard input.", metavar="FILE")] = None,
    *,
    synthetic: Annotated[bool, typer.Option("--synthetic", help="Instead of files: endless synthetic logs of a dozen services.")] = False,
    topic: Annotated[str | None, typer.Option(help="Topic to write to. Default: the first [[topic]] with a name.", metavar="NAME")] = None,
    rate: Annotated[
        float | None, typer.Option(help="Lines per second. Default: as fast as Kafka takes them.", min=0.001, metavar="N")
    ] = None,
    shared: Shared,
) -> None:
    """Send the lines of files to a Kafka topic.

    One record per line, for `vectail run` or `vectail demo --serve` to index. Waits while Kafka is away, unless it was away from the
    start. Ctrl-C stops reading and waits until Kafka has acknowledged what was sent.
    """
    from worker.cli.feed_verb import FeedOptions, feed_files

    stop = Event()
    stop_on_signals(stop.set)
    options = FeedOptions(files=tuple(files or ()), synthetic=synthetic, topic=topic, rate=rate)
    shared.show(feed_files(shared.settings(), options, shared.screen(), stop))


@app.command("estimate")
@takes_shared(kafka=False)
def estimate_verb(
    files: Annotated[list[str], typer.Argument(help="Log files or folders, `-` for standard input.", metavar="FILE")],
    *,
    sample: Annotated[
        int, typer.Option(help="Read about this many lines, spread over the files.", min=1, max=5_000_000, metavar="N")
    ] = 20_000,
    rate: Annotated[str, typer.Option(help="How fast logs arrive: lines a second, or bytes a second like 50MB/s.", metavar="N")] = "1000",
    topic: Annotated[str | None, typer.Option(help="Topic whose settings hold; default: the first.", metavar="NAME")] = None,
    details: Annotated[bool, typer.Option("--details", help="Show all figures, and what they rest on.")] = False,
    shared: Shared,
) -> None:
    """Predict what your log files will need.

    How many workers and partitions a rate needs, and how much room in Milvus; with --details also templates, tokens and memory. Reads a
    sample, tries the engine for two seconds, and sends nothing anywhere: needs no Kafka, no Redis, no Milvus.

    Files with no more lines than the sample are read whole and counted; of standard input, the first lines are read.
    """
    from worker.cli.absent_server import said_if_slow
    from worker.cli.estimate_screen import shown_estimate
    from worker.cli.estimate_verb import EstimateOptions, estimate_files, parse_rate

    options = EstimateOptions(files=tuple(files), sample_lines=sample, rate=parse_rate(rate), topic=topic)
    with said_if_slow(warn, "trying the model and its engine, which takes some seconds (vLLM: half a minute)"):
        facts = estimate_files(shared.settings(), options)
    shared.print(facts, partial(shown_estimate, details=details))


@app.command("compact")
@takes_shared()
def compact_verb(
    *,
    patience: Annotated[float, typer.Option(help="Seconds to wait for Milvus.", min=0.1, max=3600, metavar="N")] = 60.0,
    shared: Shared,
) -> None:
    """Merge small blocks of the index that stopped workers left.

    Running workers do it themselves: the group must have no members, and a Milvus Lite folder must not be in use. Takes at least 20
    seconds if anything was merged: readers may still need the small blocks for so long.

    Exit codes: 0 done; 1 a block cannot be read, or Milvus does not answer; 2 the workers, the settings or the index are in the way.
    """
    from worker.cli.compact import compact_index, show_compacted

    result = compact_index(shared.settings(), shared.screen(), patience_s=patience)
    shared.show(result, show_compacted)
    if result["damaged"]:
        raise failure(f"{counted(result['damaged'], 'merge')} left out: a block cannot be read; `vectail verify --repair` writes it again")


@app.command("doctor")
@takes_shared()
def doctor_verb(
    *,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show only warnings and problems.")] = False,
    shared: Shared,
) -> None:
    """Say what is wrong with a set-up, and what to do about it.

    Looks at Kafka, the Schema Registry, Redis, Milvus, the model and its engine, the embedding service, the installed versions, this
    machine and the settings, side by side, and changes nothing. What is right is shown too, with what was found. docs/doctor.md explains
    every check.

    Exit codes: 0 no problem, perhaps warnings; 1 a problem was found; 2 the settings must be changed first.
    """
    from worker.cli.absent_server import SLOW_S
    from worker.cli.doctor_screen import show_report
    from worker.inspecting.doctor import examine
    from worker.inspecting.doctor_looks import looks_of_tool
    from worker.runtime.logs import configure_logs

    settings = shared.settings()
    configure_logs(quiet=True)
    report = examine(looks_of_tool(settings), say=warn, quiet_s=SLOW_S)
    shared.show(report.document(), lambda screen, _document: show_report(screen, report, with_ok=not quiet))
    problems = sum(one.state == "problem" for one in report.checks)
    if problems:
        raise failure(counted(problems, "problem"))


@app.command("mcp")
def mcp_verb(
    *,
    url: Annotated[
        str | None,
        typer.Option(help="Address of the worker, such as http://127.0.0.1:8790. Default: http.host and http.port.", metavar="URL"),
    ] = None,
    over_kafka: Annotated[bool, typer.Option("--kafka", help="Ask over Kafka instead of HTTP; the lag stays unknown then.")] = False,
    bootstrap_servers: BootstrapOption = None,
    config: ConfigOption = None,
) -> None:
    """Let an assistant ask a running worker (MCP).

    Speaks the Model Context Protocol on standard input and output, for an MCP client that starts it. The tools only read. A worker also
    answers at /mcp itself. The token is http.token of the settings.
    """
    from worker.cli.mcp import ask_over_http, ask_over_kafka, serve_client

    if url is not None and (over_kafka or bootstrap_servers is not None):
        raise user_error("--url asks over HTTP: leave out --kafka and --bootstrap-servers")
    settings = settings_or_fail(config, kafka_flags(bootstrap_servers))
    if over_kafka or bootstrap_servers is not None:
        with ask_over_kafka(settings) as index:
            serve_client(index)
    else:
        serve_client(ask_over_http(settings, url))


@topics_app.command("init")
@takes_shared()
def topics_init_verb(
    *,
    partitions: Annotated[
        int, typer.Option(help="Partitions of log topics and query topic: the most workers that can share one.", min=1, metavar="N")
    ] = 4,
    replication_factor: Annotated[
        int | None, typer.Option(help="Copies of each topic. Default: the broker's default.", min=1, metavar="N")
    ] = None,
    shared: Shared,
) -> None:
    """Create the topics that are missing.

    These are the log topics that have a name and the topics for queries, replies and dead letters. Existing topics are not changed.
    """
    from worker.cli.topics import init_topics

    shared.show(init_topics(shared.settings(), shared.screen(), partitions=partitions, replication_factor=replication_factor))


@config_app.command("check")
def config_check_verb(*, config: ConfigOption = None) -> None:
    """Check that the settings are valid.

    Every name must be known and every value allowed. Starts nothing and connects to nothing.
    """
    worker_settings_or_fail(config)
    print_text("settings are valid")


@config_app.command("show")
@takes_shared()
def config_show_verb(
    *,
    origin: Annotated[bool, typer.Option("--origin", help="Say of each where it is from: file and line, variable, default.")] = False,
    shared: Shared,
) -> None:
    """Show all settings, with secrets hidden.

    The values in effect: file, environment and defaults combined. Printed as TOML that can be used as a settings file.
    """
    from worker.cli.toml import origins_json, settings_as_toml, shown_settings
    from worker.settings.origins import origins_of

    settings = shared.settings()
    origins = origins_of(shared.config, kafka_flags(shared.bootstrap_servers)) if origin else None
    document = shown_settings(settings) if origins is None else {"settings": shown_settings(settings), "origins": origins_json(origins)}
    shared.print(document, lambda _document: settings_as_toml(settings, origins))


@app.command("version")
def version_verb(*, as_json: JsonOption = False) -> None:
    """Show the versions of vectail and its libraries."""
    from worker.cli.version import versions

    print_json(versions()) if as_json else print_text(facts_text(versions()))


def run_app(application: Callable[..., object] = app) -> int:
    """Run the command line and return its exit code; an error is one line on standard error."""
    replace_unencodable()
    try:
        exit_code = application(prog_name="vectail", standalone_mode=False)
    except (CommandFailed, ImportError) as failed:
        typer.echo(f"vectail: {printable(str(failed))}", err=True)
        return failed.exit_code if isinstance(failed, CommandFailed) else USER_ERROR  # a part is not installed, or not compiled
    except TyperException as error:
        typer.echo(printable_lines(usage_error(error)), err=True)
        return USER_ERROR
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else 1
    return exit_code if isinstance(exit_code, int) else 0
