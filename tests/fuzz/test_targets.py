"""What `make fuzz` checks holds of the seeds and of what is cut and changed of them; and the checks see what must not be."""

import random
from collections.abc import Sequence
from contextlib import closing
from typing import Any

import numpy as np
import pytest

from consumers.columns import string_column
from consumers.decode.decoder import Decoder
from consumers.decode.entries import Decoded
from tests.consumers.decode.seen import decode_values
from tests.fuzz.decoding import DecoderCheck, check_decoded
from tests.fuzz.targets import TARGETS, Target

MOST_SEEDS = 60
CHANGED = 20
"""Values made of the seeds of a target."""


@pytest.mark.parametrize("name", TARGETS)
def test_a_target_holds_of_its_seeds_and_of_damaged_ones(name: str) -> None:
    target = TARGETS[name]()
    with closing(target):
        hold(target)


def hold(target: Target) -> None:
    draw = random.Random(7)
    assert target.seeds
    for value in (b"", *draw.sample(target.seeds, min(len(target.seeds), MOST_SEEDS))):
        target.check(value)
    for _ in range(CHANGED):
        changed = bytearray(draw.choice(target.seeds))
        for _ in range(draw.randrange(4)):
            changed[draw.randrange(len(changed))] = draw.choice(b'\0\1"\\{[ \n\xff')
        target.check(bytes(changed[: draw.randrange(len(changed)) + 1]))


def test_a_value_that_is_lost_is_seen() -> None:
    decoded = decode_values([b"a", b""])
    check_decoded(decoded, 2)
    with pytest.raises(AssertionError, match="none of entry, empty and rejected"):
        check_decoded(decoded._replace(empty=np.empty(0, np.int64)), 2)
    with pytest.raises(AssertionError, match="or two of them"):
        check_decoded(decoded._replace(empty=np.array([0, 1])), 2)


@pytest.mark.parametrize(
    ("column", "reason"),
    [
        ({"text": string_column([""])}, "empty"),
        ({"fields": string_column(['{"a":[1]}'])}, "neither text nor number"),
        ({"fields": string_column(['{"a":1,"a":2}'])}, "twice"),
        ({"fields": string_column([f'{{"a":"{"x" * 5_000}"}}'])}, "too long"),
        ({"time_ms": np.array([1 << 60])}, "future"),
        ({"sub": np.array([-1], np.int32)}, "no number"),
    ],
)
def test_a_column_that_is_not_what_it_must_be_is_seen(column: dict[str, Any], reason: str) -> None:
    decoded = decode_values([b"a"])
    with pytest.raises(AssertionError, match=reason):
        check_decoded(decoded._replace(entries=decoded.entries._replace(**column)), 1)


def test_a_decoder_whose_values_change_each_other_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Decoder.decode

    def decode_mixed(self: Decoder, value: Sequence[bytes], *others: Any) -> Decoded:  # noqa: ANN401
        return whole(self, [b"x" if b"!" in one and len(value) > 1 else one for one in value], *others)

    check = DecoderCheck("text", (b"before", b"after"))
    check.check(b"a!")
    monkeypatch.setattr(Decoder, "decode", decode_mixed)
    with pytest.raises(AssertionError, match="other entries alone"):
        check.check(b"a!")
