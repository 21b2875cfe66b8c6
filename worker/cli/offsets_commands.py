"""`vectail offsets` and `vectail lag`: options and help; the work is in `offsets` and `lag`."""

from threading import Event
from typing import Annotated

import typer

from worker.cli.exits import stop_on_signals, user_error
from worker.cli.options import TYPER_SETTINGS, Shared, takes_shared

positions_app = typer.Typer(**TYPER_SETTINGS)
offsets_app = typer.Typer(help="Show or move the offsets at which the worker continues.", **TYPER_SETTINGS)
positions_app.add_typer(offsets_app, name="offsets")

QueriesOption = Annotated[bool, typer.Option("--queries", help="The query group instead of the log group.")]


@offsets_app.command("show")
@takes_shared()
def offsets_show_verb(*, queries: QueriesOption = False, shared: Shared) -> None:
    """Show where the group stands in each partition.

    Its committed offset, the partition's first and end offset, the lag between them, and the members of the group.
    """
    from worker.cli.offsets_verb import show_offsets

    shared.show(show_offsets(shared.settings(), shared.screen(), queries=queries))


@offsets_app.command("reset")
@takes_shared()
def offsets_reset_verb(
    *,
    to: Annotated[str, typer.Option(help="earliest, latest, an offset, a span before now (90s, 15m, 1h, 7d), or a time.", metavar="WHERE")],
    topic: Annotated[str | None, typer.Option(help="Only in this topic.", metavar="NAME")] = None,
    partition: Annotated[int | None, typer.Option(help="Only in this partition.", min=0, metavar="N")] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    queries: QueriesOption = False,
    shared: Shared,
) -> None:
    """Move the offsets at which the group continues.

    Shows what would change, then asks. The group must have no members: stop the workers first. Lines that are read again and
    are in the index already are skipped; they do not appear twice. An offset inside a stored event of several records becomes that
    of the event's first record.
    """
    from worker.cli.offsets_verb import ResetOptions, read_target, reset_offsets

    target = read_target(to, option="--to")
    options = ResetOptions(target=target, topic=topic, partition=partition, yes=yes, may_ask=not shared.as_json)
    done = reset_offsets(shared.settings(), options, shared.screen(), queries=queries)
    shared.show(done)
    if not done["changed"]:
        raise user_error("nothing was changed: --yes makes the change without asking")


@positions_app.command("lag")
@takes_shared()
def lag_verb(
    *,
    watch: Annotated[bool, typer.Option("--watch", "-w", help="Keep looking until Ctrl-C.")] = False,
    interval: Annotated[float, typer.Option(help="Seconds between two looks.", min=0.1, max=3600, metavar="S")] = 2.0,
    queries: QueriesOption = False,
    shared: Shared,
) -> None:
    """Show how far behind the worker is.

    In records and in seconds (the age of the oldest uncommitted record), how fast it commits, measured between two looks, and how
    long until the lag is zero. Needs no worker.
    """
    from worker.cli.lag_verb import LagOptions, show_lag

    stop = Event()
    stop_on_signals(stop.set)
    options = LagOptions(watch=watch, interval_s=interval, queries=queries, as_json=shared.as_json)
    show_lag(shared.settings(), options, shared.screen(), stop)
