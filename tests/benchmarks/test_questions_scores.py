"""`benchmarks.questions.scores`: hits and gains counted by hand, for results of one label, of several, and of several texts."""

from math import log2

import numpy as np
import pytest

from benchmarks.questions.corpus import families, shares_of
from benchmarks.questions.scores import Difference, Grades, Results, Score, difference, new_gains, score
from benchmarks.retrieval_reader import Read
from consumers.text.families import family_of

QUESTION = np.array([1.0, 0.0], dtype=np.float32)


def results(*shares: tuple[float, ...], result_of: list[int] | None = None) -> Results:
    """Make results whose texts are found in the order in which they stand."""
    count = len(shares) if result_of is None else len(result_of)
    cosines = 1 - np.arange(count) / 100
    vectors = np.stack([cosines, np.sqrt(1 - cosines**2)], axis=1).astype(np.float32)
    return Results(vectors, np.array(range(count) if result_of is None else result_of), np.array(shares))


def grades(*worth: float) -> Grades:
    return np.array(worth, dtype=np.float64)


def read(distinct: list[str], texts: list[list[int]]) -> Read:
    return Read(distinct, texts, np.ones(len(distinct), dtype=np.int64), np.zeros((len(distinct), 2), dtype=np.float32))


def test_best_order_without_repeats_scores_one() -> None:
    assert score(QUESTION, results((1, 0, 0), (0, 1, 0), (0, 0, 1)), grades(2, 1, 0)) == Score(1.0, 1.0, 1.0, 1.0)


def test_a_hit_is_a_result_most_of_which_answers() -> None:
    half_related, half_nothing = results((0.5, 0.5, 0)), results((0.5, 0, 0.5))
    assert score(QUESTION, half_related, grades(2, 1, 0)).hit1 == 1.0
    assert score(QUESTION, half_nothing, grades(2, 1, 0)).hit1 == 0.0


def test_the_fifth_result_is_a_hit_among_five_and_the_sixth_is_not() -> None:
    others = [(0.0, 1.0)] * 4
    fifth, sixth = results(*others, (1.0, 0.0)), results(*others, (0.0, 1.0), (1.0, 0.0))
    assert [score(QUESTION, found, grades(2, 0))[:2] for found in (fifth, sixth)] == [(0.0, 1.0), (0.0, 0.0)]


def test_a_label_that_was_shown_gains_nothing_again_but_as_much_in_the_plain_measure() -> None:
    found = score(QUESTION, results((1, 0), (1, 0), (0, 1)), grades(2, 1))
    assert found.ndcg10 == pytest.approx((2 + 1 / log2(4)) / (2 + 1 / log2(3)))
    assert found.ndcg10_repeats == pytest.approx(1.0)


def test_only_new_labels_of_a_mixed_result_gain() -> None:
    shares = np.array([(0.5, 0.5, 0.0), (0.0, 0.25, 0.75), (1.0, 0.0, 0.0)])
    assert new_gains(shares, grades(2, 1, 2)) == [1.5, 1.5, 0.0]


def test_labels_beyond_the_tenth_result_gain_nothing_and_are_not_expected() -> None:
    labels = np.eye(12)
    late = score(QUESTION, results(*map(tuple, labels)), grades(*[0] * 10, 2, 0))
    assert (late.ndcg10, late.ndcg10_repeats, late.hit5) == (0.0, 0.0, 0.0)
    assert score(QUESTION, results(*map(tuple, labels)), grades(*[1] * 12)).ndcg10 == pytest.approx(1.0)


def test_the_ideal_does_not_depend_on_the_texts() -> None:
    # both labels in one result: only one of two places is used, so a merge of different labels costs something
    merged = score(QUESTION, results((0.5, 0.5)), grades(2, 2))
    assert merged.ndcg10 == pytest.approx(2 / (2 + 2 / log2(3)))
    assert merged.ndcg10_repeats == pytest.approx(1.0)


def test_a_family_stands_where_the_nearest_of_its_texts_does() -> None:
    found = score(QUESTION, results((0, 1), (1, 0), result_of=[1, 0, 0]), grades(0, 2))
    assert found.ndcg10 == pytest.approx(1 / log2(3))
    assert score(QUESTION, results((0, 1), (1, 0), result_of=[0, 1, 0]), grades(0, 2)).ndcg10 == pytest.approx(1.0)


def test_shares_are_of_lines_and_of_a_family_of_its_templates() -> None:
    # the first text has three lines of label 0 and one of label 1; the others are of label 1 alone
    some = read(["disk full", "disk full!", "link down"], [[0], [0], [0], [0], [1], [2]])
    shares = shares_of(some, [0, 0, 0, 1, 1, 1], 2)
    assert shares.tolist() == [[0.75, 0.25], [0.0, 1.0], [0.0, 1.0]]

    grouped = families(some, shares, {"disk full": "a", "disk full!": "a", "link down": "b"}.__getitem__)
    assert grouped.result_of.tolist() == [0, 0, 1]
    assert grouped.shares.tolist() == [[0.375, 0.625], [0.0, 1.0]]


def test_families_are_those_that_a_search_shows() -> None:
    some = read(["disk full", "link down", "disk full on sda"], [[0], [1], [2]])
    grouped = families(some, shares_of(some, [0, 1, 0], 2))
    names = [family_of(text) for text in some.distinct]
    assert [[one == other for other in names] for one in names] == [
        [one == other for other in grouped.result_of] for one in grouped.result_of
    ]


def test_a_line_of_two_chunks_counts_for_both_of_its_texts() -> None:
    assert shares_of(read(["a", "b"], [[0, 1], [1]]), [0, 1], 3).tolist() == [[1.0, 0.0, 0.0], [0.5, 0.5, 0.0]]


def test_a_difference_has_a_margin() -> None:
    # differences 0, 1, 2: standard deviation 1, so the margin is 1.96 / sqrt(3)
    assert difference([1, 2, 3], [1, 1, 1]) == pytest.approx(Difference(1.0, 1.96 / 3**0.5))
    assert difference([1, 2, 3], [0, 1, 2]) == Difference(1.0, 0.0)
