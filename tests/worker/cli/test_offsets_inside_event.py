"""`vectail offsets reset` and `run --from` to an offset inside a stored event of several records, on a real Kafka and Milvus Lite."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sinks.milvus.milvus_sink import MilvusSink
from tests.services.kafka import KafkaServer
from tests.worker.cli.conftest import RunHere
from tests.worker.cli.log_group import LogGroup
from tests.world import block, line
from worker.cli.run import move_log_group
from worker.connections import vector_space
from worker.embedding.loaded import model_of, space_of
from worker.runtime.logs import configure_logs
from worker.watching.group_offsets import Target

NOT_ASKED = "inside a stored event, the worker itself begins at the event's first record"


class Place:
    """A group, and the index of its folder.

    Thread: the test's.
    """

    def __init__(self, group: LogGroup) -> None:
        self.group = group
        self.reset = group.reset
        self.settings = group.settings

    @contextmanager
    def index(self) -> Iterator[MilvusSink]:
        """Yield the open index: nobody else can open it."""
        sink = MilvusSink(self.settings.milvus, vector_space(space_of(model_of(self.settings))), consumer_group=self.group.name)
        sink.open()
        try:
            yield sink
        finally:
            sink.close()

    def store(self, *events: tuple[int, int]) -> None:
        """Store the line of an event for each pair of its first offset and its number of records."""
        with self.index() as sink:
            lines = [line(first, topic=self.group.name, epoch="e1", records=records) for first, records in events]
            sink.write_blocks([block(lines)])

    def committed(self) -> int | None:
        return self.group.committed()[0]


@pytest.fixture
def place(kafka: KafkaServer, unique: Callable[[str], str], tmp_path: Path, run_here: RunHere) -> Place:
    return Place(LogGroup(kafka, unique("logs"), tmp_path, run_here, partitions=1))


def in_one_piece(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize(("to", "earlier"), [("5", "2 records"), ("4", "1 record"), ("2023-11-14T22:13:25", "2 records")])
def test_a_reset_inside_a_stored_event_goes_to_its_first_record_and_says_so(place: Place, to: str, earlier: str) -> None:
    place.store((2, 1), (3, 4), (7, 1))
    ended = place.reset(to)
    assert (ended.exit_code, ended.err) == (0, "")
    asked = 4 if to == "4" else 5
    assert f"{place.group.name}/0: {earlier} earlier: offset {asked} is inside a stored event that begins at 3" in in_one_piece(ended.out)
    assert place.committed() == 3


def test_while_another_process_has_the_index_the_reset_goes_on(place: Place) -> None:
    place.store((3, 4))
    with place.index():
        ended = place.reset("5")
    assert (ended.exit_code, ended.err) == (0, "")
    assert NOT_ASKED in in_one_piece(ended.out)
    assert place.committed() == 5


def test_without_an_index_the_reset_goes_on(place: Place) -> None:
    done = json.loads(place.reset("5", "--json").out)
    assert (done["changed"], done["partitions"][0]["to"]) == (True, 5)
    assert done["index_not_asked"].endswith("holds no index yet")


def test_as_json_it_says_what_was_asked_for(place: Place) -> None:
    place.store((3, 4))
    done = json.loads(place.reset("5", "--json").out)
    moved = {"topic": place.group.name, "partition": 0, "from": None, "to": 3, "again_records": 0, "skipped_records": 3}
    assert (done["index_not_asked"], done["partitions"]) == (None, [moved | {"inside_event": {"offset": 5, "first_offset": 3}}])


@pytest.mark.parametrize("words", [("earliest",), ("latest",), ("5", "--queries")])
def test_an_end_or_the_query_group_needs_no_index(place: Place, words: tuple[str, ...]) -> None:
    place.group.kafka.create_topic(f"{place.group.name}-queries", partitions=1)
    place.group.produce(10, f"{place.group.name}-queries")
    ended = place.reset(*words)
    assert (ended.exit_code, ended.err) == (0, "")
    assert NOT_ASKED not in in_one_piece(ended.out)


def test_run_from_goes_back_in_the_same_way_and_logs_it(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    place.store((3, 4))
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
