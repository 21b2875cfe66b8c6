"""`vectail dlq ls` and `show`: the dead letters as a person looks for them, and which of them a replay is about.

Needs nothing but Kafka. What is returned is what `--json` prints.
"""

import base64
import heapq
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

from consumers.groupless.reader import GrouplessReader, RangeUnreadable, TopicUnknown
from consumers.kafka.settings import SourceMisconfigured
from worker.audit.dead_letter_index import DeadLetters, StoredDeadLetter
from worker.cli.exits import CommandFailed, must_change, problem
from worker.settings.tables import KafkaTable

_WHICH = re.compile(r"(?:([^/@\s]+)/)?(\d{1,9})[/@](\d{1,18})")


class Which(NamedTuple):
    """One letter by its own coordinates, or all letters of a record by the record's.

    Thread: any.
    """

    topic: str | None
    """None: the coordinates are the letter's own."""
    partition: int
    offset: int

    def means(self, letter: StoredDeadLetter) -> bool:
        """Say whether it is this letter."""
        if self.topic is None:
            return (letter.letter.partition, letter.letter.offset) == self[1:]
        return (letter.topic, letter.partition, letter.offset) == self


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Which letters the user means: those that fit all that was given.

    Thread: main.
    """

    which: tuple[Which, ...] = ()
    """None: any."""
    reason: str | None = None
    """A part of it, in any case."""
    topic: str | None = None
    since_ms: int | None = None
    patience_s: float = 60.0

    def means(self, letter: StoredDeadLetter) -> bool:
        """Say whether it is one of these; `since_ms` was looked at before."""
        reasons = (letter.reason, *(reason for _, _, reason in letter.pieces))
        return (
            (not self.which or any(one.means(letter) for one in self.which))
            and (self.reason is None or any(self.reason.casefold() in reason.casefold() for reason in reasons))
            and self.topic in (None, letter.topic)
        )

    def read(self, reader: GrouplessReader, kafka: KafkaTable) -> DeadLetters:
        """Find out what is there; where letters are named by their own coordinates, nothing before them is read."""
        own = [(one.partition, one.offset) for one in self.which if one.topic is None]
        named = {partition: min(o for p, o in own if p == partition) for partition, _ in own}
        is_named = bool(own) and len(own) == len(self.which)
        return DeadLetters(
            reader,
            kafka.dead_letter_topic,
            timeout_s=self.patience_s,
            since_ms=self.since_ms,
            first_offsets=named if is_named else None,
        )


def read_which(text: str) -> Which:
    """Read `PARTITION/OFFSET` or `TOPIC/PARTITION/OFFSET`. Raises CommandFailed."""
    found = _WHICH.fullmatch(text.strip())
    if found is None:
        raise must_change(f"{text!r}: give PARTITION/OFFSET as `dlq ls` shows it, or TOPIC/PARTITION/OFFSET of the record")
    return Which(found[1], int(found[2]), int(found[3]))


def list_letters(kafka: KafkaTable, choice: Choice, *, newest: int, replayed_too: bool) -> dict[str, Any]:
    """Count letters by reason and topic, and tell the newest. Raises CommandFailed."""
    states: Counter[bool] = Counter()
    kinds: dict[tuple[str, str], dict[str, Any]] = {}

    def counted_letters(letters: DeadLetters) -> Iterator[dict[str, Any]]:
        for letter in filter(choice.means, letters):
            states[letter.is_replayed] += 1
            if not letter.is_replayed or replayed_too:
                kind = (letter.reason.partition(": ")[0], letter.topic)
                time_ms = letter.letter.time_ms
                one = kinds.setdefault(
                    kind, dict(zip(("reason", "topic"), kind, strict=True)) | {"letters": 0, "first": time_ms, "last": 0}
                )
                one |= {"letters": one["letters"] + 1, "first": min(one["first"], time_ms), "last": max(one["last"], time_ms)}
                yield letter_document(letter)

    with open_reader(kafka) as reader:
        found = heapq.nlargest(newest, counted_letters(choice.read(reader, kafka)), key=_age)
    return {
        "topic": kafka.dead_letter_topic,
        "letters": states[False],
        "replayed": states[True],
        "kinds": sorted(kinds.values(), key=lambda one: -one["letters"]),
        "newest": found,
    }


def find_letter(kafka: KafkaTable, choice: Choice) -> StoredDeadLetter:
    """Return the letter that is meant; of several letters of one record, the last. Raises CommandFailed."""
    with open_reader(kafka) as reader:
        found = None
        for letter in choice.read(reader, kafka):
            if choice.means(letter) and (found is None or letter.letter.time_ms >= found.letter.time_ms):
                found = letter
    if found is None:
        raise not_there(choice.which[0], kafka)
    return found


def letter_document(letter: StoredDeadLetter) -> dict[str, Any]:
    """Return what is known of a letter, without its bytes; `pieces` is null where the whole record is bad."""
    return {
        "partition": letter.letter.partition,
        "offset": letter.letter.offset,
        "time": letter.letter.time_ms,
        "reason": letter.reason,
        "stage": letter.stage,
        "pieces": None if letter.is_whole else len(letter.pieces) or letter.unlisted_pieces,
        "bytes": letter.size_bytes,
        "record": {
            "topic": letter.topic,
            "partition": letter.partition,
            "offset": letter.offset,
            "epoch": letter.epoch,
            "time": letter.time_ms,
        },
        "replayed": letter.is_replayed,
        "partly_replayed": letter.is_partly_replayed,
        "not_replayable": letter.obstacle,
    }


def whole_letter(letter: StoredDeadLetter) -> dict[str, Any]:
    """Return all of a letter; bytes that are not UTF-8 are in base64."""
    pieces = [{"sub": sub, "chunk": chunk, "reason": reason} for sub, chunk, reason in letter.pieces]
    return letter_document(letter) | {
        "rejected": pieces,
        "headers": [{"name": name, **_bytes("value", content)} for name, content in letter.letter.headers],
        **_bytes("key", letter.letter.key),
        **_bytes("value", letter.letter.value),
    }


@contextmanager
def open_reader(kafka: KafkaTable) -> Iterator[GrouplessReader]:
    """Lend a client; what Kafka refuses or does not answer inside comes out as CommandFailed."""
    try:
        with closing(GrouplessReader(kafka.bootstrap_servers, kafka.librdkafka, topic_epoch="")) as reader:
            yield reader
    except (SourceMisconfigured, TopicUnknown) as error:
        raise must_change(error) from error
    except RangeUnreadable as error:
        raise problem(f"kafka at {kafka.bootstrap_servers}: {error}") from error


def not_there(which: Which, kafka: KafkaTable) -> CommandFailed:
    """Make the failure of a letter that was named and is not there."""
    if which.topic is None:
        return must_change(f"there is no dead letter {which.partition}/{which.offset} in {kafka.dead_letter_topic}")
    return must_change(f"there is no dead letter of {which.topic}/{which.partition}/{which.offset} in {kafka.dead_letter_topic}")


def _age(document: Mapping[str, Any]) -> tuple[int, int, int]:
    return document["time"], document["partition"], document["offset"]


def _bytes(name: str, content: bytes | None) -> dict[str, str | None]:
    try:
        return {name: None if content is None else content.decode()}
    except UnicodeDecodeError:
        return {name: None, f"{name}_base64": base64.b64encode(content or b"").decode()}
