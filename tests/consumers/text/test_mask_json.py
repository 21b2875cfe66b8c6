"""Masking JSON by key: what an object says stays, in one order, and no text makes it fail."""

import json
import random
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from consumers.columns import as_texts, string_column
from consumers.text.mask_json import json_rows, mask_json, mask_json_column
from consumers.text.text_forms import forms_of

HOSTILE = (
    *("{" * 10_000, '{"a":' * 10_000, '{"a":' * 900 + "1" + "}" * 900, '{"a":' + "[" * 900 + "]" * 900 + "}"),
    *('{"a":' * 17 + "1" + "}" * 17, json.dumps({"a" * 20_000: 1}), json.dumps(dict.fromkeys(map(str, range(1_000)), 1))),
    json.dumps({"msg": "x" * 20_000}),
)

NAMES = st.sampled_from(["id", "user_id", "status", "level", "error", "msg", "path", "name", "items", "http.method", "état", "a b", "log"])
WORDS = st.text(st.characters(exclude_categories=["Cc", "Cs"]), max_size=12)
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(-(10**15), 10**15), st.floats(-1e9, 1e9), WORDS, st.sampled_from(["0x1f", "a7"]))
OBJECTS = st.dictionaries(
    NAMES,
    st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3), max_leaves=8),
    min_size=1,
    max_size=5,
)
DIGITS = set("0123456789")
few = settings(deadline=None, max_examples=200)


def compact(document: object) -> str:
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"))


def shuffled(value: Any, draw: random.Random) -> Any:  # noqa: ANN401 - whatever JSON holds
    """Return the same value with the keys of its objects in another order."""
    if isinstance(value, dict):
        return {key: shuffled(value[key], draw) for key in draw.sample(list(value), len(value))}
    return [shuffled(element, draw) for element in value] if isinstance(value, list) else value


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_what_no_program_prints_is_not_masked(text: str) -> None:
    assert mask_json(text) is None


def test_bounds_are_those_of_what_programs_print() -> None:
    assert mask_json('{"a":' * 16 + "1" + "}" * 16) == ".".join("a" * 16) + "="
    letters = [first + second for first in "abcdefghijklmnop" for second in "abcdefghijklmnop"]
    assert mask_json(compact(dict.fromkeys(letters))) == "= ".join(letters) + "="
    assert mask_json(compact({"a": dict.fromkeys(letters), "b": 1})) is None
    assert mask_json('{"msg":"' + "x " * 400 + '"}') == 'msg="' + ("x " * 250).strip() + '"'
    assert mask_json('{"' + "k" * 200 + '":{"' + "m" * 100 + '":1}}') == "k" * 27 + "." + "m" * 100 + "="


def test_json_in_json_is_masked_to_few_levels() -> None:
    text = "deepest"
    for _ in range(6):
        text = compact({"msg": text, "id": 1})
    masked = mask_json(text)
    assert masked is not None
    assert masked.count("id=") == 4
    assert "deepest" in masked


@few
@given(document=OBJECTS, seed=st.integers(0, 9))
@example(document={"items": [{"id": 1, "level": "x"}], "id": {"msg": "a", "name": 1}}, seed=1)
def test_the_order_of_keys_does_not_matter(document: dict[str, Any], seed: int) -> None:
    masked = mask_json(compact(document))
    assert masked is not None
    assert mask_json(compact(shuffled(document, random.Random(seed)))) == masked


@pytest.mark.slow
@few
@given(document=OBJECTS, before=st.sampled_from(["", "x ", "got: ", "[a] "]))
@example(document={"msg": '{"a":1}'}, before="")
@example(document={"msg": "{{{}"}, before="x ")
def test_what_is_masked_is_not_json(document: dict[str, Any], before: str) -> None:
    masked = mask_json(before + compact(document))
    assert masked is not None
    assert not set("{}") & set(masked)
    assert mask_json(masked) is None


@few
@given(document=OBJECTS)
@example(document={"level": "a7", "id": 0, "user_id": 10})
@example(document={"id": 0.5, "msg": "took 0x1f"})
def test_what_is_masked_without_a_digit_does_not_depend_on_digits(document: dict[str, Any]) -> None:
    text = compact(document)
    masked = mask_json(text)
    assert masked is not None
    if not DIGITS & set(masked):
        (form,) = as_texts(forms_of(string_column([text])))
        assert mask_json(form) == masked


@given(text=st.one_of(st.text(max_size=40), st.text('{}[]":,\\ua1e-. ', max_size=60)))
def test_any_text_may_be_given(text: str) -> None:
    masked = mask_json(text)
    assert masked is None or "{" not in masked


def test_rows_of_a_column_are_masked_in_place() -> None:
    texts = ["before", '{"id":7,"msg":"é"}', "", "}", 'x {"id":8}', "[1]", '[{"id":1}]', "{not json}", "語"]
    masked = ["before", "id= msg=é", "", "}", "x id=", "[1]", "id=", "{not json}", "語"]
    column = string_column(texts)
    assert json_rows(column).tolist() == [1, 3, 4, 6, 7]
    assert as_texts(mask_json_column(column, json_rows(column))) == masked
    part = column.slice(4, 3)
    assert as_texts(mask_json_column(part, json_rows(part))) == masked[4:7]


def test_a_column_without_json_is_not_copied() -> None:
    for texts in ([], [""], ["a", "]"], ["}", "{x}"]):
        column = string_column(texts)
        assert mask_json_column(column, json_rows(column)) is column
