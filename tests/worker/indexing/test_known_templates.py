"""Known templates by example; `tests/properties/test_known.py` compares with a dict."""

import secrets

import pytest

from worker.indexing.known_templates import KnownTemplates, halves_of

A, B, C = "a" * 32, "b" * 32, "c" * 32


def found(known: KnownTemplates, *templates: str, now_s: float = 0.0) -> list[int]:
    tokens: list[int] = known.find_tokens(templates, halves_of(templates), now_s).tolist()
    return tokens


def test_what_was_added_is_found_with_its_tokens() -> None:
    known = KnownTemplates(most=10)
    known.add_template(A, 7, 0.0)
    assert found(known, B, A, A) == [-1, 7, 7]


def test_what_was_added_long_ago_is_found_in_the_columns() -> None:
    known = KnownTemplates(most=100_000)
    templates = [secrets.token_hex(16) for _ in range(20_000)]
    for number, template in enumerate(templates):
        known.add_template(template, number, float(number))
    assert found(known, *templates) == list(range(20_000))
    assert found(known, A) == [-1]


@pytest.mark.parametrize("most", [8, 100_000], ids=["columns", "dict"])
def test_a_template_is_forgotten_after_its_time_and_may_be_added_anew(most: int) -> None:
    known = KnownTemplates(most=most, keep_s=60.0)
    known.add_template(A, 7, 100.0)
    known.add_template(B, 8, 130.0)
    assert found(known, A, B, now_s=160.0) == [7, 8]
    assert found(known, A, B, now_s=160.1) == [-1, 8]
    known.add_template(A, 9, 161.0)
    assert found(known, A, B, now_s=190.5) == [9, -1]


@pytest.mark.parametrize("most", [1, 2, 9, 30])
def test_they_are_bounded_and_the_oldest_go_first(most: int) -> None:
    known = KnownTemplates(most=most)
    templates = [f"{number:016x}{0:016x}" for number in range(100)]
    for template in templates:
        known.add_template(template, 1, 0.0)
    there = [template for template, tokens in zip(templates, found(known, *templates), strict=True) if tokens >= 0]
    assert len(there) <= most
    assert there == templates[-len(there) :]
    assert len(there) >= most - most // 8


@pytest.mark.parametrize("most", [8, 100], ids=["columns", "dict"])
def test_samples_go_round_and_have_whole_ids(most: int) -> None:
    known = KnownTemplates(most=most)
    assert known.sample(5, 0.0) == []
    added = [A, "0" * 31 + "1", "f" * 32]
    for number, template in enumerate(added):
        known.add_template(template, number, 0.0)
    assert sorted(known.sample(2, 0.0) + known.sample(2, 0.0))[:1] == ["0" * 31 + "1"]
    assert set(known.sample(100, 0.0)) == set(added)
    known.forget_all()
    assert (known.sample(5, 0.0), found(known, *added)) == ([], [-1, -1, -1])


def test_ids_of_which_only_one_half_is_equal_are_different() -> None:
    halves = ["0" * 16, "1" * 16]
    known = KnownTemplates(most=8)
    known.add_template(halves[0] + halves[0], 5, 0.0)
    known.add_template(C, 6, 0.0)  # merges the first into the columns
    assert found(known, halves[0] + halves[0], halves[0] + halves[1], halves[1] + halves[0]) == [5, -1, -1]


def test_numbers_of_an_id_are_its_halves() -> None:
    assert halves_of(["0" * 15 + "1" + "f" * 16, "8" + "0" * 31]).tolist() == [[1, 2**64 - 1], [2**63, 0]]
    assert halves_of([]).shape == (0, 2)
