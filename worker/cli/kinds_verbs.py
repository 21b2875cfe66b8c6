"""`vectail estimate` and `vectail templates`: which kinds of lines there would be, and which there are."""

from typing import Annotated

import typer

from worker.cli.given import kafka_flags, settings_or_fail
from worker.cli.options import PLAIN, AsJson, Bootstrap, Config
from worker.cli.output import print_json, print_text

kinds_app = typer.Typer(**PLAIN)


@kinds_app.command("estimate")
def estimate_verb(
    files: Annotated[list[str], typer.Argument(help="Log files, `-` for standard input.", metavar="FILE")],
    *,
    sample: Annotated[int, typer.Option(help="Read about so many lines, all over the files.", min=1, max=5_000_000, metavar="N")] = 20_000,
    rate: Annotated[float, typer.Option(help="Lines a second that the engine must keep up with.", min=0.001, metavar="N")] = 1_000.0,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Foretell what your log files will need.

    Tokens, memory, disk and time. Reads a sample, tries the engine for two seconds, and sends nothing anywhere: needs no Kafka, no
    Redis, no Milvus. Files of no more lines than the sample are read whole, and counted; of standard input, the first lines are.
    """
    from worker.cli.estimate import EstimateOptions, estimate_files
    from worker.cli.estimate_screen import shown_estimate

    facts = estimate_files(settings_or_fail(config), EstimateOptions(files=tuple(files), sample_lines=sample, rate_lines_per_s=rate))
    print_json(facts) if as_json else print_text(shown_estimate(facts))


@kinds_app.command("templates")
def templates_verb(
    *,
    like: Annotated[str | None, typer.Option(help="Show those that mean nearly this, nearest first.", metavar="TEXT")] = None,
    since: Annotated[
        str, typer.Option(help="Count the lines of this span (90s, 15m, 1h, 7d), or since a time, or all.", metavar="WHEN")
    ] = "1h",
    k: Annotated[int, typer.Option("-k", help="How many kinds.", min=1, max=1000, metavar="N")] = 20,
    timeout: Annotated[float, typer.Option(help="Seconds to wait for an answer.", min=0.1, max=600, metavar="N")] = 60.0,
    direct: Annotated[bool, typer.Option("--direct", help="Read the index on a Milvus server; needs no worker and no Kafka.")] = False,
    bootstrap_servers: Bootstrap = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """List the kinds of lines there are, most frequent first.

    Each with how many lines there were in the span, the first and the last of them, and an example. Asks a running worker, over Kafka.
    """
    from time import time

    from worker.cli.hits_screen import show_kinds
    from worker.cli.screen import Screen
    from worker.cli.search import checked_text
    from worker.cli.since import since_ms
    from worker.cli.templates import TemplatesOptions, list_templates

    begin_ms = since_ms(since, now_ms=round(time() * 1000))
    text = None if like is None else checked_text(like)
    settings = settings_or_fail(config, kafka_flags(bootstrap_servers))
    answer = list_templates(settings, TemplatesOptions(like=text, since_ms=begin_ms, k=k, timeout_s=timeout, direct=direct))
    if as_json:
        print_json(answer)
    else:
        show_kinds(Screen(), answer)
