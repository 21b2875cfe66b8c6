"""`vectail offsets` and `vectail lag`: options and help; the work is in `offsets` and `lag`."""

from threading import Event
from typing import Annotated

import typer

from worker.cli.exits import stop_on_signals, user_error
from worker.cli.options import TYPER_SETTINGS, BootstrapOption, ConfigOption, JsonOption, kafka_flags, settings_or_fail
from worker.cli.output import print_json

positions_app = typer.Typer(**TYPER_SETTINGS)
offsets_app = typer.Typer(help="Show or move the offsets at which the worker continues.", **TYPER_SETTINGS)
positions_app.add_typer(offsets_app, name="offsets")

QueriesOption = Annotated[bool, typer.Option("--queries", help="The query group instead of the log group.")]


@offsets_app.command("show")
def offsets_show_verb(
    *, queries: QueriesOption = False, bootstrap_servers: BootstrapOption = None, config: ConfigOption = None, as_json: JsonOption = False
) -> None:
    """Show where the group stands in each partition.

    Its committed offset, the partition's first and end offset, the lag between them, and the members of the group.
    """
    from worker.cli.offsets import show_offsets
    from worker.cli.screen import Screen

    settings = settings_or_fail(config, kafka_flags(bootstrap_servers))
    shown = show_offsets(settings, Screen(silent=as_json), queries=queries)
    if as_json:
        print_json(shown)


@offsets_app.command("reset")
def offsets_reset_verb(
    *,
    to: Annotated[str, typer.Option(help="earliest, latest, an offset, a span before now (90s, 15m, 1h, 7d), or a time.", metavar="WHERE")],
    topic: Annotated[str | None, typer.Option(help="Only in this topic.", metavar="NAME")] = None,
    partition: Annotated[int | None, typer.Option(help="Only in this partition.", min=0, metavar="N")] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    queries: QueriesOption = False,
    bootstrap_servers: BootstrapOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Move the offsets at which the group continues.

    Shows what would change, then asks. The group must have no members: stop the workers first. Lines that are read again and
    are in the index already are skipped; they do not appear twice. An offset inside a stored event of several records becomes that
    of the event's first record.
    """
    from worker.cli.offsets import ResetOptions, read_target, reset_offsets
    from worker.cli.screen import Screen

    target = read_target(to, option="--to")
    options = ResetOptions(target=target, topic=topic, partition=partition, yes=yes, may_ask=not as_json)
    settings = settings_or_fail(config, kafka_flags(bootstrap_servers))
    done = reset_offsets(settings, options, Screen(silent=as_json), queries=queries)
    if as_json:
        print_json(done)
    if not done["changed"]:
        raise user_error("nothing was changed: --yes makes the change without asking")


@positions_app.command("lag")
def lag_verb(
    *,
    watch: Annotated[bool, typer.Option("--watch", "-w", help="Keep looking until Ctrl-C.")] = False,
    interval: Annotated[float, typer.Option(help="Seconds between two looks.", min=0.1, max=3600, metavar="S")] = 2.0,
    queries: QueriesOption = False,
    bootstrap_servers: BootstrapOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show how far behind the worker is.

    In records and in seconds (the age of the oldest uncommitted record), how fast it commits, measured between two looks, and how
    long until the lag is zero. Needs no worker.
    """
    from worker.cli.lag import LagOptions, show_lag
    from worker.cli.screen import Screen

    stop = Event()
    stop_on_signals(stop.set)
    settings = settings_or_fail(config, kafka_flags(bootstrap_servers))
    options = LagOptions(watch=watch, interval_s=interval, queries=queries, as_json=as_json)
    show_lag(settings, options, Screen(silent=as_json), stop)
