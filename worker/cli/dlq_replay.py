"""`vectail dlq replay`: works the chosen dead letters again, with the settings of now.

Letters of topics that the settings do not read may be of another index: they are taken only where they or their topic are named.
Opens the index as `vectail verify` does, and loads the engine once a template is missing. What it returns is what `--json` prints.
"""

import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import typer

from producers.kafka import ProducerMisconfigured
from sinks.milvus.sink import MilvusSink
from sinks.sink import SinkBroken, SinkBusy, SinkMismatch, SinkRejected
from worker.audit.dead_letter_index import StoredDeadLetter
from worker.audit.expected import open_expected_rows
from worker.audit.marks import Marker, NotMarked
from worker.audit.repair import BusyRetry, Repairer
from worker.audit.replay import Replayed, Replayer
from worker.cli.dlq import Choice, letter_document, not_there, open_reader
from worker.cli.exits import must_change, problem
from worker.cli.output import counted
from worker.cli.screen import Figures, Screen
from worker.connections import milvus_settings
from worker.embedding.guarded_engine import EngineFailed
from worker.embedding.loaded import load_model, model_of, space_of
from worker.embedding.model.errors import ModelError
from worker.runtime.logs import configure_logs
from worker.settings.settings import Settings
from worker.settings.tables import KafkaTable


def replay_letters(settings: Settings, choice: Choice, screen: Screen, *, yes: bool, may_ask: bool) -> dict[str, Any]:
    """Replay letters, if the user wants that. Raises CommandFailed."""
    configure_logs(quiet=True)
    try:
        with ExitStack() as opened:
            return _replay(settings, choice, screen, opened, lambda number: yes or (may_ask and _confirmed(number)))
    except (SinkMismatch, ModelError, ProducerMisconfigured) as error:
        raise must_change(error) from error
    except (SinkBusy, SinkBroken) as error:
        raise problem(f"Milvus does not answer: {error}") from error
    except (SinkRejected, EngineFailed, NotMarked) as error:
        raise problem(f"the replay stopped: {error}") from error


def _replay(
    settings: Settings, choice: Choice, screen: Screen, opened: ExitStack, is_wanted: Callable[[int], bool]
) -> dict[str, Any]:  # fmt: skip
    kafka = settings.kafka
    reader = opened.enter_context(open_reader(kafka))
    letters = choice.read(reader, kafka)
    topics = None if choice.which or choice.topic else kafka.topics

    def is_ours(letter: StoredDeadLetter) -> bool:
        return topics is None or letter.topic in topics

    states: Counter[bool] = Counter()
    others = 0
    missing = set(choice.which)
    for letter in filter(choice.means, letters):
        if is_ours(letter):
            states[letter.is_replayed] += 1
        else:
            others += not letter.is_replayed
        missing -= {one for one in missing if one.means(letter)}
    if missing:
        raise not_there(min(missing, key=str), kafka)
    if not states[False]:
        return _document(kafka, Replayed(), already=states[True], others=others, changed=True)
    if not is_wanted(states[False]):
        return _document(kafka, Replayed(letters=states[False]), already=states[True], others=others, changed=False)
    patience = BusyRetry(limit_s=choice.patience_s, say=screen.warn, pause=threading.Event().wait, clock=time.monotonic)
    sink = MilvusSink(milvus_settings(settings, space_of(model_of(settings), settings.model.dims)))
    opened.callback(sink.close)
    patience.call(lambda: sink.open(create=False))
    maker = open_expected_rows(settings)
    opened.callback(maker.close)
    mender = Repairer(sink=sink, load=lambda: load_model(settings), patience=patience, rows_at_once=settings.milvus.batch_rows)
    opened.callback(mender.close)
    marker = Marker(kafka, limit_s=choice.patience_s, say=screen.warn)
    opened.callback(marker.close)
    with screen.progress() as show:
        replayer = Replayer(maker=maker, mender=mender, mark=marker.mark, show=lambda now: show(_figures(now, states[False])))
        replayed = replayer.work(letter for letter in letters if choice.means(letter) and is_ours(letter))
    return _document(kafka, replayed, already=states[True], others=others, changed=True)


def _document(kafka: KafkaTable, replayed: Replayed, *, already: int, others: int, changed: bool) -> dict[str, Any]:
    return {
        "topic": kafka.dead_letter_topic,
        "changed": changed,
        "letters": replayed.letters,
        "replayed": replayed.done,
        "already_replayed": already,
        "of_other_topics": others,
        "rows": replayed.rows,
        "templates": replayed.templates,
        "left": replayed.left,
        "partly_replayed": replayed.partly,
        "not_replayable": dict(replayed.impossible),
        "left_letters": [letter_document(one.letter) | {"reason": one.reason, "pieces": len(one.pieces) or None} for one in replayed.told],
    }


def _confirmed(number: int) -> bool:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return False
    return typer.confirm(f"Replay {counted(number, 'dead letter')}?", default=False)


def _figures(now: Replayed, letters: int) -> Figures:
    return {"letters": now.letters, "of": letters, "rows": now.rows, "left": now.left}
