"""Kept fields: which ones, under which names, and where each of the bounds is."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from consumers.decode.kept_fields import MOST_BYTES, WELL_KNOWN, flat_fields, kept_object
from consumers.decode.rules import DecodeRules, FieldNames


def kept(fields: dict[str, Any], *used: str, names: tuple[str, ...] = (), others: int = 16) -> dict[str, Any] | None:
    written = kept_object(fields, DecodeRules(names=FieldNames(keep=names), max_other_fields=others), used)
    return None if written is None else json.loads(written)


@pytest.mark.parametrize(("name", "alias"), [(name, alias) for name, aliases in WELL_KNOWN.items() for alias in aliases])
def test_well_known_fields_have_one_name_whatever_the_source_calls_them(name: str, alias: str) -> None:
    value = 404 if name == "http.response.status_code" else "x1"
    nest: Any = value
    for step in reversed(alias.split(".")):
        nest = {step: nest}
    assert kept({alias: value}, others=0) == kept(nest, others=0) == {name: value}


def test_of_two_names_for_one_field_the_first_listed_counts_and_the_other_stays() -> None:
    assert kept({"hostname": "b", "host": "a"}) == {"host.name": "a", "hostname": "b"}


def test_well_known_fields_come_first_then_named_ones_then_the_least_nested_by_name() -> None:
    fields = {"z": 1, "b": {"c": 2}, "a": 3, "trace_id": "t", "n": {"m": 4}, "span_id": "s"}
    found = kept(fields, names=("n.m",))
    assert found is not None
    assert list(found) == ["trace_id", "span_id", "n.m", "a", "z", "b.c"]
    assert kept(dict(reversed(fields.items())), names=("n.m",)) == found


def test_the_bound_holds_for_others_only() -> None:
    fields = {"host": "h", "named": 0, **{f"k{i:02}": i for i in range(20)}}
    found = kept(fields, names=("named",), others=3)
    assert found == {"host.name": "h", "named": 0, "k00": 0, "k01": 1, "k02": 2}
    assert kept({"a": 1}, others=0) is None


def test_what_became_something_else_is_not_repeated() -> None:
    assert kept({"msg": "m", "x": 1, "log": {"level": "info"}}, "msg", "log.level") == {"x": 1}
    assert kept({"logger": "l"}, "logger") is None


def test_nulls_arrays_empty_strings_and_numbers_beyond_64_bits_are_left_out() -> None:
    left_out: tuple[Any, ...] = (None, [1], "", {}, 1 << 64, float("nan"), -(1 << 63) - 1, float("inf"), b"x")
    assert kept({f"k{i}": value for i, value in enumerate(left_out)}) is None
    fits = {"a": (1 << 64) - 1, "b": -(1 << 63), "c": False, "d": 0, "e": 0.0}
    assert kept(fits) == fits


def test_a_long_string_is_left_out_unless_it_is_named() -> None:
    assert kept({"a": "x" * 256, "b": "y" * 257}) == {"a": "x" * 256}
    assert kept({"b": "y" * 2_000}, names=("b",)) == {"b": "y" * 1_024}
    assert kept({"host": "y" * 257}) is None
    assert kept({"host": "y" * 257}, names=("host.name",)) == {"host.name": "y" * 257}


def test_the_status_of_a_response_is_a_number_and_anything_else_of_that_name_stays() -> None:
    assert kept({"status": "404"}) == {"http.response.status_code": 404}
    for other in ("ok", 99, 600, True, "4040", "٤٠٤"):
        assert kept({"status": other}) == {"status": other}
    assert kept({"status": 200, "http.response.status_code": "?"}) == {"http.response.status_code": 200}


def test_all_fields_together_have_a_bound_and_the_later_ones_are_left_out() -> None:
    fields = {f"k{i:02}": "é" * 250 for i in range(16)}
    written = kept_object(fields, DecodeRules(), ())
    assert written is not None
    found = json.loads(written)
    assert list(found) == [f"k{i:02}" for i in range(len(found))]
    size = len(written.encode())
    assert size <= MOST_BYTES < size + len(',"k00":""') + 500


def test_underscores_of_gelf_go_and_those_of_journald_stay() -> None:
    assert kept({"_user": "u", "_PID": "7", "__x": 1}) == {"_PID": "7", "__x": 1, "user": "u"}


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
