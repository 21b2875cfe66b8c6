"""Whose fault a refusal is; `test_server_faults.py` has what it quotes of a filter."""

from typing import Any

import pytest

from sinks.milvus.faults import MilvusFault, refusal
from tests.rows import rows


@pytest.mark.parametrize("row", rows("milvus/faults"))
def test_every_rule_says_whose_fault_a_refusal_is(row: list[Any]) -> None:
    rule, call, code, reason, write, local, blamed = row
    refused = refusal(MilvusFault(call, code, reason), write=write, local=local)
    assert type(refused).__name__ == blamed, rule
    assert str(refused) == f"Milvus {call} failed with code {code}: {reason}" or write


def test_a_fault_is_one_bounded_line() -> None:
    said = str(refusal(MilvusFault("query", 1, "first\nsecond\n" + "x" * 10_000), write=False, local=False))
    assert said.startswith("Milvus query failed with code 1: first second x")
    assert "\n" not in said
    assert len(said) < 400
