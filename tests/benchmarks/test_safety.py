"""`benchmarks.safety`: both sides index every record, and differ in who commits and who reads back, and in nothing else."""

from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition

from benchmarks.safety import figures_of, filled_topic, measure, show_table
from benchmarks.safety_run import Ran
from benchmarks.safety_sides import NOTHING, WithoutResume
from sinks.milvus.sink import MilvusSettings, MilvusSink, VectorSpace
from sinks.reading.reader import BlockReader
from sinks.sink import BlockFilter
from tests.model_fixture import CACHE
from tests.services.mock_kafka import PARTITIONS
from worker.embedding.loaded import model_of, space_of
from worker.settings.settings import Settings

RECORDS = 200


@pytest.fixture(autouse=True)
def _model_is_prepared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VECTAIL_MODEL__CACHE", str(CACHE))


def committed(settings: Settings, group: str) -> int:
    client = Consumer({"bootstrap.servers": settings.kafka.bootstrap_servers, "group.id": group})
    try:
        places = client.committed([TopicPartition("logs", partition) for partition in range(PARTITIONS)], timeout=10)
        return sum(max(place.offset, 0) for place in places)
    finally:
        client.close()


def ids(folder: Path, settings: Settings) -> list[str]:
    """Return the ids of all lines in a folder."""
    space = space_of(model_of(settings))
    sink = MilvusSink(
        MilvusSettings(uri=str(folder), collection=settings.milvus.collection), VectorSpace(space.dim, space.id), consumer_group="benchmark"
    )
    sink.open(create=False)
    found = [line.id for partition in range(PARTITIONS) for line in BlockReader(sink).lines_between("logs", partition, 0, RECORDS).lines]
    sink.close()
    return found


@pytest.mark.process
def test_both_sides_store_everything_and_differ_in_who_commits(tmp_path: Path) -> None:
    with filled_topic(RECORDS) as settings:
        (ran,) = measure(settings, tmp_path, lines=RECORDS, rounds=1)
        (safe, _), (unsafe, _) = ran[True], ran[False]
        # The unsafe side's client has committed all the same.
        assert [committed(settings, one.group) for one in (safe, unsafe)] == [RECORDS, RECORDS]
    assert (safe.lines, unsafe.lines) == (RECORDS, RECORDS)
    assert (safe.committed, unsafe.committed) == (RECORDS, 0)
    assert min(safe.wall_s, safe.cpu_s, unsafe.wall_s, unsafe.cpu_s) > 0

    for side in ("safe", "unsafe"):
        found = ids(tmp_path / f"0-{side}-0", settings)
        assert len(set(found)) == len(found) == RECORDS


def test_the_unsafe_side_is_not_told_what_is_stored(tmp_path: Path) -> None:
    sink = WithoutResume(MilvusSettings(uri=str(tmp_path / "index")), VectorSpace(4, "space"), consumer_group="benchmark")
    assert sink.find_blocks(BlockFilter(("logs",), "e1", 0, 0, 100), strong=True) is NOTHING


def test_shares_are_taken_within_a_round() -> None:
    def ran(wall_s: float, cpu_s: float) -> Ran:
        return Ran(wall_s=wall_s, cpu_s=cpu_s, lines=100, committed=0, group="")

    rounds = [
        {True: [ran(6.0, 1.0), ran(5.0, 1.0)], False: [ran(8.0, 1.0), ran(2.0, 1.0)]},
        {True: [ran(20.0, 2.0), ran(10.0, 1.0)], False: [ran(10.0, 1.0), ran(10.0, 1.0)]},
        {True: [ran(2.0, 0.5), ran(2.0, 0.5)], False: [ran(2.5, 1.0), ran(2.5, 1.0)]},
    ]
    figures = figures_of(rounds, 100)
    assert next(iter(figures)) == "cost_share"
    assert figures["cost_share"] == pytest.approx(0.1)
    assert figures["cost_share_rounds"] == pytest.approx([-0.2, 0.1, 0.5])
    assert figures["cpu_cost_share_rounds"] == pytest.approx([-0.5, 0.0, 0.5])
    assert figures["fastest_cost_share"] == pytest.approx(0.0)
    assert (figures["safe_lines_per_s"], figures["unsafe_lines_per_s"]) == (18, 19)

    shown: list[str] = []
    show_table(figures, shown.append)
    assert shown[2].split()[-3:] == ["10.0%", "-20.0%", "50.0%"]
