"""Lines of many programs and what the masks leave of them, as recorded in tests/golden/texts; `tests/properties` tests any text.

`masked_variables` has the masks of variables only, `masked_by_version_2` was made by version 2 and does not change: benchmarks compare
with it.
"""

import pytest

from consumers.text.families import family_of, family_text
from consumers.text.mask import MASKS, Masker
from consumers.text.mask_json import mask_json
from consumers.text.mask_patterns import VARIABLE_MASKS, VERSION_2_MASKS
from consumers.text.word_patterns import WORD_MASKS
from tests.consumers.text.recorded import recorded

_WORDS = [mask.name for mask in WORD_MASKS]
_DISABLED = {
    "masked": [],
    "masked_variables": _WORDS,
    "masked_by_version_2": [mask.name for mask in MASKS if mask.name not in VERSION_2_MASKS],
}


@pytest.mark.slow
@pytest.mark.parametrize("name", _DISABLED)
def test_a_line_is_masked_as_recorded_alone_and_beside_all_others_and_only_once(name: str, subtests: pytest.Subtests) -> None:
    rows = [*recorded(name)]
    masker = Masker(disabled=_DISABLED[name])
    lines, masked = [row["line"] for row in rows], [row["masked"] for row in rows]
    for line, expected in zip(lines, masked, strict=True):
        with subtests.test(line):
            assert masker.mask([line]) == [expected]
    assert Masker(disabled=_DISABLED[name]).mask(lines) == masked
    assert Masker(disabled=_DISABLED[name]).mask(lines[::-1]) == masked[::-1]
    assert masker.mask(masked) == masked


@pytest.mark.parametrize(("name", "masks"), [("masked", WORD_MASKS), ("masked_variables", VARIABLE_MASKS)])
def test_a_mask_that_is_off_is_not_applied(name: str, masks: tuple[object, ...], subtests: pytest.Subtests) -> None:
    rows = [row for row in recorded(name) if "mask" in row]
    assert {row["mask"] for row in rows} == {mask.name for mask in masks}  # type: ignore[attr-defined]
    for row in rows:
        with subtests.test(row["mask"], line=row["line"]):
            assert Masker(disabled=[*_DISABLED[name], row["mask"]]).mask([row["line"]]) != [row["masked"]]


def test_an_object_is_masked_by_key_and_what_is_none_is_not(subtests: pytest.Subtests) -> None:
    for row in recorded("masked_json"):
        with subtests.test(row["line"]):
            assert mask_json(row["line"]) == row["masked"]


def test_templates_are_of_one_family_exactly_if_its_text_is_the_same(subtests: pytest.Subtests) -> None:
    texts: dict[str, str] = {}
    for row in recorded("families"):
        with subtests.test(row["line"]):
            assert family_text(row["line"]) == family_text(row["masked"]) == row["masked"]
            assert texts.setdefault(family_of(row["line"]), row["masked"]) == row["masked"]
    assert len(set(texts.values())) == len(texts)
