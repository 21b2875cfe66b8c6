"""`vectail verify`: options and help; the work is in `verify`."""

from dataclasses import dataclass
from typing import Annotated

import typer

from worker.cli.exits import failure, user_error
from worker.cli.options import TYPER_SETTINGS, Shared, takes_options, takes_shared
from worker.runtime.wording import counted

verify_app = typer.Typer(**TYPER_SETTINGS)

_WHERE = "earliest, latest, a TIME (2026-01-31T12:00, or 90s, 15m, 1h, 7d ago), or an OFFSET, used in each partition"


@dataclass(frozen=True, kw_only=True)
class VerifyGiven:
    """What `vectail verify` looks at, and what it does about it."""

    topic: Annotated[
        list[str] | None, typer.Option(help="Only this topic; may be repeated. Default: all that the settings read.", metavar="NAME")
    ] = None
    begin: Annotated[str, typer.Option("--from", help=f"First record: {_WHERE}.", metavar="WHERE")] = "earliest"
    to: Annotated[
        str | None, typer.Option(help="End, given as --from. Default: what the group has committed; never beyond that.", metavar="WHERE")
    ] = None
    repair: Annotated[
        bool,
        typer.Option("--repair", help="Write what is missing, remove what should not be there, and check again, once more after 20 s."),
    ] = False
    vectors: Annotated[
        bool,
        typer.Option(
            "--vectors", help="Compare stored vectors with the model's instead: embeds a sample of templates again, without reading Kafka."
        ),
    ] = False
    sample: Annotated[int, typer.Option(help="With --vectors: at most this many templates.", min=1, max=1_000_000, metavar="N")] = 200
    patience: Annotated[float, typer.Option(help="Seconds to wait for Kafka, and for Milvus.", min=0.1, max=3600, metavar="N")] = 60.0
    look_again: Annotated[float, typer.Option(hidden=True, min=0.0)] = 20.0


@verify_app.command("verify")
@takes_options
@takes_shared()
def verify_verb(*, options: VerifyGiven, shared: Shared) -> None:
    """Check that every record is accounted for.

    Reads the topics again with the current settings and compares them with Milvus and the dead letters. Finds records that are in
    neither, lines that are missing, changed or belong to no record, missing templates, and damaged blocks. A Milvus Lite folder must
    not be in use. With --vectors it looks for stored vectors that are not the model's, which nothing else would notice.

    Exit codes: 0 complete, or repaired; 1 something is wrong; 2 something must be changed first (a topic, the settings, the index).
    """
    from time import time

    from worker.cli.offsets_verb import read_target
    from worker.cli.verify_screen import show_verified
    from worker.cli.verify_verb import VerifyOptions, verify_topics

    if options.vectors:
        if options.topic or options.begin != "earliest" or options.to is not None:
            raise user_error("--vectors looks at the index alone: leave out --topic, --from and --to")
        _verify_vectors(shared, options)
        return
    wanted = VerifyOptions(
        topics=tuple(options.topic or ()),
        begin=read_target(options.begin, option="--from"),
        end=None if options.to is None else read_target(options.to, option="--to"),
        repair=options.repair,
        patience_s=options.patience,
        look_again_s=options.look_again,
        now_ms=round(time() * 1000),
    )
    result = verify_topics(shared.settings(), wanted, shared.screen())
    shared.show(result, show_verified)
    if not result["complete"]:
        advice = "; --repair could not repair that" if options.repair else "; --repair repairs what it can"
        raise failure(f"{counted(sum(result['left'].values()), 'problem')}{advice}")


def _verify_vectors(shared: Shared, options: VerifyGiven) -> None:
    from worker.cli.verify_vectors import show_vectors, verify_vectors

    screen, number = shared.screen(), options.sample
    result = verify_vectors(shared.settings(), number=number, repair=options.repair, patience_s=options.patience, screen=screen)
    shared.show(result, show_vectors)
    if not result["complete"]:
        advice = "; --repair could not repair that" if options.repair else "; --repair writes the model's"
        raise failure(f"{counted(result['left'], 'vector')} not as the model gives it{advice}")
