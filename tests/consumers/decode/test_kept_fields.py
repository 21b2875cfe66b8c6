"""Kept fields: which ones, under which names, and where each of the bounds is."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from consumers.decode.kept_fields import MOST_BYTES, WELL_KNOWN, flat_fields, kept_object
from consumers.decode.rules import DecodeRules, FieldNames
from tests.rows import rows


def kept(
    fields: dict[str, Any], *, used: Sequence[str] = (), names: Sequence[str] = (), others: int = 16
) -> dict[str, Any] | None:  # fmt: skip
    written = kept_object(fields, DecodeRules(names=FieldNames(keep=tuple(names)), max_other_fields=others), used)
    return None if written is None else json.loads(written)


@pytest.mark.parametrize("row", rows("kept_fields"))
def test_every_rule_says_what_is_kept_and_in_which_order(row: list[Any]) -> None:
    rule, fields, wanted, limits = row
    found = kept(fields, **limits)
    assert (None if found is None else [*map(list, found.items())]) == wanted, rule


@pytest.mark.parametrize(("name", "alias"), [(name, alias) for name, aliases in WELL_KNOWN.items() for alias in aliases])
def test_well_known_fields_have_one_name_whatever_the_source_calls_them(name: str, alias: str) -> None:
    value = 404 if name == "http.response.status_code" else "x1"
    nest: Any = value
    for step in reversed(alias.split(".")):
        nest = {step: nest}
    assert kept({alias: value}, others=0) == kept(nest, others=0) == {name: value}


def test_nulls_arrays_empty_strings_and_numbers_beyond_64_bits_are_left_out() -> None:
    left_out: tuple[Any, ...] = (None, [1], "", {}, 1 << 64, float("nan"), -(1 << 63) - 1, float("inf"), b"x")
    assert kept({f"k{i}": value for i, value in enumerate(left_out)}) is None
    fits = {"a": (1 << 64) - 1, "b": -(1 << 63), "c": False, "d": 0, "e": 0.0}
    assert kept(fits) == fits


def test_all_fields_together_have_a_bound_and_the_later_ones_are_left_out() -> None:
    fields = {f"k{i:02}": "é" * 250 for i in range(16)}
    written = kept_object(fields, DecodeRules(), ())
    assert written is not None
    found = json.loads(written)
    assert list(found) == [f"k{i:02}" for i in range(len(found))]
    size = len(written.encode())
    assert size <= MOST_BYTES < size + len(',"k00":""') + 500


def test_very_deep_and_very_long_names_end_somewhere() -> None:
    deep: Any = 1
    for _ in range(50_000):
        deep = {"a": deep}
    assert kept({"deep": deep, "x" * 257: 1, "b": 2}) == {"b": 2}


scalars = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=3))
short = st.text(max_size=3)
documents = st.recursive(
    scalars, lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(short, inner, max_size=3)), max_leaves=6
)


@given(st.dictionaries(short, documents, max_size=6))
def test_whatever_is_kept_is_a_flat_object_of_scalars_that_were_there(fields: dict[str, Any]) -> None:
    found = kept(fields) or {}
    flat = flat_fields(fields)
    assert all(isinstance(value, str | int | float | bool) for value in found.values())
    assert {name: value for name, value in found.items() if name not in WELL_KNOWN} == {
        name: value for name, value in flat.items() if name in found and name not in WELL_KNOWN
    }
