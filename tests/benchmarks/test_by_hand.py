"""`benchmarks.by_hand`: sides that do different work end it, ratios are taken within a round, and it runs to its end on few lines."""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from benchmarks.by_hand import KEYS, Rounds, Wrong, check_vectors, figures_of, main, show_table
from benchmarks.by_hand_corpora import CORPORA, MOST_CHARACTERS, Sizes, corpora, distinct_lines, interleaved, spread
from benchmarks.by_hand_turns import Plan, Side, SideFailed, Turn, kept_vectors
from consumers.text.mask import Masker
from tests.services.missing import skip_or_fail

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
        check_vectors("naive, mix", {"a": one}, {"a": one, "b": one})


@pytest.mark.parametrize("vector", [[0.9, 0.2], [0.0, 0.0], [float("nan"), 1.0]], ids=["another", "zero", "not a number"])
@pytest.mark.filterwarnings("ignore:invalid value")
def test_a_vector_that_is_not_the_texts_own_is_wrong(vector: list[float]) -> None:
    kept = {"a": np.array([3.0, 0.0], np.float32), "b": np.array(vector, np.float32)}
    reference = {text: np.array([1.0, 0.0], np.float32) for text in "ab"}
    with pytest.raises(Wrong, match="'b'"):
        check_vectors("batched, mix", kept, reference)


def test_vectors_of_another_length_and_nearly_the_same_direction_pass() -> None:
    check_vectors("batched, mix", {"a": np.array([0.3, 0.001], np.float32)}, {"a": np.array([0.5, 0.0], np.float32)})


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
    about = {"engine": "vllm", "number_format": "bfloat16", "batched_engine": "llm"}
    show_table(figures_of(rounds([1.0], [1.0]), counts()) | about, shown.append)
    assert [line.split()[0] for line in shown[2:5]] == list(CORPORA)
    assert shown[2].split()[1:] == ["8.0", "2.0", "2.0", "4.0", "4.0"]


def test_distinct_lines_are_distinct_and_as_many_as_asked_for() -> None:
    lines = distinct_lines(LINES, 150)
    assert len(set(lines)) == len(lines) == 150
    assert lines[:60] == LINES


def test_lines_that_the_model_does_not_hold_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "long.log"
    path.write_text("\n".join(["x" * MOST_CHARACTERS, "y" * (MOST_CHARACTERS + 1), *LINES]) + "\n")
    assert {len(text) for text in corpora([str(path)], TINY)["mix"].ours} == {MOST_CHARACTERS, *map(len, LINES)}


def test_samples_are_spread_and_files_interleaved() -> None:
    assert spread([str(number) for number in range(10)], 4) == ["0", "2", "5", "7"]
    assert spread(["a"], 4) == ["a"]
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


@pytest.mark.process
def test_a_side_indexes_one_topic_after_another(tmp_path: Path, plan: Plan) -> None:
    for side in opened(tmp_path, "0"):
        assert side.ready == {"trial_s": 0.5}
        assert [side.run(plan), side.run(plan._replace(records=3))] == [Turn(1.0, 5, {"asked": 1.0}), Turn(1.0, 3, {"asked": 1.0})]
        assert kept_vectors(plan.folder)[tmp_path.name].tolist() == [1.0, 1.0]
        side.close()


@pytest.mark.process
def test_a_side_that_stores_too_few_lines_has_failed(tmp_path: Path, plan: Plan) -> None:
    for side in opened(tmp_path, "1"):
        with pytest.raises(SideFailed, match=r"^side stored 4 lines of 5$"):
            side.run(plan)


@pytest.mark.process
def test_a_side_that_cannot_open_says_why(tmp_path: Path) -> None:
    with pytest.raises(SideFailed, match=r"^side: there is no model$"):
        Side("side", [SIDE, "there is no model"], tmp_path / "log")


@pytest.mark.long
@pytest.mark.process
@pytest.mark.timeout(900)
def test_it_runs_to_its_end_on_few_lines(logs: Path) -> None:
    shown: list[str] = []
    main(shown.append, ["--quick", "--json", "--rounds", "1", str(logs)], TINY)
    (figures,) = map(json.loads, shown)
    if "by_hand" in figures["absent"]:
        skip_or_fail(figures["absent"]["by_hand"])
    assert min(figures[key] for key in KEYS if key != "engine_idle_share") > 0
    assert figures["lines"] == {
        f"{side}_{corpus}": lines
        for corpus in CORPORA
        for side, lines in (("ours", TINY.ours[corpus]), ("batched", TINY.batched), ("naive", TINY.naive))
    } | ({"sentence_distinct": TINY.batched} if figures["batched_engine"] != "sentence" else {})
