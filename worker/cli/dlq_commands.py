"""`vectail dlq`: options and help; the work is in `dlq` and `dlq_replay`."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from worker.cli.exits import failure, user_error
from worker.cli.options import TYPER_SETTINGS, Shared, takes_options, takes_shared
from worker.runtime.wording import counted

if TYPE_CHECKING:
    from worker.inspecting.letter_filter import LetterFilter

dlq_app = typer.Typer(help="Show dead letters: records that could not be indexed. Replay them.", **TYPER_SETTINGS)

PatienceOption = Annotated[float, typer.Option(help="Seconds to wait for Kafka, and for Milvus.", min=0.1, max=3600, metavar="N")]
_WHICH = "PARTITION/OFFSET of a letter, as `dlq ls` shows it, or TOPIC/PARTITION/OFFSET of its record"


@dataclass(frozen=True, kw_only=True)
class LetterOptions:
    """Which letters are meant."""

    reason: Annotated[str | None, typer.Option(help="Only letters whose reason contains this.", metavar="TEXT")] = None
    since: Annotated[str, typer.Option(help="Only letters of the last 90s, 15m, 1h, 7d, or since a time.", metavar="WHEN")] = "all"
    topic: Annotated[str | None, typer.Option(help="Only records of this topic.", metavar="NAME")] = None


@dlq_app.command("list", hidden=True)
@dlq_app.command("ls")
@takes_options
@takes_shared()
def dlq_ls_verb(
    *,
    options: LetterOptions,
    k: Annotated[int, typer.Option("-k", help="How many to show, newest first.", min=1, max=100_000, metavar="N")] = 20,
    replayed_too: Annotated[bool, typer.Option("--all", help="Include letters that were replayed.")] = False,
    patience: PatienceOption = 60.0,
    shared: Shared,
) -> None:
    """List the dead letters.

    First their number by reason and topic, then the newest letters: where each one is, its record, and why it was not indexed.
    """
    from worker.cli.dlq import list_letters
    from worker.cli.dlq_screen import show_list

    letter_filter = _letter_filter((), options, patience)
    found = list_letters(shared.settings().kafka, letter_filter, newest=k, replayed_too=replayed_too)
    shared.show(found, show_list)


@dlq_app.command("show")
@takes_shared()
def dlq_show_verb(
    which: Annotated[str, typer.Argument(help=_WHICH, metavar="WHICH")],
    *,
    raw: Annotated[bool, typer.Option("--raw", help="Write the record's value to standard output, byte for byte.")] = False,
    patience: PatienceOption = 60.0,
    shared: Shared,
) -> None:
    """Show everything about one dead letter.

    Coordinates, reason, rejected pieces, all headers and the value. Unprintable characters are escaped.
    """
    from worker.cli.dlq import find_letter, whole_letter
    from worker.cli.dlq_screen import show_letter

    if raw and shared.as_json:
        raise user_error("give --raw or --json, not both")
    letter_filter = _letter_filter((which,), LetterOptions(), patience)
    letter = find_letter(shared.settings().kafka, letter_filter)
    if raw:
        sys.stdout.buffer.write(letter.letter.value or b"")
        sys.stdout.buffer.flush()
    else:
        shared.show(whole_letter(letter), lambda screen, _document: show_letter(screen, letter))


@dlq_app.command("replay")
@takes_options
@takes_shared()
def dlq_replay_verb(
    which: Annotated[list[str] | None, typer.Argument(help=f"{_WHICH}. Default: all.", metavar="[WHICH]...")] = None,
    *,
    options: LetterOptions,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    patience: PatienceOption = 60.0,
    shared: Shared,
) -> None:
    """Index dead letters again, once their cause is fixed.

    Processes the rejected entries with the current settings and stores them under the coordinates of their records. It replaces no line,
    and refuses letters that Kafka's record or the index contradicts. A replayed letter is marked and not replayed again; pieces that are
    rejected again stay dead letters. Letters of topics that the settings do not read are replayed only if the letter or its topic
    (--topic) is named. A Milvus Lite folder must not be in use.

    Exit codes: 0 everything replayable was replayed; 1 a piece was rejected again, a letter was refused, or a named letter cannot
    be replayed; 2 something must be changed first (the settings, the index), or the replay was not confirmed.
    """
    from worker.cli.dlq_replay import replay_letters
    from worker.cli.dlq_screen import show_replayed

    letter_filter = _letter_filter(which or (), options, patience)
    done = replay_letters(shared.settings(), letter_filter, shared.screen(), yes=yes, may_ask=not shared.as_json)
    shared.show(done, show_replayed)
    if not done["changed"]:
        raise user_error("nothing was changed: --yes replays without asking")
    impossible = sum(done["not_replayable"].values()) if which else 0
    if done["left"] or impossible:
        raise failure(f"{counted(done['left'] + impossible, 'dead letter')} could not be replayed")


def _letter_filter(which: Sequence[str], options: LetterOptions, patience_s: float) -> "LetterFilter":
    from time import time

    from worker.cli.dlq import read_selector
    from worker.cli.filter_options import begin_ms
    from worker.inspecting.letter_filter import LetterFilter

    begin = begin_ms(options.since, now_ms=round(time() * 1000))
    selectors = tuple(map(read_selector, which))
    return LetterFilter(selectors=selectors, reason=options.reason, topic=options.topic, since_ms=begin, patience_s=patience_s)
