"""`vectail dlq replay`: indexes the chosen dead letters again, with the current settings.

Letters of topics that the settings do not read may belong to another index: they are replayed only if they or their topic are named.
Opens the index as `vectail verify` does, and loads the engine only when a template is missing. Returns what `--json` prints.
"""

from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from functools import cache
from typing import TypedDict

from worker.cli.dlq import StoredLetterJson, letter_document, no_such_letter, open_reader
from worker.cli.opened_index import failures_in_one_line, opened_index
from worker.cli.output import is_confirmed
from worker.cli.screen import Figures, Screen
from worker.embedding.loaded import load_model
from worker.inspecting.letter_filter import LetterFilter
from worker.inspecting.letter_replay import open_replayer
from worker.inspecting.replay import Replayed
from worker.inspecting.stored_dead_letters import StoredDeadLetter
from worker.runtime.logs import configure_logs
from worker.runtime.wording import counted
from worker.settings.settings import Settings
from worker.settings.tables import KafkaTable


class ReplayReportJson(TypedDict):
    """What `vectail dlq replay --json` prints."""

    topic: str
    changed: bool
    letters: int
    replayed: int
    held_already: int
    already_replayed: int
    of_other_topics: int
    lines: int
    templates: int
    left: int
    partly_replayed: int
    not_replayable: dict[str, int]
    left_letters: list[StoredLetterJson]


def replay_letters(settings: Settings, letter_filter: LetterFilter, screen: Screen, *, yes: bool, may_ask: bool) -> ReplayReportJson:
    """Replay the chosen letters, after asking unless `yes`. Raises CommandFailed."""
    configure_logs(quiet=True)
    with failures_in_one_line(settings, "the replay stopped"), ExitStack() as opened:
        return _replay(settings, letter_filter, screen, opened, lambda number: yes or (may_ask and _is_wanted(number)))


def _replay(
    settings: Settings, letter_filter: LetterFilter, screen: Screen, opened: ExitStack, is_wanted: Callable[[int], bool]
) -> ReplayReportJson:  # fmt: skip
    kafka = settings.kafka
    reader = opened.enter_context(open_reader(kafka))
    letters = letter_filter.read_letters(reader, kafka)
    reads = None if letter_filter.selectors or letter_filter.topic else cache(settings.subscription.reads)

    def is_ours(letter: StoredDeadLetter) -> bool:
        return reads is None or reads(letter.topic)

    states: Counter[bool] = Counter()
    others = 0
    missing = set(letter_filter.selectors)
    for letter in filter(letter_filter.matches, letters):
        if is_ours(letter):
            states[letter.is_replayed] += 1
        else:
            others += not letter.is_replayed
        missing -= {one for one in missing if one.matches(letter)}
    if missing:
        raise no_such_letter(min(missing, key=str), kafka)
    if not states[False]:
        return _document(kafka, Replayed(), already=states[True], others=others, changed=True)
    if not is_wanted(states[False]):
        return _document(kafka, Replayed(letters=states[False]), already=states[True], others=others, changed=False)
    sink, busy_retry, settings = opened.enter_context(opened_index(settings, screen, patience_s=letter_filter.patience_s))
    with screen.progress() as show:
        replayer = open_replayer(
            settings,
            sink,
            opened,
            load=lambda: load_model(settings),
            busy_retry=busy_retry,
            show=lambda now: show(_figures(now, states[False])),
        )
        replayed = replayer.replay_letters(letter for letter in letters if letter_filter.matches(letter) and is_ours(letter))
    return _document(kafka, replayed, already=states[True], others=others, changed=True)


def _document(kafka: KafkaTable, replayed: Replayed, *, already: int, others: int, changed: bool) -> ReplayReportJson:
    return {
        "topic": kafka.dead_letter_topic,
        "changed": changed,
        "letters": replayed.letters,
        "replayed": replayed.done,
        "held_already": replayed.held,
        "already_replayed": already,
        "of_other_topics": others,
        "lines": replayed.lines,
        "templates": replayed.templates,
        "left": replayed.left,
        "partly_replayed": replayed.partly,
        "not_replayable": dict(replayed.unreplayable),
        "left_letters": [
            {**letter_document(one.letter), "reason": one.reason, "pieces": len(one.pieces) or None} for one in replayed.unresolved
        ],
    }


def _is_wanted(number: int) -> bool:
    return is_confirmed(f"Replay {counted(number, 'dead letter')}?")


def _figures(now: Replayed, letters: int) -> Figures:
    return {"letters": now.letters, "of": letters, "lines": now.lines, "left": now.left}
