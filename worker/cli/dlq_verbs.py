"""`vectail dlq`: which records could not be indexed, what is in them, and working them again."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from worker.cli.exits import must_change, problem
from worker.cli.given import kafka_flags, settings_or_fail
from worker.cli.options import PLAIN, AsJson, Bootstrap, Config
from worker.cli.output import counted, print_json

if TYPE_CHECKING:
    from worker.cli.dlq import Choice

dlq_app = typer.Typer(help="Show dead letters: records that could not be indexed. Replay them.", **PLAIN)

Reason = Annotated[str | None, typer.Option(help="Only those with this in their reason.", metavar="TEXT")]
Since = Annotated[str, typer.Option(help="Only those of this span (90s, 15m, 1h, 7d), or since a time.", metavar="WHEN")]
Topic = Annotated[str | None, typer.Option(help="Only records of this topic.", metavar="NAME")]
Patience = Annotated[float, typer.Option(help="Seconds to wait for Kafka, and for Milvus.", min=0.1, max=3600, metavar="N")]
WHICH = "PARTITION/OFFSET of a letter, as `dlq ls` shows it, or TOPIC/PARTITION/OFFSET of its record"


@dlq_app.command("ls")
def dlq_ls_verb(
    *,
    reason: Reason = None,
    since: Since = "all",
    topic: Topic = None,
    k: Annotated[int, typer.Option("-k", help="Show so many, the newest.", min=1, max=100_000, metavar="N")] = 20,
    replayed_too: Annotated[bool, typer.Option("--all", help="Those too that were replayed.")] = False,
    patience: Patience = 60.0,
    bootstrap_servers: Bootstrap = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """List the dead letters.

    Counted by reason and topic, then the newest: where each is, which record it was, and why it could not be indexed.
    """
    from worker.cli.dlq import list_letters
    from worker.cli.dlq_screen import show_list
    from worker.cli.screen import Screen

    choice = _choice((), reason, since, topic, patience)
    found = list_letters(settings_or_fail(config, kafka_flags(bootstrap_servers)).kafka, choice, newest=k, replayed_too=replayed_too)
    print_json(found) if as_json else show_list(Screen(), found)


@dlq_app.command("show")
def dlq_show_verb(
    which: Annotated[str, typer.Argument(help=WHICH, metavar="WHICH")],
    *,
    raw: Annotated[bool, typer.Option("--raw", help="Write the record's value to standard output, byte for byte.")] = False,
    patience: Patience = 60.0,
    bootstrap_servers: Bootstrap = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Show all of one dead letter.

    Coordinates, reason, rejected pieces, all headers and the value. What a terminal would not print is escaped.
    """
    from worker.cli.dlq import find_letter, whole_letter
    from worker.cli.dlq_screen import show_letter
    from worker.cli.screen import Screen

    if raw and as_json:
        raise must_change("give --raw or --json, not both")
    choice = _choice((which,), None, "all", None, patience)
    letter = find_letter(settings_or_fail(config, kafka_flags(bootstrap_servers)).kafka, choice)
    if raw:
        sys.stdout.buffer.write(letter.letter.value or b"")
        sys.stdout.buffer.flush()
    elif as_json:
        print_json(whole_letter(letter))
    else:
        show_letter(Screen(), letter)


@dlq_app.command("replay")
def dlq_replay_verb(
    which: Annotated[list[str] | None, typer.Argument(help=f"{WHICH}; not given: all.", metavar="[WHICH]...")] = None,
    *,
    reason: Reason = None,
    since: Since = "all",
    topic: Topic = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    patience: Patience = 60.0,
    bootstrap_servers: Bootstrap = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Index what could not be indexed, once the fault is mended.

    Works the bad pieces again with the settings of now and stores them where they belong, under the coordinates of their records.
    A letter that was replayed is marked and not taken again; what is bad still stays. Letters of topics that the settings do not read
    are taken only if they are named, or --topic is. A Milvus Lite folder must not be in use.

    Exit codes: 0 all was replayed that can be; 1 something was refused again, or a letter was named that cannot be replayed;
    2 something must be changed first (the settings, the index), or nothing was confirmed.
    """
    from worker.cli.dlq_replay import replay_letters
    from worker.cli.dlq_screen import show_replayed
    from worker.cli.screen import Screen

    choice = _choice(tuple(which or ()), reason, since, topic, patience)
    screen = Screen(silent=as_json)
    settings = settings_or_fail(config, kafka_flags(bootstrap_servers))
    done = replay_letters(settings, choice, screen, yes=yes, may_ask=not as_json)
    print_json(done) if as_json else show_replayed(screen, done)
    if not done["changed"]:
        raise must_change("nothing was changed: --yes replays without a question")
    impossible = sum(done["not_replayable"].values()) if which else 0
    if done["left"] or impossible:
        raise problem(f"{counted(done['left'] + impossible, 'dead letter')} could not be replayed")


def _choice(which: tuple[str, ...], reason: str | None, since: str, topic: str | None, patience_s: float) -> "Choice":
    from time import time

    from worker.cli.dlq import Choice, read_which
    from worker.cli.since import since_ms

    begin_ms = since_ms(since, now_ms=round(time() * 1000))
    return Choice(which=tuple(map(read_which, which)), reason=reason, topic=topic, since_ms=begin_ms, patience_s=patience_s)
