"""`vectail verify`: is every record accounted for."""

from typing import Annotated

import typer

from worker.cli.exits import problem
from worker.cli.given import kafka_flags, settings_or_fail
from worker.cli.options import PLAIN, AsJson, Bootstrap, Config
from worker.cli.output import counted, print_json

verify_app = typer.Typer(**PLAIN)

_WHERE = "earliest, latest, a TIME (2026-01-31T12:00, or 90s, 15m, 1h, 7d ago), or an OFFSET of each partition"


@verify_app.command("verify")
def verify_verb(
    *,
    topic: Annotated[
        list[str] | None, typer.Option(help="Only this topic; may be repeated. Not given: all of kafka.topics.", metavar="NAME")
    ] = None,
    begin: Annotated[str, typer.Option("--from", help=f"First record: {_WHERE}.", metavar="WHERE")] = "earliest",
    to: Annotated[
        str | None, typer.Option(help="End, as --from. Not given: what the group has committed; never beyond that.", metavar="WHERE")
    ] = None,
    repair: Annotated[bool, typer.Option("--repair", help="Write what is missing, remove what is left over, and look again.")] = False,
    patience: Annotated[float, typer.Option(help="Seconds to wait for Kafka, and for Milvus.", min=0.1, max=3600, metavar="N")] = 60.0,
    bootstrap_servers: Bootstrap = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Check that every record is accounted for.

    Reads the topics again, as the settings say now, and compares with Milvus and the dead letters: finds records in neither place,
    missing and changed rows, rows that no record owes, rows stored twice, and templates that are not there. A Milvus Lite folder must
    not be in use.

    Exit codes: 0 complete, or repaired; 1 something is wrong; 2 something must be changed first (a topic, the settings, the index).
    """
    from time import time

    from worker.cli.offsets import read_target
    from worker.cli.screen import Screen
    from worker.cli.verify import VerifyOptions, verify_topics
    from worker.cli.verify_screen import show_verified

    options = VerifyOptions(
        topics=tuple(topic or ()),
        begin=read_target(begin, option="--from"),
        end=None if to is None else read_target(to, option="--to"),
        repair=repair,
        patience_s=patience,
        now_ms=round(time() * 1000),
    )
    screen = Screen(silent=as_json)
    result = verify_topics(settings_or_fail(config, kafka_flags(bootstrap_servers)), options, screen)
    if as_json:
        print_json(result)
    else:
        show_verified(screen, result)
    if not result["complete"]:
        mend = "; --repair could not mend that" if repair else "; --repair mends what it can"
        raise problem(f"{counted(sum(result['left'].values()), 'problem')}{mend}")
