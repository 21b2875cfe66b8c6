"""A side that does other work than was asked for, or less, ends its benchmark: there are no figures of it."""

from collections.abc import Callable
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import cast

import numpy as np
import pytest
from confluent_kafka import Consumer, TopicPartition
from numpy.typing import NDArray

from benchmarks import decode
from benchmarks.by_hand import Contest, Sides, check_vectors
from benchmarks.by_hand_corpora import CORPORA, Corpus, Sizes, corpora
from benchmarks.by_hand_turns import Plan, Rows, Side, SideFailed, Turn, keep_vectors
from benchmarks.decode import sides_of
from benchmarks.gpu_worker_turns import TextSink, run_turn
from benchmarks.growth_topics import Point
from benchmarks.growth_turns import Ran
from benchmarks.growth_turns import check as check_growth
from benchmarks.page import summed
from benchmarks.poll_to_ready import YEARS, check_years
from benchmarks.race import Wrong
from benchmarks.rivals.own_process import OwnProcess
from benchmarks.rivals.own_process import Turn as Embedded
from benchmarks.safety_sides import made_up_model
from benchmarks.search_growth import seconds_to_reopen
from benchmarks.search_growth_asker import Asker
from benchmarks.search_growth_index import START_MS, fill
from benchmarks.send import send
from benchmarks.sink import race_of as race_of_sinks
from benchmarks.sink_sides import Batch
from benchmarks.slow_topics import check as check_topics
from producers.log_feed import synthetic_lines
from sinks.sink import BlockFilter
from tests.model_fixture import CACHE
from tests.services.mock_kafka import PARTITIONS, MockKafka
from worker.settings.settings import load_settings

TINY = Sizes({"distinct": 24, "mix": 60, "steady": 400}, batched=12, naive=6)
LINES = [f"2026-01-02 03:04:{number:02d} INFO user-{number} paid {number * 1_003} cents" for number in range(60)]
RAN = Ran(
    wall_s=2.0, cpu_s=1.0, start_s=0.5, rss_bytes=300_000_000, records=100, value_bytes=1_000, blocks=1, templates=0, ages_s=[0.1],
    pauses=1, open_records=[(0.0, 0), (1.0, 80)],
)  # fmt: skip
FEW_NEW = Point("distinct", 6.25, 10_000, new_share=0.0625)


# Workers written by hand


class FakeSide:
    """Indexes what a topic has, with the right vectors; `spoil` changes the rows of one of its topics."""

    def __init__(self, lines: dict[str, Corpus], cache: dict[str, bytes], topic: str, spoil: Callable[[Rows], Rows]) -> None:
        self.warm_texts: dict[str, int] = {}
        self._lines, self._cache, self._topic, self._spoil = lines, cache, topic, spoil

    def run(self, plan: Plan) -> Turn:
        self.warm_texts[plan.topic] = len(self._cache)
        corpus, _, size = plan.topic.partition("-")
        lines = self._lines[corpus]
        texts = {"ours": sorted(lines.templates), "batched": lines.batched, "naive": lines.naive}[size]
        rows: Rows = [(text, vector_of(text)) for text in texts]
        keep_vectors(plan.folder, self._spoil(rows) if plan.topic == self._topic else rows)
        return Turn(1.0, plan.records, {})


class FakeCache(dict[str, bytes]):
    """The two commands of Redis that a race sends."""

    flushall, mset = dict.clear, dict.update


class FakeReference:
    """Embeds as `FakeSide` does."""

    def embed(self, texts: list[str]) -> Embedded:
        return Embedded(0.0, 0.0, np.array([vector_of(text) for text in texts]))


def vector_of(text: str) -> NDArray[np.float32]:
    return np.frombuffer(sha256(text.encode()).digest(), np.uint8).astype(np.float32)


def race(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, topic: str = "", spoil: Callable[[Rows], Rows] = list) -> FakeSide:
    """Run one round, in which the side of this topic does `spoil`; return the side that stands for all."""
    path = tmp_path / "app.log"
    path.write_text("\n".join([*LINES, *LINES[::2], "the disk is full"]) + "\n")
    lines, cache = corpora([str(path)], TINY), FakeCache()
    fake = FakeSide(lines, cache, topic, spoil)
    monkeypatch.setattr("benchmarks.by_hand.open_cache", lambda _url: cache)
    side = cast("Side", fake)
    Contest(Sides(side, side, side, side, "sentence", {}, {}), cast("OwnProcess", FakeReference()), lines, "", "", tmp_path).run(1)
    return fake


def spoilt(text: str) -> Callable[[Rows], Rows]:
    return lambda rows: [(one, -vector if one == text else vector) for one, vector in rows]


def test_sides_that_do_the_same_work_finish_their_round(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    side = race(tmp_path, monkeypatch)
    assert set(side.warm_texts) == {f"{corpus}-{size}" for corpus in CORPORA for size in ("ours", "batched", "naive")}
    # Only the hand-written workers find lines in Redis, and none where all are distinct.
    assert {topic for topic, texts in side.warm_texts.items() if texts} == {"steady-batched", "steady-naive"}


@pytest.mark.parametrize(
    ("topic", "spoil", "why"),
    [
        ("mix-ours", lambda rows: rows[1:], r"^mix: 1 templates are not in the index"),
        ("steady-ours", lambda _rows: [], r"^steady: 2 templates are not in the index"),
        ("distinct-naive", lambda _rows: [], r"^naive, distinct: 6 texts of 6 are not in the index"),
        ("mix-batched", lambda rows: [(rows[0][0], -rows[0][1]), *rows], r"^batched, mix: the vector of"),
        ("distinct-ours", spoilt(LINES[2]), r"^ours, distinct: the vector of"),
        ("mix-ours", lambda rows: [(text, -vector) for text, vector in rows], r"^ours, mix: the vector of"),
    ],
    ids=["a template lacks", "empty index of ours", "empty index of naive", "wrong duplicate", "only batched has it", "wrong template"],
)
def test_a_side_that_does_other_work_ends_the_race(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, topic: str, spoil: Callable[[Rows], Rows], why: str
) -> None:
    with pytest.raises(Wrong, match=why):
        race(tmp_path, monkeypatch, topic, spoil)


@pytest.mark.parametrize("vector", [[0.9, 0.2], [0.0, 0.0], [float("nan"), 1.0]], ids=["another", "zero", "not a number"])
@pytest.mark.filterwarnings("ignore:invalid value")
def test_a_vector_in_another_direction_than_the_texts_own_is_wrong(vector: list[float]) -> None:
    kept = [("a", np.array([3.0, 0.01], np.float32)), ("b", np.array(vector, np.float32))]
    reference = {text: np.array([1.0, 0.0], np.float32) for text in "ab"}
    check_vectors("batched, mix", kept[:1], {"a": reference["a"]})
    with pytest.raises(Wrong, match="'b'"):
        check_vectors("batched, mix", kept, reference)
    with pytest.raises(Wrong, match=r"^naive, mix: there is nothing to compare$"):
        check_vectors("naive, mix", kept, {})


@pytest.mark.process
@pytest.mark.parametrize(
    ("opener", "arguments", "why"),
    [
        ("open_lacking", [1], "^side stored 4 lines of 5$"),
        ("open_nothing", [Path(), 1], "^side: FileNotFoundError: there is no model$"),
        ("open_deadly", [Path(), 1], "^side: it ended without a word$"),
    ],
)
def test_a_side_that_stores_too_few_lines_or_cannot_go_on_has_failed(
    tmp_path: Path, opener: str, arguments: list[object], why: str
) -> None:
    plan = Plan("broker:9092", "redis://cache", str(tmp_path), "logs", 5)
    with (
        pytest.raises(SideFailed, match=why),
        closing(Side("side", f"tests.benchmarks.openers:{opener}", arguments, tmp_path / "log")) as side,
    ):
        side.run(plan)


# What a benchmark checks before it prints


class Loser:
    """A side that stores nothing.

    Thread: the test's.
    """

    name = "loser"

    def lines_in(self, batch: Batch) -> int:
        return len(batch.rows)

    def store(self, batch: Batch) -> None:
        pass

    def count(self) -> int:
        return 0


@pytest.mark.parametrize(
    ("done", "why"),
    [
        (lambda: race_of_sinks([Loser()], lines=10, rounds=1), "loser stored 0 lines of 11"),
        (lambda: check_growth(RAN, Point("lag", 100, 100), 100, [{"0": 60}, {"1": 39}]), "99 of 100 records are committed"),
        (lambda: check_growth(RAN._replace(templates=5), Point("lag", 100, 100), 100, [{"0": 100}]), "5 templates of 100 lines were new"),
        (lambda: check_growth(RAN._replace(records=10_000, templates=612), FEW_NEW, 10_000, [{"0": 10_000}]), "612 templates of 10000"),
        (lambda: check_topics(100, acknowledged=100, stored=100, sent_s=10.6, seconds=10), r"sending took 10\.6 s instead of 10 s"),
        (lambda: check_topics(100, acknowledged=100, stored=99, sent_s=10.0, seconds=10), "100 were acknowledged, 99 are stored"),
        (lambda: check_topics(100, acknowledged=101, stored=100, sent_s=10.0, seconds=10), "101 lines of 100 were acknowledged"),
        (lambda: summed([{"answered": 0, "refused": 7, "p95_s": 0.0}]), "0 were answered and 7 refused"),
        (lambda: check_years([{"years": list(YEARS)}, {"years": [2026]}]), "2026"),
    ],
)
def test_work_that_was_not_done_is_no_figure(done: Callable[[], object], why: str) -> None:
    with pytest.raises(Wrong, match=why):
        done()


def test_a_list_that_is_not_decoded_gives_no_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decode, "LIST_RECORDS", 200)
    monkeypatch.setattr(decode, "_syslog", lambda _random, i: f"no syslog {i}")
    with pytest.raises(Wrong, match="syslog: not all records"):
        sides_of(1)["syslog_per_s"].ours()


@pytest.mark.long
@pytest.mark.process
def test_a_missing_block_and_a_folder_that_lost_lines_are_found_out(tmp_path: Path) -> None:
    filled = fill(tmp_path / "index", [line.decode() for line in synthetic_lines(3, 300, START_MS)], 600)
    with closing(filled.sink):
        asker = Asker(filled)
        assert all(asker.seconds(kind) > 0 for kind in asker.kinds)
        filled.sink.delete_blocks(filled.sink.find_blocks(BlockFilter()).heads.ids)
        for kind in ("dense", "words", "identifiers", "around", "templates", "counts_by_time"):
            with pytest.raises(Wrong, match=f"of kind {kind} got an answer that cannot be right"):
                Asker(filled).seconds(kind)
    with pytest.raises(Wrong, match="opened again with 0 lines, not 600"):
        seconds_to_reopen(tmp_path / "index", 600)


@pytest.mark.long
@pytest.mark.process
def test_lines_that_the_worker_does_not_index_are_no_figure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VECTAIL_MODEL__CACHE", str(CACHE))
    file = tmp_path / "app.log"
    file.write_text("".join(f"{line}\n" for line in LINES))
    with pytest.raises(Wrong, match=r"^of 59 lines became .*'indexed': 60"):
        run_turn(made_up_model(load_settings(None)), TextSink(), file, 59, mask_mode="template")


def test_every_record_arrives_in_its_partition_or_the_benchmark_ends(mock_kafka: MockKafka) -> None:
    send(mock_kafka.bootstrap, "in-turn", (str(number).encode() for number in range(9)), partitions=PARTITIONS, in_a_row=2)
    with closing(Consumer({"bootstrap.servers": mock_kafka.bootstrap, "group.id": "test", "auto.offset.reset": "earliest"})) as client:
        client.assign([TopicPartition("in-turn", 0, 0)])
        assert [message.value() for message in client.consume(3, 20.0)] == [b"0", b"1", b"8"]
    with pytest.raises(SystemExit, match=r"did not take the lines: .*larger than"):
        send(mock_kafka.bootstrap, "refused", [b"one", b"x" * 2_000_000, b"two"], partitions=PARTITIONS)
