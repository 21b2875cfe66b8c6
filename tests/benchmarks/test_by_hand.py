"""`benchmarks.by_hand`: sides that do different work end it, ratios are taken within a round, and it runs to its end on few lines."""

import json
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest
from confluent_kafka import Consumer, KafkaException
from numpy.typing import NDArray

from benchmarks.by_hand import Race, Sides, Wrong, check_vectors, main
from benchmarks.by_hand_corpora import CORPORA, MOST_CHARACTERS, Corpus, Sizes, corpora, distinct_lines, interleaved, spread
from benchmarks.by_hand_figures import KEYS, Rounds, figures_of, show_table
from benchmarks.by_hand_ours import Looks
from benchmarks.by_hand_turns import Plan, Rows, Side, SideFailed, Turn, keep_vectors, kept_vectors
from benchmarks.rivals.clients import COLLECTION, close_milvus, open_milvus, read_messages, read_rows
from benchmarks.rivals.own_process import OwnProcess
from benchmarks.rivals.own_process import Turn as Embedded
from consumers.text.mask import Masker
from sinks.milvus.lite import LocalMilvus
from tests.services.missing import skip_or_fail
from worker.service import Service

TINY = Sizes({"distinct": 24, "mix": 60, "steady": 400}, batched=12, naive=6)
SIDE = "tests.benchmarks.by_hand_side"
LINES = [f"2026-01-02 03:04:{number:02d} INFO user-{number} paid {number * 1_003} cents" for number in range(60)]


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """A file with two templates, one of them of a single line."""
    path = tmp_path / "app.log"
    path.write_text("\n".join([*LINES, "the disk is full"]) + "\n")
    return path


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    """A plan for a side that reads nothing."""
    return Plan("broker:9092", "redis://cache", str(tmp_path), "logs", 5)


def opened(tmp_path: Path, argument: str) -> Iterator[Side]:
    side = Side("side", [SIDE, argument], tmp_path / "log")
    yield side
    side.close()


def rounds(ours_s: list[float], theirs_s: list[float]) -> Rounds:
    figures = {"bare_s": 0.5, "acknowledged_s": 1.0, "overlap_share": 0.9, "engine_idle_share": 0.1, "store_share": 0.2}
    found: Rounds = {}
    for corpus in CORPORA:
        found[f"ours_{corpus}"] = [Turn(seconds, 8, figures) for seconds in ours_s]
        for side in ("batched", "naive"):
            found[f"{side}_{corpus}"] = [Turn(seconds, 2, {}) for seconds in theirs_s]
    return found


def counts() -> dict[str, int]:
    return {f"{side}_{corpus}": lines for corpus in CORPORA for side, lines in (("ours", 8), ("batched", 2), ("naive", 2))}


def test_a_text_that_is_not_in_the_index_is_wrong() -> None:
    one = np.array([1.0, 0.0], np.float32)
    with pytest.raises(Wrong, match=r"^naive, mix: 1 texts of 2 are not in the index, 'b' first$"):
        check_vectors("naive, mix", [("a", one)], {"a": one, "b": one})


@pytest.mark.parametrize("vector", [[0.9, 0.2], [0.0, 0.0], [float("nan"), 1.0]], ids=["another", "zero", "not a number"])
@pytest.mark.filterwarnings("ignore:invalid value")
def test_a_vector_that_is_not_the_texts_own_is_wrong(vector: list[float]) -> None:
    kept = [("a", np.array([3.0, 0.0], np.float32)), ("b", np.array(vector, np.float32))]
    reference = {text: np.array([1.0, 0.0], np.float32) for text in "ab"}
    with pytest.raises(Wrong, match="'b'"):
        check_vectors("batched, mix", kept, reference)


def test_vectors_of_another_length_and_nearly_the_same_direction_pass() -> None:
    check_vectors("batched, mix", [("a", np.array([0.3, 0.001], np.float32))], {"a": np.array([0.5, 0.0], np.float32)})


def test_nothing_to_compare_is_wrong() -> None:
    with pytest.raises(Wrong, match=r"^naive, mix: there is nothing to compare$"):
        check_vectors("naive, mix", [("a", np.ones(2, np.float32))], {})


def test_ratios_are_of_rates_and_the_median_of_the_rounds_own() -> None:
    figures = figures_of(rounds([1.0, 4.0, 2.0], [1.0, 2.0, 4.0]), counts())
    assert set(KEYS) <= set(figures)
    # Four times as many lines, in the same, twice and half the time.
    assert (figures["vs_naive_mix"], figures["worst"]["vs_naive_mix"], figures["best"]["vs_naive_mix"]) == (4.0, 2.0, 8.0)
    assert figures["lines_per_s"]["ours_mix"] == 4.0
    assert (figures["lines_per_s"]["naive_mix"], figures["rounds"]) == (1.0, 3)
    assert (figures["bare_engine_share"], figures["overlap_share"], figures["engine_idle_share"]) == (0.5, 0.9, 0.1)
    assert figures["busy_share"]["mix"] == {"store_share": 0.2}


def test_sentence_transformers_as_a_side_of_its_own_has_a_ratio_of_its_own() -> None:
    found = rounds([1.0], [1.0])
    assert figures_of(found, counts())["vs_sentence_distinct"] == 4.0
    found["sentence_distinct"] = [Turn(3.0, 2, {})]
    assert figures_of(found, counts() | {"sentence_distinct": 2})["vs_sentence_distinct"] == 12.0


def test_the_table_has_a_row_for_each_corpus() -> None:
    shown: list[str] = []
    about = {"engine": "vllm", "number_format": "bfloat16", "batched_engine": "llm", "templates_mix": 3, "lines_per_template_mix": 2.5}
    show_table(figures_of(rounds([1.0], [1.0]), counts()) | about, shown.append)
    assert [line.split()[0] for line in shown[2:5]] == list(CORPORA)
    assert shown[2].split()[1:] == ["8.0", "2.0", "2.0", "4.0", "4.0"]
    assert "3 templates, 2.5 lines per template" in shown[6]


def test_distinct_lines_are_distinct_and_as_many_as_asked_for() -> None:
    lines = distinct_lines(LINES, 150)
    assert len(set(lines)) == len(lines) == 150
    assert lines[:60] == LINES


def test_lines_that_the_model_does_not_hold_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "long.log"
    path.write_text("\n".join(["x" * MOST_CHARACTERS, "y" * (MOST_CHARACTERS + 1), *LINES]) + "\n")
    assert {len(text) for text in corpora([str(path)], TINY)["mix"].ours} == {MOST_CHARACTERS, *map(len, LINES)}


def test_samples_are_spread_and_files_interleaved() -> None:
    assert spread(10, 4) == [0, 2, 5, 7]
    assert spread(1, 4) == [0]
    assert interleaved([["a", "c", "d"], ["b"]]) == ["a", "b", "c", "d"]


def test_a_stream_is_warm_with_its_templates_and_with_the_lines_that_it_repeats(logs: Path) -> None:
    lines = corpora([str(logs)], TINY)
    steady = lines["steady"]
    assert {corpus: len(lines[corpus].ours) for corpus in CORPORA} == TINY.ours
    assert set(Masker().mask(steady.warm)) == set(Masker().mask(steady.ours))
    assert len(steady.warm) == 2
    assert all(steady.ours.count(text) > 1 for text in steady.repeated)
    assert steady.repeated == {text for text in steady.batched + steady.naive if steady.ours.count(text) > 1}
    assert (lines["distinct"].repeated, lines["mix"].repeated, lines["mix"].warm) == (frozenset(), frozenset(), [])
    assert lines["mix"].templates == set(Masker().mask(lines["mix"].ours))
    assert lines["distinct"].templates == set(lines["distinct"].ours)


def test_in_the_mix_only_lines_that_occur_earlier_are_repeated(tmp_path: Path) -> None:
    path = tmp_path / "app.log"
    path.write_text("\n".join(["later", "first", *LINES[:8], "first", "later"]) + "\n")
    # Every other line is in the larger sample: `later` at its first place, `first` at its second.
    mix = corpora([str(path)], TINY._replace(batched=6, naive=1))["mix"]
    assert mix.batched == ["later", *LINES[:8:2], "first"]
    assert mix.repeated == {"first"}


@pytest.mark.long
@pytest.mark.process
def test_a_side_indexes_one_topic_after_another(tmp_path: Path, plan: Plan) -> None:
    for side in opened(tmp_path, "0"):
        assert side.ready == {"is_ready": True}
        assert [side.run(plan), side.run(plan._replace(records=3))] == [Turn(1.0, 5, {"asked": 1.0}), Turn(1.0, 3, {"asked": 1.0})]
        assert [(text, vector.tolist()) for text, vector in kept_vectors(plan.folder)] == [(tmp_path.name, [1.0, 1.0])]
        side.close()


@pytest.mark.long
@pytest.mark.process
def test_a_side_that_does_not_answer_has_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.by_hand_turns._ANSWER_S", 0.01)
    with pytest.raises(SideFailed, match=r"^side: no answer within 0\.01 s$"):
        Side("side", [SIDE, "0"], tmp_path / "log")


@pytest.mark.long
@pytest.mark.process
def test_a_side_that_stores_too_few_lines_has_failed(tmp_path: Path, plan: Plan) -> None:
    for side in opened(tmp_path, "1"):
        with pytest.raises(SideFailed, match=r"^side stored 4 lines of 5$"):
            side.run(plan)


@pytest.mark.long
@pytest.mark.process
def test_a_side_that_cannot_open_says_why(tmp_path: Path) -> None:
    with pytest.raises(SideFailed, match=r"^side: there is no model$"):
        Side("side", [SIDE, "there is no model"], tmp_path / "log")


class FakeSide:
    """Indexes what a topic has, with the right vectors; `spoil` changes the rows of one of its topics."""

    def __init__(self, lines: dict[str, Corpus], cache: dict[str, bytes], topic: str = "", spoil: Callable[[Rows], Rows] = list) -> None:
        self.warm_texts: dict[str, int] = {}
        self._lines, self._cache, self._topic, self._spoil = lines, cache, topic, spoil

    def run(self, plan: Plan) -> Turn:
        """Keep the rows of a turn."""
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
        """Embed."""
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
    sides = Sides(side, side, side, side, "sentence", {}, {})
    Race(sides, cast("OwnProcess", FakeReference()), lines, "", "", tmp_path).run(1)
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


def test_busy_seconds_count_from_the_first_look_on() -> None:
    store, tally = SimpleNamespace(seconds=5.0), SimpleNamespace(seconds=7.0)
    engine, lane = SimpleNamespace(busy_since_s=None), [1]
    embed = SimpleNamespace(tally=tally, batcher=[])
    pipeline = SimpleNamespace(busy={"store": store}, embed=embed, embed_lane=lane, guarded_engine=engine)
    looks = Looks(cast("Service", SimpleNamespace(pipeline=pipeline)))
    looks.look()
    store.seconds, tally.seconds, engine.busy_since_s = 6.0, 10.0, 1.0
    looks.look()
    lane.clear()
    looks.look()
    shares = {"store_share": 0.25, "engine_share": 0.75, "overlap_share": 0.75, "engine_idle_share": 0.5}
    assert looks.figures(4.0) == shares | {"waiting_looks": 2.0}


def test_a_consumer_without_messages_ends_the_worker() -> None:
    consumer = SimpleNamespace(consume=lambda _most, timeout: [])  # noqa: ARG005 - called by its name
    with pytest.raises(SystemExit, match="the records did not come within 900 s"):
        read_messages(cast("Consumer", consumer), 1, until_s=0.0)


def test_a_consumers_error_is_no_record() -> None:
    message = SimpleNamespace(error=lambda: "the broker is gone")
    consumer = SimpleNamespace(consume=lambda _most, timeout: [message])  # noqa: ARG005 - as above
    with pytest.raises(KafkaException, match="the broker is gone"):
        read_messages(cast("Consumer", consumer), 1, until_s=0.0)


@pytest.mark.long
@pytest.mark.process
def test_every_row_is_read_and_no_server_stays_behind(tmp_path: Path) -> None:
    milvus = open_milvus(str(tmp_path), 2)
    where = {"topic": "logs", "partition": 0, "text": "a"}
    for offset, vector in enumerate(np.eye(2, dtype=np.float32)):
        milvus.insert(COLLECTION, [{"id": f"logs/0/{offset}", "offset": offset, "vector": vector, **where}])
    assert sorted((text, vector.tolist()) for text, vector in read_rows(milvus)) == [("a", [0.0, 1.0]), ("a", [1.0, 0.0])]
    close_milvus(milvus, str(tmp_path))
    LocalMilvus(tmp_path / "rows.db").close()  # a server that still runs holds its lock


@pytest.mark.long
@pytest.mark.process
@pytest.mark.timeout(900)
def test_it_runs_to_its_end_on_few_lines() -> None:
    shown: list[str] = []
    sizes = TINY._replace(ours={"distinct": 24, "mix": 4_000, "steady": 4_000})  # in fewer lines no template would have to wait
    main(shown.append, ["--quick", "--json", "--rounds", "1"], sizes)
    (figures,) = map(json.loads, shown)
    if "by_hand" in figures["absent"]:
        skip_or_fail(figures["absent"]["by_hand"])
    assert min(figures[key] for key in KEYS if key != "engine_idle_share") > 0
    assert figures["lines"] == {
        f"{side}_{corpus}": lines
        for corpus in CORPORA
        for side, lines in (("ours", sizes.ours[corpus]), ("batched", sizes.batched), ("naive", sizes.naive))
    } | ({"sentence_distinct": sizes.batched} if figures["batched_engine"] != "sentence" else {})
