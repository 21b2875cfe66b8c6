"""Known templates by example; `tests/properties/test_known.py` compares with a dict."""

import pytest

from sinks.row import TemplateId
from worker.indexing.known_templates import KnownTemplates, halves_of

A, B = TemplateId("a" * 32), TemplateId("b" * 32)


def found(known: KnownTemplates, *templates: TemplateId, now_s: float = 0.0) -> list[int]:
    tokens: list[int] = known.find_tokens(templates, halves_of(templates), now_s).tolist()
    return tokens


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
    templates = [TemplateId(f"{number:016x}{0:016x}") for number in range(100)]
    for template in templates:
        known.add_template(template, 1, 0.0)
    there = [template for template, tokens in zip(templates, found(known, *templates), strict=True) if tokens >= 0]
    assert len(there) <= most
    assert there == templates[-len(there) :]
    assert len(there) >= most - most // 8


def test_numbers_of_an_id_are_its_halves() -> None:
    assert halves_of([TemplateId("0" * 15 + "1" + "f" * 16), TemplateId("8" + "0" * 31)]).tolist() == [[1, 2**64 - 1], [2**63, 0]]
    assert halves_of([]).shape == (0, 2)
