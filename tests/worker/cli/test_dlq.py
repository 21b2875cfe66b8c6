"""`vectail dlq` on a real Kafka: what is listed and shown, what never reaches a terminal, and a replay into a Milvus Lite folder."""

import io
import json
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from consumers.record import Record
from consumers.rejection import RejectedPiece, Rejection
from producers.dead_letters import DeadLetter, envelope
from producers.envelope import mark_headers
from producers.file_lines import LineTooLarge
from sinks.line import Line
from sinks.milvus.lite import LocalMilvus
from sinks.milvus.milvus_settings import MilvusSettings
from sinks.milvus.milvus_sink import MilvusSink
from sinks.reading.between import RecordRange
from sinks.reading.reader import BlockReader
from sinks.sink import SinkRejected
from tests.model_fixture import CACHE
from tests.services.kafka import KafkaServer
from tests.services.ports import free_port
from tests.worker.cli.conftest import RunHere
from tests.worker.cli.console import EndedVerb, in_one_line
from worker.cli.dlq import read_selector
from worker.connections import vector_space
from worker.embedding.loaded import space_of
from worker.embedding.model.prepared import PreparedModel
from worker.indexing.dead_letter_reasons import TOO_MANY_CHUNKS, letter_of, refused_by_sink
from worker.inspecting.letter_filter import LetterFilter, LetterSelector
from worker.inspecting.stored_dead_letters import read_dead_letter
from worker.settings.settings import Settings
from worker.settings.tables import EngineTable, ModelTable

NOW_MS = int(time.time() * 1000)
HOUR_MS = 3_600_000
THREE = b'[{"message": "one"}, {"message": "two"}, {"message": "three"}]'
NASTY = "\x1b[31mred\x07 \u202eback\x9b1m\rover\ttab\nsecond line".encode() + b"\xff\x1b"
Dlq = Callable[..., EndedVerb]


def before_now(*, minutes: int) -> str:
    """Return the time this many minutes before `NOW_MS`, in ISO 8601."""
    return datetime.fromtimestamp(NOW_MS / 1000 - 60 * minutes, UTC).isoformat()


def letters() -> list[tuple[int, int, DeadLetter]]:
    """Return partition, age in hours and letter, in order: offsets 0 to 2 of partition 0, then 0 and 1 of partition 1."""
    cut = LineTooLarge(file="big.log", number=3, size_bytes=2_000_000, sha256="00", head=b"head of it")
    forged = (("\x1b]0;title\x07", NASTY), ("vectail.reason", b"forged"), ("none", None))
    refused, poison = refused_by_sink(SinkRejected("no")), Rejection("embed", "rejected", "poison")
    not_utf8, nasty = (Rejection("decode", "undecodable", f"undecodable: {why}") for why in ("not valid UTF-8", "\x1b[31mred"))
    return [
        (0, 5, letter_of(_record("logs", 3, b"caf\xe9 closed"), not_utf8, ())),
        (0, 4, letter_of(_record("logs", 5, THREE), refused, [RejectedPiece(0, 0, refused), RejectedPiece(2, 0, poison)])),
        (0, 3, DeadLetter.too_large(cut, topic="logs", time_ms=NOW_MS)),
        (1, 2, letter_of(_record("other", 8, NASTY)._replace(headers=forged, key=b"\x1b[2J"), nasty, ())),
        (1, 1, letter_of(_record("logs", 4, b"done"), TOO_MANY_CHUNKS, [RejectedPiece(0, 0, TOO_MANY_CHUNKS)])),
    ]


def _record(topic: str, offset: int, value: bytes) -> Record:
    return Record(topic, 1, offset, "e7", NOW_MS - HOUR_MS, b"key", value, ())


def post(kafka: KafkaServer, name: str) -> str:
    """Post the letters, then somebody else's record in partition 0, and the mark of 1/1 behind it. Returns the topic's name."""
    kafka.create_topic(name, 2)
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "log_level": 0})
    for partition, hours, letter in letters():
        shaped = envelope(letter, version="1.2", max_bytes=1_000_000)
        time_ms = NOW_MS - hours * HOUR_MS
        producer.produce(name, shaped.value, shaped.key, partition, headers=[*shaped.headers], timestamp=time_ms)
    producer.produce(name, b"not ours", partition=0)
    producer.produce(name, None, partition=1, headers=[*mark_headers(1, 1, (), version="1.2")])
    assert producer.flush(30) == 0
    return name


@pytest.fixture(scope="module")
def topic(kafka: KafkaServer) -> str:
    """A topic with the letters, for tests that leave them as they are."""
    return post(kafka, f"dead-{time.time_ns()}")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "milvus"


@pytest.fixture
def dlq(kafka: KafkaServer, topic: str, folder: Path, tmp_path: Path, run_here: RunHere) -> Dlq:
    """Run `vectail dlq` on the letters and an index in `folder`; takes the words after `dlq`."""
    config = tmp_path / "vectail.toml"
    config.write_text(f'[kafka]\nbootstrap_servers = "{kafka.bootstrap}"\ndead_letter_topic = "{topic}"\n[milvus]\nuri = "{folder}"\n')
    return lambda *words: run_here("dlq", *words, "-c", str(config))


@pytest.fixture
def own_letters(kafka: KafkaServer, unique: Callable[[str], str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the settings name a topic that only this test has."""
    monkeypatch.setenv("VECTAIL_KAFKA__DEAD_LETTER_TOPIC", post(kafka, unique("dead")))


@pytest.fixture
def index(folder: Path, prepared_model: PreparedModel) -> Callable[[], MilvusSink]:
    """Make an empty index and return a function that opens it."""
    settings = Settings(milvus=MilvusSettings(uri=str(folder)), model=ModelTable(cache=CACHE), engine=EngineTable(name="llama"))

    def opened() -> MilvusSink:
        sink = MilvusSink(settings.milvus, vector_space(space_of(prepared_model)))
        sink.open()
        return sink

    opened().close()
    return opened


def lines_of(index: Callable[[], MilvusSink], topic: str) -> list[Line]:
    """Return what readers get of partition 1."""
    sink = index()
    try:
        found = BlockReader(sink).lines_between(RecordRange(topic, 1, 0, 100), strong=True)
    finally:
        sink.close()
    assert found.complete
    return sorted(found.lines)


def listed(dlq: Dlq, *words: str) -> Any:  # noqa: ANN401 - JSON
    ended = dlq("ls", "--json", *words)
    assert (ended.exit_code, ended.err) == (0, "")
    return json.loads(ended.out)


def which(found: dict[str, Any]) -> list[str]:
    return [f"{one['partition']}/{one['offset']}" for one in found["newest"]]


def test_letters_are_counted_by_reason_and_topic_and_the_newest_come_first(dlq: Dlq, topic: str) -> None:
    found = listed(dlq)
    assert (found["topic"], found["letters"], found["replayed"]) == (topic, 4, 1)
    assert which(found) == ["1/0", "0/2", "0/1", "0/0"]
    assert {(group["reason"], group["topic"]): group["letters"] for group in found["kinds"]} == {
        ("undecodable", "logs"): 1,
        ("undecodable", "other"): 1,
        ("too_large", "logs"): 1,
        ("refused by the sink", "logs"): 1,
    }
    (group,) = (group for group in found["kinds"] if group["topic"] == "other")
    assert (group["first"], group["last"]) == (NOW_MS - 2 * HOUR_MS,) * 2
    two_pieces = found["newest"][2]
    assert (two_pieces["stage"], two_pieces["pieces"], two_pieces["bytes"], two_pieces["replayed"]) == ("store", 2, len(THREE), False)
    assert two_pieces["time"] == NOW_MS - 4 * HOUR_MS
    assert two_pieces["record"] == {"topic": "logs", "partition": 1, "offset": 5, "epoch": "e7", "time": NOW_MS - HOUR_MS}
    assert [one["pieces"] for one in found["newest"]] == [None, None, 2, None]
    assert [bool(one["not_replayable"]) for one in found["newest"]] == [False, True, False, False]


@pytest.mark.parametrize(
    ("letter_filter", "wanted"),
    [
        (LetterFilter(), [0, 1, 2, 3, 4]),
        (LetterFilter(reason="UNDECOD"), [0, 3]),
        (LetterFilter(reason="poison"), [1]),
        (LetterFilter(topic="other"), [3]),
        (LetterFilter(topic="logs", reason="undecodable"), [0]),
        (LetterFilter(selectors=(LetterSelector(None, 0, 1), LetterSelector("logs", 1, 4))), [1, 4]),
        (LetterFilter(selectors=(LetterSelector(None, 0, 1),), reason="undecodable"), []),
    ],
)
def test_letters_are_chosen_by_all_that_is_given(letter_filter: LetterFilter, wanted: list[int]) -> None:
    chosen = []
    for n, (partition, _, letter) in enumerate(letters()):
        shaped = envelope(letter, version="1", max_bytes=1_000_000)
        stored = read_dead_letter(Record("dead", partition, n % 3, "", 0, shaped.key, shaped.value, tuple(shaped.headers)))
        assert stored is not None
        chosen += [n] if letter_filter.matches(stored) else []
    assert chosen == wanted


def test_those_of_a_span_are_listed_and_the_newest_of_them_shown(dlq: Dlq) -> None:
    assert which(listed(dlq, "--since", before_now(minutes=210), "--topic", "logs")) == ["0/2"]
    found = listed(dlq, "--since", before_now(minutes=270), "--all", "-k", "2")
    assert which(found) == ["1/1", "1/0"]
    assert sum(group["letters"] for group in found["kinds"]) == 4


def no_control_character(out: str) -> bool:
    return all(character.isprintable() or character == "\n" for character in out)


def test_a_person_sees_a_table(dlq: Dlq, topic: str) -> None:
    ended = dlq("ls", "--all")
    lines = ended.out.splitlines()
    assert lines[0] == f"4 dead letters in {topic}; 1 replayed:"
    assert [line.split()[0] for line in lines[-6:]] == ["which", "1/1", "1/0", "0/2", "0/1", "0/0"]
    assert "replayed: too_many_chunks" in lines[-5]
    assert lines[-1].split(maxsplit=6)[4:] == ["all", "11", "undecodable: not valid UTF-8"]
    assert "logs/1/5" in lines[-2]
    assert "logs (never a record)" in lines[-3]
    assert no_control_character(ended.out)


def test_one_letter_is_shown_whole_and_nothing_of_it_moves_the_cursor(dlq: Dlq) -> None:
    ended = dlq("show", "1/0")
    assert (ended.exit_code, ended.err) == (0, "")
    assert no_control_character(ended.out)
    assert "\\x1b[31mred\\x07 \\u202eback\\x9b1m\\rover\\ttab\nsecond line\\xff\\x1b" in ended.out
    assert "\\x1b]0;title\\x07: \\x1b[31mred" in ended.out
    for header in ("vectail.epoch: e7", "__connect.errors.offset: 8", "none: null", "vectail.reason: forged", "vectail.version: 1.2"):
        assert f"  {header}\n" in ended.out
    assert "key: \\x1b[2J\n" in ended.out


def test_pieces_of_a_letter_are_shown(dlq: Dlq) -> None:
    ended = dlq("show", "logs/1/5")
    assert "2 pieces were rejected:\n  entry 0 chunk 0  refused by the sink: no\n  entry 2 chunk 0  poison\n" in ended.out


@pytest.mark.parametrize("named", ["1/0", "other/1/8"])
def test_a_letter_is_found_by_its_own_coordinates_or_those_of_its_record(dlq: Dlq, named: str) -> None:
    shown = json.loads(dlq("show", named, "--json").out)
    assert (shown["partition"], shown["offset"], shown["record"]["topic"]) == (1, 0, "other")
    assert shown["headers"][2] == {"name": "none", "value": None}
    assert (shown["value"], shown["key"]) == (None, "\x1b[2J")
    assert shown["value_base64"]


def test_a_replayed_letter_is_shown_as_replayed(dlq: Dlq) -> None:
    assert "replayed     yes\n" in dlq("show", "1/1").out
    assert json.loads(dlq("show", "1/1", "--json").out)["replayed"] is True


def test_raw_is_the_value_byte_for_byte(dlq: Dlq, monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written))
    dlq("show", "1/0", "--raw")
    assert written.getvalue() == NASTY


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("show", "0/3"), "there is no dead letter 0/3 in "),
        (("show", "1/2"), "there is no dead letter 1/2 in "),
        (("show", "logs/1/6"), "there is no dead letter of logs/1/6 in "),
        (("show", "logs"), "'logs': give PARTITION/OFFSET"),
        (("show", "1/0", "--raw", "--json"), "--raw or --json"),
        (("replay", "1/9", "--yes"), "there is no dead letter 1/9 in "),
        (("replay", "--yes"), "holds no index yet"),
        (("ls", "--since", "soon"), "--since 'soon'"),
    ],
)
def test_what_the_user_must_change_is_one_line(dlq: Dlq, words: tuple[str, ...], says: str) -> None:
    ended = dlq(*words)
    assert ended.exit_code == 2
    assert says in in_one_line(ended)


def test_a_topic_or_a_broker_that_is_not_there_is_one_line(dlq: Dlq, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VECTAIL_KAFKA__DEAD_LETTER_TOPIC", "nowhere-at-all")
    ended = dlq("ls")
    assert ended.exit_code == 2
    assert in_one_line(ended).startswith("topic nowhere-at-all does not exist")
    ended = dlq("ls", "--bootstrap-servers", f"127.0.0.1:{free_port()}", "--patience", "0.5")
    assert ended.exit_code == 1
    assert in_one_line(ended).startswith("kafka at 127.0.0.1:")


def test_nothing_is_replayed_unless_that_is_confirmed(dlq: Dlq) -> None:
    ended = dlq("replay")
    assert ended.exit_code == 2
    assert ended.out.splitlines() == [
        "1 letter of topics that these settings do not read: not replayed (--topic replays them)",
        "3 dead letters would be replayed (1 replayed already).",
    ]
    assert "--yes" in in_one_line(ended)
    assert json.loads(dlq("replay", "--json").out)["changed"] is False
    assert len(which(listed(dlq))) == 4


@pytest.mark.usefixtures("index")
def test_a_folder_that_a_worker_holds_is_one_line(dlq: Dlq, folder: Path) -> None:
    held = LocalMilvus(folder)
    try:
        ended = dlq("replay", "--yes")
    finally:
        held.close()
    assert ended.exit_code == 2
    assert in_one_line(ended).endswith("is in use by another process")


@pytest.mark.usefixtures("own_letters")
def test_a_replay_stores_what_can_be_stored_and_leaves_the_rest(dlq: Dlq, index: Callable[[], MilvusSink]) -> None:
    first = dlq("replay", "--yes", "--json")
    assert first.exit_code == 0, first.err
    done = json.loads(first.out)
    assert (done["letters"], done["replayed"], done["already_replayed"], done["lines"], done["left"]) == (3, 2, 1, 3, 0)
    assert done["of_other_topics"] == 1
    assert sum(done["not_replayable"].values()) == 1
    lines = lines_of(index, "logs")
    assert [line.id for line in lines] == ["logs@e7/1/3/0/0", "logs@e7/1/5/0/0", "logs@e7/1/5/2/0"]
    assert [line.text for line in lines] == ["caf\ufffd closed", "one", "three"]
    assert {line.time for line in lines} == {NOW_MS - HOUR_MS}
    assert lines_of(index, "other") == []

    assert which(listed(dlq)) == ["1/0", "0/2"]
    second = dlq("replay", "--yes")
    assert second.exit_code == 0
    assert "1 letter of topics that these settings do not read: not replayed" in second.out
    assert "0 of 1 dead letter replayed (3 replayed already): 0 lines and 0 templates stored." in second.out
    assert "1 letter cannot be replayed: a line that never became a record: feed it again" in second.out
    named = dlq("replay", "0/2", "--yes")
    assert named.exit_code == 1
    assert in_one_line(named) == "1 dead letter could not be replayed"
    assert "Nothing to replay (1 replayed already)." in dlq("replay", "0/0", "--yes").out
    assert dlq("replay", "--topic", "other", "--yes").exit_code == 0
    assert lines_of(index, "logs") == lines
    assert len(lines_of(index, "other")) == 1


@pytest.mark.parametrize(
    ("text", "wanted"),
    [("0/17", LetterSelector(None, 0, 17)), (" a.b/3@4 ", LetterSelector("a.b", 3, 4)), ("a/3/4", LetterSelector("a", 3, 4))],
)
def test_a_letter_can_be_named_in_two_ways(text: str, wanted: LetterSelector) -> None:
    assert read_selector(text) == wanted
