"""The scores of retrieval, templates and questions, counted by hand on tiny examples."""

from math import log2

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks.questions.corpus import FAMILIES, SHIPPED, Corpus, nearness
from benchmarks.questions.scores import Grades, Results, Score, new_gains
from benchmarks.questions.scores import score as score_nearness
from benchmarks.retrieval_scores import neighbour_shares, share_found
from benchmarks.templates_agree import Agreement, agreement
from benchmarks.templates_scores import Scores, mean_of, splits_gone
from benchmarks.templates_scores import score as score_templates

LABELS = list("aaaabbbccd")
GROUPS = [1, 1, 1, 1, 2, 2, 3, 4, 4, 4]
"""`a` is exactly group 1; `b` is split into 2 and 3; 4 mixes `c` and `d`."""
QUESTION = np.array([1.0, 0.0], dtype=np.float32)


def results(*shares: tuple[float, ...]) -> Results:
    """Make results whose texts are found in the order in which they stand."""
    cosines = 1 - np.arange(len(shares)) / 100
    vectors = np.stack([cosines, np.sqrt(1 - cosines**2)], axis=1).astype(np.float32)
    return Results(vectors, np.arange(len(shares)), np.array(shares))


def score(question: NDArray[np.float32], found: Results, grades: Grades) -> Score:
    return score_nearness(found.vectors @ question, found, grades)


def grades(*worth: float) -> Grades:
    return np.array(worth, dtype=np.float64)


def test_only_groups_that_are_exactly_a_label_count() -> None:
    # 1 of 4 groups and 1 of 4 labels is exact, with 4 of 10 lines; group 4 is mixed, with 3 lines
    assert score_templates(GROUPS, LABELS) == Scores(ga=0.4, fga=0.25, mixed_share=0.3, groups=4, labels=4)
    # 3 exact groups of 5 groups and of 4 labels
    precision, recall = 3 / 5, 3 / 4
    assert score_templates([1, 2, 3, 4, 5], list("abcdd")).fga == pytest.approx(2 * precision * recall / (precision + recall))
    assert mean_of([Scores(1, 1, 0, 5, 5), Scores(0.5, 0, 0.1, 9, 3)]) == Scores(0.75, 0.5, 0.05, 14, 8)


def test_splits_gone_are_those_of_all_systems_and_mixed_families_do_not_make_up_for_others() -> None:
    few, many = Scores(0, 0, 0, 12, 10), Scores(0, 0, 0, 16, 10)
    # 2 and 6 splits; families leave 1 and 3
    assert splits_gone([few, many], [few._replace(groups=11), many._replace(groups=13)]) == 0.5
    # 4 families of 10 labels are no better than 10
    assert splits_gone([few, many], [few._replace(groups=4), many]) == 0.25
    assert splits_gone([few._replace(groups=9)], [few._replace(groups=5)]) is None


def test_ids_agree_on_a_line_only_if_every_run_gives_it_the_same() -> None:
    runs = [np.array(ids, np.uint64) for ids in ([1, 2, 3, 3], [1, 2, 3, 1], [1, 4, 3, 3])]
    # lines 0 and 2 keep their ids; of the ids 1, 2, 3, 4 every run has 1 and 3
    assert agreement(runs) == Agreement(0.5, 0.5)
    assert agreement(runs[:1] * 2) == Agreement(1, 1)


@pytest.mark.parametrize(
    ("scores", "relevant", "share"),
    [
        ([0.9, 0.8, 0.7, 0.6], [1, 0, 1, 1], 0.5),
        ([0.9, 0.8, 0.7, 0.6], [0, 1, 0, 0], 1.0),
        ([0.9, 0.8, 0.7, 0.6], [0, 0, 1, 0], 0.0),
        # one place is left for three equal ones, of which one is relevant: a third of it
        ([0.9, 0.5, 0.5, 0.5, 0.1], [1, 0, 1, 0, 0], (1 + 1 / 3) / 2),
        ([0.9, 0.8, 0.7], [0, 0, 0], None),
    ],
)
def test_the_share_found_is_of_as_many_as_could_be_among_the_first(scores: list[float], relevant: list[int], share: float | None) -> None:
    found = share_found(np.array(scores, np.float32), np.array(relevant, np.bool_), first=2)
    assert found == (share if share is None else pytest.approx(share))


def test_a_line_is_no_neighbour_of_its_own_and_equal_texts_are_neighbours() -> None:
    vectors = np.array([(1.0, 0.0), (0.0, 1.0), (0.6, 0.8)], dtype=np.float32)
    # lines 0 and 1 have one text; line 2 is nearest to line 3, which has another label; nobody has the label of line 4
    shares = neighbour_shares(vectors, np.array([0, 0, 1, 2, 1]), np.array([7, 7, 7, 8, 9]), first=1)
    assert shares[:3].tolist() == [1.0, 1.0, 0.0]
    assert np.isnan(shares[3:]).all()


def test_a_hit_is_a_result_most_of_which_answers_among_the_first_five() -> None:
    assert score(QUESTION, results((1, 0, 0), (0, 1, 0), (0, 0, 1)), grades(2, 1, 0)) == Score(1.0, 1.0, 1.0, 1.0)
    assert [score(QUESTION, results(share), grades(2, 1, 0)).hit1 for share in ((0.5, 0.5, 0), (0.5, 0, 0.5))] == [1.0, 0.0]
    others = [(0.0, 1.0)] * 4
    fifth, sixth = results(*others, (1.0, 0.0)), results(*others, (0.0, 1.0), (1.0, 0.0))
    assert [score(QUESTION, found, grades(2, 0))[:2] for found in (fifth, sixth)] == [(0.0, 1.0), (0.0, 0.0)]


def test_a_label_that_was_shown_gains_nothing_again_but_as_much_in_the_plain_measure() -> None:
    found = score(QUESTION, results((1, 0), (1, 0), (0, 1)), grades(2, 1))
    assert found.ndcg10 == pytest.approx((2 + 1 / log2(4)) / (2 + 1 / log2(3)))
    assert found.ndcg10_repeats == pytest.approx(1.0)
    shares = np.array([(0.5, 0.5, 0.0), (0.0, 0.25, 0.75), (1.0, 0.0, 0.0)])
    assert new_gains(shares, grades(2, 1, 2)) == [1.5, 1.5, 0.0]


def test_the_ideal_does_not_depend_on_the_texts_and_ends_with_the_tenth_result() -> None:
    # both labels in one result: only one of two places is used, so a merge of different labels costs something
    assert score(QUESTION, results((0.5, 0.5)), grades(2, 2)).ndcg10 == pytest.approx(2 / (2 + 2 / log2(3)))
    labels = results(*map(tuple, np.eye(12)))
    assert score(QUESTION, labels, grades(*[0] * 10, 2, 0))[1:] == (0.0, 0.0, 0.0)
    assert score(QUESTION, labels, grades(*[1] * 12)).ndcg10 == pytest.approx(1.0)


def test_words_decide_between_texts_that_are_about_equally_near_in_the_way_that_is_shipped() -> None:
    cosines = np.array([0.9, 0.5001, 0.5, 0.1], np.float32)
    found = Results(np.stack([cosines, np.sqrt(1 - cosines**2)], axis=1).astype(np.float32), np.arange(4), np.eye(4))
    texts = ["network", "network", "disk full", "network"]
    orders = [
        np.argsort(-nearness(Corpus(way, found, QUESTION[None], words), 0, "disk is full")).tolist()
        for way, words in ((FAMILIES, []), (SHIPPED, texts))
    ]
    assert orders == [[0, 1, 2, 3], [0, 2, 1, 3]]
