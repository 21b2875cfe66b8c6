"""`vectail dlq ls` and `show`: finds dead letters by what a person knows about them; `dlq replay` chooses its letters the same way.

Needs only Kafka. The functions return what `--json` prints.
"""

import base64
import heapq
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from typing import TypedDict

from consumers.groupless.groupless_reader import GrouplessReader, RangeUnreadable, TopicUnknown
from consumers.kafka.source_settings import SourceMisconfigured
from consumers.source import KafkaRefused
from worker.asking.places import RecordPlace
from worker.cli.absent_server import REACH_S, kafka_unread
from worker.cli.exits import CommandFailed, user_error
from worker.inspecting.letter_advice import deciding_setting, obstacle_of, way_back
from worker.inspecting.letter_filter import LetterFilter, LetterSelector, parse_selector
from worker.inspecting.newest_dead_letters import read_newest_letters
from worker.inspecting.stored_dead_letters import DeadLetters, StoredDeadLetter
from worker.settings.tables import KafkaTable


class LetterRecordJson(TypedDict):
    """The record of a letter."""

    topic: str
    partition: int | None
    offset: int | None
    epoch: str
    time: int


class StoredLetterJson(TypedDict):
    """A letter without its bytes; `pieces` is null if the whole record was rejected.

    `setting` decides whether such a record is rejected; `way_back` says how a letter is replayed that does not hold all of its record.
    """

    partition: int
    offset: int
    time: int
    reason: str
    stage: str
    pieces: int | None
    bytes: int
    record: LetterRecordJson
    replayed: bool
    partly_replayed: bool
    not_replayable: str
    setting: str
    way_back: str


class LetterKindJson(TypedDict):
    """The letters of one reason and topic."""

    reason: str
    topic: str
    letters: int
    first: int
    last: int


class ListedLettersJson(TypedDict):
    """What `vectail dlq ls --json` prints."""

    topic: str
    letters: int
    replayed: int
    kinds: list[LetterKindJson]
    newest: list[StoredLetterJson]


def read_selector(text: str) -> LetterSelector:
    """Read `PARTITION/OFFSET` or `TOPIC/PARTITION/OFFSET`. Raises CommandFailed."""
    try:
        return parse_selector(text)
    except ValueError:
        raise user_error(f"{text!r}: give PARTITION/OFFSET as `dlq ls` shows it, or TOPIC/PARTITION/OFFSET of the record") from None


def list_letters(kafka: KafkaTable, letter_filter: LetterFilter, *, newest: int, replayed_too: bool) -> ListedLettersJson:
    """Return the number of letters by reason and topic, and the newest letters. Raises CommandFailed."""
    states: Counter[bool] = Counter()
    groups: dict[tuple[str, str], LetterKindJson] = {}

    def counted_letters(letters: DeadLetters) -> Iterator[StoredLetterJson]:
        for letter in filter(letter_filter.matches, letters):
            states[letter.is_replayed] += 1
            if not letter.is_replayed or replayed_too:
                key = (letter.reason_heading, letter.topic)
                time_ms = letter.letter.time_ms
                group = groups.setdefault(key, {"reason": key[0], "topic": key[1], "letters": 0, "first": time_ms, "last": 0})
                group["letters"] += 1
                group["first"], group["last"] = min(group["first"], time_ms), max(group["last"], time_ms)
                yield letter_document(letter)

    with open_reader(kafka) as reader:
        found = heapq.nlargest(newest, counted_letters(letter_filter.read_letters(reader, kafka)), key=_age)
    return {
        "topic": kafka.dead_letter_topic,
        "letters": states[False],
        "replayed": states[True],
        "kinds": sorted(groups.values(), key=lambda group: -group["letters"]),
        "newest": found,
    }


def find_letter(kafka: KafkaTable, letter_filter: LetterFilter) -> StoredDeadLetter:
    """Return the chosen letter; the last one if a record has several. Raises CommandFailed."""
    with open_reader(kafka) as reader:
        found = None
        for letter in letter_filter.read_letters(reader, kafka):
            if letter_filter.matches(letter) and (found is None or letter.letter.time_ms >= found.letter.time_ms):
                found = letter
    if found is None:
        raise no_such_letter(letter_filter.selectors[0], kafka)
    return found


def letter_of_record(kafka: KafkaTable, place: RecordPlace) -> StoredLetterJson | None:
    """Return the newest letter of a record, if it is found within some seconds. Raises CommandFailed."""
    with open_reader(kafka) as reader:
        try:
            newest = read_newest_letters(reader, kafka.dead_letter_topic, limit=1, of=place).newest
        except TopicUnknown:
            return None
    return letter_document(*newest[0]) if newest else None


def letter_document(letter: StoredDeadLetter, obstacle: str | None = None) -> StoredLetterJson:
    """Return a letter without its bytes; `obstacle` is its own, unless only the beginning of it was kept."""
    obstacle = letter.obstacle if obstacle is None else obstacle
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
        "not_replayable": obstacle_of(obstacle),
        "setting": deciding_setting(letter),
        "way_back": way_back(letter, obstacle),
    }


def whole_letter(letter: StoredDeadLetter) -> dict[str, object]:
    """Return a letter with its bytes; base64 where they are not UTF-8."""
    pieces = [{"sub": sub, "chunk": chunk, "reason": reason} for sub, chunk, reason in letter.pieces]
    return {
        **letter_document(letter),
        "rejected": pieces,
        "headers": [{"name": name, **_bytes("value", content)} for name, content in letter.letter.headers],
        **_bytes("key", letter.letter.key),
        **_bytes("value", letter.letter.value),
    }


@contextmanager
def open_reader(kafka: KafkaTable) -> Iterator[GrouplessReader]:
    """Yield a client. Raises CommandFailed for what Kafka refuses or does not answer inside the block."""
    try:
        with closing(GrouplessReader(kafka.bootstrap_servers, kafka.librdkafka, topic_epoch="")) as reader:
            with suppress(TopicUnknown):  # said by a broker that is there
                reader.partitions([kafka.dead_letter_topic], REACH_S)
            yield reader
    except (SourceMisconfigured, KafkaRefused) as error:
        raise user_error(error) from error
    except RangeUnreadable as error:
        raise kafka_unread(kafka.bootstrap_servers, error) from error


def no_such_letter(selector: LetterSelector, kafka: KafkaTable) -> CommandFailed:
    """Return the failure for a named letter that does not exist."""
    of = "" if selector.topic is None else "of "
    return user_error(f"there is no dead letter {of}{selector} in {kafka.dead_letter_topic}")


def _age(document: StoredLetterJson) -> tuple[int, int, int]:
    return document["time"], document["partition"], document["offset"]


def _bytes(name: str, content: bytes | None) -> dict[str, str | None]:
    try:
        return {name: None if content is None else content.decode()}
    except UnicodeDecodeError:
        return {name: None, f"{name}_base64": base64.b64encode(content or b"").decode()}
