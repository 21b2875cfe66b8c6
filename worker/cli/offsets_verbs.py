"""`vectail offsets` and `vectail lag`: where the worker's group stands in its topics, and moving it."""

from threading import Event
from typing import Annotated

import typer

from worker.cli.exits import must_change, stop_on_signals
from worker.cli.given import kafka_flags, settings_or_fail
from worker.cli.options import PLAIN, AsJson, Bootstrap, Config
from worker.cli.output import print_json

positions_app = typer.Typer(**PLAIN)
offsets_app = typer.Typer(help="Show or move the place where the worker reads on.", **PLAIN)
positions_app.add_typer(offsets_app, name="offsets")

Queries = Annotated[bool, typer.Option("--queries", help="Of the query group, not of the log group.")]


@offsets_app.command("show")
def offsets_show_verb(
    *, queries: Queries = False, bootstrap_servers: Bootstrap = None, config: Config = None, as_json: AsJson = False
) -> None:
    """Show where the group stands in each partition.

    What it has committed, the first and the end offset that are there, the lag between them, and who reads.
    """
    from worker.cli.offsets import show_offsets

    kafka = settings_or_fail(config, kafka_flags(bootstrap_servers)).kafka
    shown = show_offsets(kafka, queries=queries, as_json=as_json)
    if as_json:
        print_json(shown)


@offsets_app.command("reset")
def offsets_reset_verb(
    *,
    to: Annotated[str, typer.Option(help="earliest, latest, an offset, a span before now (90s, 15m, 1h, 7d), or a time.", metavar="WHERE")],
    topic: Annotated[str | None, typer.Option(help="Only in this topic.", metavar="NAME")] = None,
    partition: Annotated[int | None, typer.Option(help="Only in this partition.", min=0, metavar="N")] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    queries: Queries = False,
    bootstrap_servers: Bootstrap = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Move the place where the group reads on.

    Shows first what that changes, and asks. Only while nobody reads: stop the workers first. Lines that are read again get the same
    rows in the index again, not more of them.
    """
    from worker.cli.offsets import ResetOptions, read_target, reset_offsets

    options = ResetOptions(target=read_target(to, option="--to"), topic=topic, partition=partition, yes=yes, as_json=as_json)
    kafka = settings_or_fail(config, kafka_flags(bootstrap_servers)).kafka
    done = reset_offsets(kafka, options, queries=queries)
    if as_json:
        print_json(done)
    if not done["changed"]:
        raise must_change("nothing was changed: --yes changes it without a question")


@positions_app.command("lag")
def lag_verb(
    *,
    watch: Annotated[bool, typer.Option("--watch", "-w", help="Go on looking until Ctrl-C.")] = False,
    interval: Annotated[float, typer.Option(help="Seconds between two looks.", min=0.1, max=3600, metavar="S")] = 2.0,
    queries: Queries = False,
    bootstrap_servers: Bootstrap = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Show how far behind the worker is.

    In records and in seconds (the age of the oldest record that is not committed), how fast it goes between two looks, and when
    nothing would be left. Needs no worker.
    """
    from worker.cli.lag import LagOptions, show_lag

    stop = Event()
    stop_on_signals(stop.set)
    kafka = settings_or_fail(config, kafka_flags(bootstrap_servers)).kafka
    show_lag(kafka, LagOptions(watch=watch, interval_s=interval, queries=queries, as_json=as_json), stop)
