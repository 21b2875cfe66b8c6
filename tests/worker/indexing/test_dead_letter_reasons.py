"""Dead letters by stage and kind: a few words, whatever the reason says."""

import pytest

from consumers.record import Record
from worker.indexing.dead_letter_reasons import KINDS, REFUSED_BY_SINK, kind_of, letter_of
from worker.indexing.pieces import TOO_MANY_CHUNKS

RECORD = Record("logs", 0, 7, "e1", 0, None, b"x", ())


@pytest.mark.parametrize(
    ("reason", "pieces", "kind"),
    [
        ("undecodable: not valid UTF-8", [], ("decode", "undecodable")),
        ("too_large: 5000000 bytes, 1000000 are allowed", [], ("decode", "too_large")),
        (TOO_MANY_CHUNKS, [(0, 0, TOO_MANY_CHUNKS)], ("chunk", "too_many_chunks")),
        ("the engine fails on this text: 7 is odd", [(0, 0, "x")], ("embed", "rejected")),
        (f"{REFUSED_BY_SINK}value too long: 70000", [(0, 0, "x")], ("store", "refused")),
    ],
)
def test_every_letter_has_a_stage_and_a_kind_that_are_known_beforehand(
    reason: str, pieces: list[tuple[int, int, str]], kind: tuple[str, str]
) -> None:
    assert kind_of(letter_of(RECORD, reason, pieces)) == kind
    assert kind[1] in KINDS[kind[0]]
