"""Replays dead letters from a running worker: what `POST /api/dead-letters/replay` does. It is the only thing that the page can change.

The same code as `vectail dlq replay`, around the worker's own sink, because a Milvus Lite folder belongs to one process. Templates that
are missing are embedded by an engine of its own, on one processor (llama.cpp, whose vectors agree with vLLM's): the worker's engine belongs
to its stage, and another one would not fit on its GPU. Everything is closed again before the answer.
"""

import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from typing import Final

from consumers.groupless.groupless_reader import GrouplessReader, RangeUnreadable, TopicUnknown
from consumers.kafka.source_settings import SourceMisconfigured
from consumers.registry import RegistryAway, RegistryMisconfigured
from consumers.source import KafkaRefused
from producers.kafka import ProducerMisconfigured
from sinks.sink import Sink, SinkBroken, SinkBusy, SinkRejected
from worker.asking.refusals import BadQuery, Refused
from worker.asking.worker_answers import ReplayedJson
from worker.embedding.guarded_engine import EngineFailed
from worker.embedding.loaded import LoadedModel, load_model
from worker.embedding.model.errors import ModelError
from worker.inspecting.busy_retry import BusyRetry
from worker.inspecting.letter_advice import obstacle_of
from worker.inspecting.letter_filter import LetterFilter, LetterSelector, parse_selector
from worker.inspecting.letter_replay import open_replayer
from worker.inspecting.letters_document import not_read
from worker.inspecting.replay import Replayed
from worker.inspecting.replay_marks import ReplayMarkUndelivered
from worker.inspecting.stored_dead_letters import StoredDeadLetter
from worker.runtime.logs import rate_limited_log
from worker.settings.settings import Settings
from worker.settings.tables import new_redactor

MOST_IDS: Final = 100
_PATIENCE_S: Final = 10.0
"""For Milvus, and for each answer of Kafka."""
_ID: Final = re.compile(r"[0-9]{1,9}/[0-9]{1,18}")


class DeadLetterReplay:
    """One replay at a time; another one is refused meanwhile.

    Thread: any.
    """

    def __init__(self, settings: Settings, sink: Sink, *, is_running: Callable[[], bool], pause: Callable[[float], bool]) -> None:
        """`sink` is the worker's own; `pause` waits for some seconds and returns True when the worker stops hard."""
        self._settings = settings
        self._sink = sink
        self._own_view = sink.templates
        """Of the model of the settings, with which missing templates are embedded."""
        self._is_running = is_running
        self._pause = pause
        self._replaying = threading.Lock()

    def replay(self, body: Mapping[str, object]) -> ReplayedJson:
        """Replay the letters that `ids` names, as PARTITION/OFFSET; returns what became of them. Raises Refused."""
        selectors = read_ids(body)
        self._check_ready()
        if not self._replaying.acquire(blocking=False):
            raise Refused("busy", "another replay is running")
        try:
            return self._replay(selectors)
        except TopicUnknown as error:
            raise Refused("not_found", str(error)) from None
        except (SourceMisconfigured, ProducerMisconfigured, KafkaRefused, RangeUnreadable) as error:
            raise _unavailable(f"Kafka does not answer: {error}") from None
        except (SinkBusy, SinkBroken) as error:
            raise _unavailable(f"the index does not answer: {error}") from None
        except (RegistryAway, RegistryMisconfigured) as error:
            raise _unavailable(f"the schema registry does not answer: {error}") from None
        except (ModelError, EngineFailed) as error:
            raise _unavailable(f"the engine failed: {error}") from None
        except (SinkRejected, ReplayMarkUndelivered) as error:
            raise _unavailable(f"the replay stopped: {error}") from None
        finally:
            self._replaying.release()

    def _check_ready(self) -> None:
        """Raise Refused unless this worker can replay now."""
        if not self._settings.kafka.index:
            raise Refused("unavailable", "this worker indexes nothing (kafka.index): ask one that does, or use `vectail dlq replay`")
        if not self._is_running():
            raise Refused("unavailable", "the worker is starting or stopping")
        if self._sink.templates is not self._own_view:
            raise Refused("unavailable", "the index has changed its model: set it in [model] and restart this worker, then replay")

    def _replay(self, selectors: Sequence[LetterSelector]) -> ReplayedJson:
        kafka = self._settings.kafka
        chosen = LetterFilter(selectors=tuple(selectors), patience_s=_PATIENCE_S)
        with ExitStack() as opened:
            reader = opened.enter_context(closing(GrouplessReader(kafka.bootstrap_servers, kafka.librdkafka, topic_epoch="")))
            found = {_own(letter): letter for letter in chosen.read_letters(reader, kafka) if chosen.matches(letter)}
            obstacles = {own: obstacle for own, letter in found.items() if (obstacle := self._obstacle(letter))}
            missing = {str(one): f"there is no such dead letter in {kafka.dead_letter_topic}" for one in selectors if str(one) not in found}
            todo = [letter for own, letter in found.items() if own not in obstacles and not letter.is_replayed]
            done = self._store(todo, opened) if todo else Replayed()
        failed = {_own(one.letter): one.reason for one in done.unresolved}
        failed |= {_own(letter): "Kafka no longer holds the record, and the letter does not hold all of it" for letter in done.gone}
        unresolved = missing | obstacles | failed
        reasons = new_redactor(self._settings.redact).redact([*unresolved.values()])
        return {
            "replayed": done.done - done.held,
            "already": sum(letter.is_replayed for letter in found.values()) + done.held,
            "partly": done.partly,
            "left": done.left + len(done.gone),
            "lines": done.lines,
            "unresolved": [{"id": own, "reason": reason} for own, reason in zip(unresolved, reasons, strict=True)],
        }

    def _store(self, letters: Sequence[StoredDeadLetter], opened: ExitStack) -> Replayed:
        busy_retry = BusyRetry(limit_s=_PATIENCE_S, say=rate_limited_log().warn, pause=self._pause, clock=time.monotonic)
        replayer = open_replayer(self._settings, self._sink, opened, load=lambda: load_small(self._settings), busy_retry=busy_retry)
        return replayer.replay_letters(letters)

    def _obstacle(self, letter: StoredDeadLetter) -> str:
        return obstacle_of(letter.obstacle) or ("" if self._settings.subscription.reads(letter.topic) else not_read(letter.topic))


def read_ids(body: Mapping[str, object]) -> list[LetterSelector]:
    """Return the letters that a request names, each once. Raises Refused."""
    unknown = sorted(set(body) - {"ids"})
    if unknown:
        raise BadQuery(unknown[0], "there is no such field")
    ids = body.get("ids")
    if not isinstance(ids, list) or not 1 <= len(ids) <= MOST_IDS:
        raise BadQuery("ids", f"must be a list of 1 to {MOST_IDS} ids")
    if not all(isinstance(one, str) and _ID.fullmatch(one) for one in ids):
        raise BadQuery("ids", "each must be PARTITION/OFFSET of a dead letter")
    return [*dict.fromkeys(parse_selector(one) for one in ids)]


def load_small(settings: Settings) -> LoadedModel:
    """Load the model for a few texts beside a worker that is busy. Raises ModelError."""
    engine = settings.engine.model_copy(update={"name": "llama", "threads": 1, "batch_tokens": None})
    return load_model(settings.model_copy(update={"engine": engine}))


def _own(letter: StoredDeadLetter) -> str:
    return f"{letter.letter.partition}/{letter.letter.offset}"


def _unavailable(reason: str) -> Refused:
    return Refused("unavailable", reason)
