"""`vectail offsets reset` and `run --from` to an offset inside a stored event of several records, on a real Kafka and Milvus Lite."""

import json
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from sinks.line import Line
from sinks.milvus.sink import MilvusSink
from tests.log_topics import topic_line
from tests.services.kafka import KafkaServer
from tests.worker.cli.conftest import WAIT_S
from tests.worker.cli.console import EndedVerb
from tests.world import block, line
from tests.world import run as run_id
from worker.cli.app import run_app
from worker.cli.offsets_commands import positions_app
from worker.cli.run import move_log_group
from worker.connections import vector_space
from worker.embedding.loaded import model_of, space_of
from worker.embedding.model.prepared import PreparedModel
from worker.groups.offsets import Target
from worker.runtime.logs import configure_logs
from worker.settings.settings import Settings, load_settings

NOT_ASKED = "inside a stored event, the worker itself begins at the event's first record"


class Place:
    """A log topic and a query topic, each with the offsets 0 to 9 in its one partition, groups that have committed nothing, and a folder.

    Thread: the test's.
    """

    def __init__(self, kafka: KafkaServer, name: str, folder: Path, run_verb: Callable[..., EndedVerb]) -> None:
        self.topic = name
        self._bootstrap = kafka.bootstrap
        self._run_verb = run_verb
        producer = Producer({"bootstrap.servers": kafka.bootstrap, "log_level": 0})
        for topic in (name, f"{name}-queries"):
            kafka.create_topic(topic, partitions=1)
            for number in range(10):
                producer.produce(topic, b"a", partition=0, timestamp=1_700_000_000_000 + 1_000 * number)
        assert producer.flush(WAIT_S) == 0
        self.config = folder / "vectail.toml"
        names = f'group = "{name}"\ntopic_epoch = "e1"\nquery_topic = "{name}-queries"\nquery_group = "{name}-queries"\n'
        self.config.write_text(
            f'{topic_line(name)}[kafka]\nbootstrap_servers = "{kafka.bootstrap}"\n{names}[milvus]\nuri = "{folder / "milvus"}"\n'
        )

    @property
    def settings(self) -> Settings:
        return load_settings(self.config)

    @contextmanager
    def index(self) -> Iterator[MilvusSink]:
        """Yield the open index: nobody else can open it."""
        settings = self.settings
        sink = MilvusSink(settings.milvus, vector_space(space_of(model_of(settings))), consumer_group=self.topic)
        sink.open()
        try:
            yield sink
        finally:
            sink.close()

    def store(self, *lines: Line, run: int = 1) -> None:
        with self.index() as sink:
            sink.write_blocks([block(lines, run_id(run))])

    def line(self, offset: int, records: int = 1, epoch: str = "e1") -> Line:
        return line(offset, topic=self.topic, epoch=epoch, records=records)

    def delete_before(self, offset: int) -> None:
        admin = AdminClient({"bootstrap.servers": self._bootstrap, "log_level": 0})
        place = TopicPartition(self.topic, 0, offset)
        assert admin.delete_records([place])[place].result().low_watermark == offset

    def reset(self, to: str, *words: str) -> EndedVerb:
        return self._run_verb("offsets", "reset", "--to", to, "--yes", *words, "-c", str(self.config))

    def committed(self, *words: str) -> int | None:
        shown = json.loads(self._run_verb("offsets", "show", "--json", *words, "-c", str(self.config)).out)
        found: int | None = shown["partitions"][0]["committed"]
        return found


@pytest.fixture
def place(
    kafka: KafkaServer,
    unique: Callable[[str], str],
    tmp_path: Path,
    prepared_model: PreparedModel,  # noqa: ARG001 - so that it need not be prepared here
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Place:
    def run_verb(*words: str) -> EndedVerb:
        monkeypatch.setattr(sys, "argv", ["vectail", *words])
        exit_code = run_app(positions_app)
        return EndedVerb(exit_code, *capsys.readouterr())

    return Place(kafka, unique("logs"), tmp_path, run_verb)


def in_one_piece(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize(("to", "earlier"), [("5", "2 records"), ("4", "1 record"), ("2023-11-14T22:13:25", "2 records")])
def test_a_reset_inside_a_stored_event_goes_to_its_first_record_and_says_so(place: Place, to: str, earlier: str) -> None:
    place.store(place.line(2), place.line(3, records=4), place.line(7))
    ended = place.reset(to)
    assert (ended.exit_code, ended.err) == (0, "")
    asked = 4 if to == "4" else 5
    assert f"{place.topic}/0: {earlier} earlier: offset {asked} is inside a stored event that begins at 3" in in_one_piece(ended.out)
    assert place.committed() == 3


def test_as_json_it_says_what_was_asked_for(place: Place) -> None:
    place.store(place.line(3, records=4))
    done = json.loads(place.reset("5", "--json").out)
    assert done["index_not_asked"] is None
    assert done["partitions"] == [
        {
            "topic": place.topic,
            "partition": 0,
            "from": None,
            "to": 3,
            "again_records": 0,
            "skipped_records": 3,
            "inside_event": {"offset": 5, "first_offset": 3},
        }
    ]


@pytest.mark.parametrize("to", [3, 7])
def test_a_reset_between_two_events_goes_where_it_was_asked_to(place: Place, to: int) -> None:
    place.store(place.line(3, records=4), place.line(7, records=2))
    ended = place.reset(str(to))
    assert (ended.exit_code, ended.err) == (0, "")
    assert "earlier" not in ended.out
    assert place.committed() == to


def test_where_kafka_does_not_hold_the_first_record_any_more_it_goes_to_the_first_that_is_there(place: Place) -> None:
    place.store(place.line(3, records=4))
    place.delete_before(4)
    assert "1 record earlier: offset 5 is inside a stored event that begins at 3" in in_one_piece(place.reset("5").out)
    assert place.committed() == 4


def test_while_another_process_has_the_index_the_reset_goes_on(place: Place) -> None:
    place.store(place.line(3, records=4))
    with place.index():
        ended = place.reset("5")
    assert (ended.exit_code, ended.err) == (0, "")
    assert NOT_ASKED in in_one_piece(ended.out)
    assert place.committed() == 5


def test_without_an_index_the_reset_goes_on(place: Place) -> None:
    done = json.loads(place.reset("5", "--json").out)
    assert (done["changed"], done["partitions"][0]["to"]) == (True, 5)
    assert done["index_not_asked"].endswith("holds no index yet")


@pytest.mark.parametrize("words", [("earliest",), ("latest",), ("5", "--queries")])
def test_an_end_or_the_query_group_needs_no_index(place: Place, words: tuple[str, ...]) -> None:
    ended = place.reset(*words)
    assert (ended.exit_code, ended.err) == (0, "")
    assert NOT_ASKED not in in_one_piece(ended.out)


def test_run_from_goes_back_in_the_same_way_and_logs_it(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    place.store(place.line(3, records=4))
    configure_logs()
    move_log_group(place.settings, Target("offset", 5), threading.Event())
    (moved,) = [json.loads(one) for one in capsys.readouterr().err.splitlines() if "moved by --from" in one]
    assert (moved["to"], moved["asked"]) == (3, 5)
    assert place.committed() == 3


def test_run_from_goes_on_without_an_index_and_says_so(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs()
    move_log_group(place.settings, Target("offset", 5), threading.Event())
    assert NOT_ASKED in capsys.readouterr().err
    assert place.committed() == 5
