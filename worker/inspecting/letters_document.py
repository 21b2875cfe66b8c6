"""What `/api/dead-letters` answers: the newest dead letters, each with its reason and the beginning of its record, and how many there are.

A dead letter holds the original bytes. What is shown of them, and of reasons, is redacted as the settings say for lines.
"""

import re
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from functools import cache
from typing import Final

from consumers.groupless.groupless_reader import GrouplessReader, RangeUnreadable, TopicUnknown
from consumers.kafka.source_settings import SourceMisconfigured
from worker.asking.places import RecordPlace
from worker.asking.refusals import BadQuery, Refused
from worker.asking.worker_answers import DeadLettersJson, LetterJson, ReasonCountJson
from worker.inspecting.letter_advice import deciding_setting, obstacle_of, way_back
from worker.inspecting.newest_dead_letters import NewestLetter, read_newest_letters
from worker.settings.settings import Settings
from worker.settings.tables import new_redactor

MOST_LETTERS: Final = 1_000
_USUAL_LETTERS: Final = 100
_PREVIEW: Final = 300
_JSON_ESCAPE: Final = re.compile(r"\\u([0-9a-fA-F]{4})")


class DeadLetterDocument:
    """Reads the topic again for each question, for a bounded time.

    Thread: one at a time.
    """

    def __init__(self, settings: Settings, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._kafka = settings.kafka
        self._redactor = new_redactor(settings.redact)
        self._reads = cache(settings.subscription.reads)
        self._clock = clock

    def document(self, params: Mapping[str, str]) -> DeadLettersJson:
        """Return it; of the URL, `limit` says how many letters, and `record` of which record. Raises Refused."""
        limit, record = _limit(params.get("limit", "")), _record(params.get("record", ""))
        kafka = self._kafka
        try:
            with closing(GrouplessReader(kafka.bootstrap_servers, kafka.librdkafka, topic_epoch="")) as reader:
                found = read_newest_letters(reader, kafka.dead_letter_topic, limit=limit, of=record, clock=self._clock)
        except TopicUnknown as error:
            raise Refused("not_found", str(error)) from None
        except (SourceMisconfigured, RangeUnreadable) as error:
            reason = f"Kafka does not answer: {error}"
            raise Refused("unavailable", reason) from None
        reasons: list[ReasonCountJson] = [
            {"reason": reason, "topic": topic, "letters": n} for (reason, topic), n in found.by_reason.most_common()
        ]
        return {
            "letters": self._shown(found.newest),
            "by_reason": reasons,
            "total": found.by_reason.total(),
            "replayed": found.replayed,
            "complete": found.is_complete,
            "dead_letter_topic": kafka.dead_letter_topic,
        }

    def _shown(self, letters: Sequence[NewestLetter]) -> list[LetterJson]:
        """Return them as JSON; all are redacted at once, because each call compiles the rules."""
        reasons = self._redactor.redact([one.letter.reason for one in letters])
        previews = self._redactor.redact([preview_of(one.letter.letter.value or b"") for one in letters])
        return [self._shown_letter(*one) for one in zip(letters, reasons, previews, strict=True)]

    def _shown_letter(self, one: NewestLetter, reason: str, preview: str) -> LetterJson:
        letter = one.letter
        obstacle = obstacle_of(one.obstacle) or ("" if self._reads(letter.topic) else not_read(letter.topic))
        return {
            "id": f"{letter.letter.partition}/{letter.letter.offset}",
            "topic": letter.topic,
            "partition": letter.partition,
            "offset": letter.offset,
            "time_ms": letter.letter.time_ms,
            "stage": letter.stage,
            "kind": letter.reason_heading,
            "reason": reason,
            "preview": preview[:_PREVIEW],
            "size_bytes": letter.size_bytes,
            "pieces": None if letter.is_whole else len(letter.pieces) or letter.unlisted_pieces,
            "replayable": not obstacle and not letter.is_replayed,
            "obstacle": obstacle,
            "setting": deciding_setting(letter),
            "way_back": way_back(letter, one.obstacle) if not obstacle else "",
            "replayed": letter.is_replayed,
            "partly_replayed": letter.is_partly_replayed,
        }


def not_read(topic: str) -> str:
    """Return the obstacle of a letter whose record is of a topic that these settings do not read."""
    return f"this worker does not read {topic}: the letter may belong to another index (`vectail dlq replay --topic {topic}` replays it)"


def preview_of(value: bytes) -> str:
    """Return the beginning of a value as text, with the letters that JSON can write as numbers in place: a secret may hide behind them."""
    text = value.decode("utf-8", "replace")
    return _JSON_ESCAPE.sub(lambda found: _character(found[1]), text)


def _character(code: str) -> str:
    one = chr(int(code, 16))
    return one if one.isprintable() else " "


def _record(text: str) -> RecordPlace | None:
    try:
        return RecordPlace.read(text) if text else None
    except ValueError as error:
        raise BadQuery("record", str(error)) from None


def _limit(text: str) -> int:
    if not text:
        return _USUAL_LETTERS
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(MOST_LETTERS)) and 1 <= int(text) <= MOST_LETTERS):
        raise BadQuery("limit", f"must be a number from 1 to {MOST_LETTERS}")
    return int(text)
