"""Whose fault a refusal is: one row of the table each."""

import pytest

from sinks.milvus.faults import MilvusFault, refusal
from sinks.sink import SinkBroken, SinkBusy, SinkRejected

SERVER_FAULTS = {
    "too long": (1100, "length of varchar field text exceeds max length, row number: 0: invalid parameter", SinkRejected),
    "too long for an older one": (1, "the length (300) of 0th string exceeds max length (256)", SinkRejected),
    "too many": (1100, "the length (4097) of 0th array exceeds max capacity (4096): invalid parameter", SinkRejected),
    "other parameter": (1100, "the num_rows (0) of field (text) is not equal to passed num_rows: invalid parameter", SinkBusy),
    "collection gone": (100, "collection not found[collection=vectail]", SinkBusy),
    "not loaded": (101, "collection not loaded", SinkBusy),
    "rate limit": (8, "quota exceeded[reason=rate type: DMLInsert]", SinkBusy),
    "disk full": (9, "quota exceeded[reason=disk quota exceeded, please reallocate space]", SinkBusy),
    "auth": (65_535, "auth check failure, please check username and password are correct", SinkBusy),
    "time-out": (-1, "DEADLINE_EXCEEDED: Deadline Exceeded", SinkBusy),
    "away": (-1, "UNAVAILABLE: failed to connect to all addresses", SinkBusy),
    "too large": (-1, "RESOURCE_EXHAUSTED: Received message larger than max (exceeds max length)", SinkBusy),
    "unheard of": (4_711, "something new", SinkBusy),
}


@pytest.mark.parametrize(("code", "reason", "expected"), SERVER_FAULTS.values(), ids=SERVER_FAULTS)
def test_a_server_is_blamed_for_everything_but_the_short_list(code: int, reason: str, expected: type[Exception]) -> None:
    assert type(refusal(MilvusFault("upsert", code, reason), write=True, local=False)) is expected


@pytest.mark.parametrize(
    ("code", "reason"),
    [(1, "[Errno 28] No space left on device"), (6, "vector field 'pad' expected dim 2, got 3"), (-1, "DEADLINE_EXCEEDED")],
)
def test_a_local_write_that_fails_is_final(code: int, reason: str) -> None:
    assert type(refusal(MilvusFault("upsert", code, reason), write=True, local=True)) is SinkBroken


@pytest.mark.parametrize(
    "reason",
    ["VARCHAR field 'places' value length 70000 exceeds max_length=65535", "array field 'words' length 4097 exceeds max_capacity 4096"],
)
def test_a_value_that_a_local_folder_refuses_is_the_rows_fault(reason: str) -> None:
    assert type(refusal(MilvusFault("upsert", 6, reason), write=True, local=True)) is SinkRejected


@pytest.mark.parametrize("local", [False, True])
@pytest.mark.parametrize(
    ("code", "reason"),
    [(1_100, 'cannot parse expression: service in ["x exceeds max length"]'), (6, "no such column"), (-1, "UNAVAILABLE")],
)
def test_no_read_is_ever_the_rows_fault_nor_the_end(code: int, reason: str, local: bool) -> None:  # noqa: FBT001 (a parameter of the test)
    refused = refusal(MilvusFault("query", code, reason), write=False, local=local)
    assert type(refused) is SinkBusy
    assert str(refused) == f"Milvus query failed with code {code}: {reason}"


def test_a_read_that_is_refused_quotes_little_of_a_filter_and_all_of_the_cause() -> None:
    services = ", ".join(f'"secret {number}"' for number in range(1_000))
    fault = MilvusFault(
        "query", 1_100, f"cannot parse expression: service in [{services}], error: the expression is too long: invalid parameter"
    )
    said = str(refusal(fault, write=False, local=False))
    assert said.startswith("Milvus query failed with code 1100: cannot parse expression: service in [")
    assert said.endswith("error: the expression is too long: invalid parameter")
    assert said.count("secret") < 8
    assert len(said) < 200


def test_a_fault_is_one_bounded_line() -> None:
    said = str(refusal(MilvusFault("query", 1, "first\nsecond\n" + "x" * 10_000), write=False, local=False))
    assert said.startswith("Milvus query failed with code 1: first second x")
    assert "\n" not in said
    assert len(said) < 400
