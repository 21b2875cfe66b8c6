"""Every fault gives a dead letter with its stage and its text, and has labels that the metric shows from the start."""

import numpy as np
import pytest

from consumers.decode.decoder import Decoder
from consumers.decode.rules import DecodeRules
from consumers.record import Record
from consumers.rejection import RejectedPiece, Rejection
from sinks.sink import SinkRejected
from worker.embedding.model.vectors import EmbeddingFailed
from worker.indexing.dead_letter_reasons import REJECTION_KINDS, TOO_MANY_CHUNKS, letter_of, refused_by_sink, rejected_by_engine

RECORD = Record("logs", 0, 7, "e1", 0, None, b"x", ())


def rejected(decoder: Decoder, value: bytes) -> Rejection:
    """Return why a value cannot be decoded."""
    (found,) = decoder.decode([value], np.zeros(1, np.int64)).rejected
    return found[1]


@pytest.mark.parametrize(
    ("rejection", "stage", "kind", "reason"),
    [
        (rejected(Decoder(DecodeRules(strict=True)), b"\xff"), "decode", "undecodable", "undecodable: not valid UTF-8"),
        (rejected(Decoder(DecodeRules(max_record_bytes=20)), b"x" * 21), "decode", "too_large", "too_large: 21 bytes, 20 are allowed"),
        (
            rejected(Decoder(DecodeRules(max_entries=5)), b"[{},{},{},{},{},{}]"),
            "decode",
            "too_many_entries",
            "too_many_entries: more than 5 entries in one record",
        ),
        (TOO_MANY_CHUNKS, "chunk", "too_many_chunks", "too_many_chunks"),
        (rejected_by_engine(EmbeddingFailed("the engine fails: 7")), "embed", "rejected", "the engine fails: 7"),
        (refused_by_sink(SinkRejected("too long: 70000")), "store", "refused", "refused by the sink: too long: 70000"),
    ],
    ids=["undecodable", "too large", "too many entries", "too many chunks", "failed text", "refused row"],
)
def test_a_fault_says_its_stage_its_kind_and_its_reason(rejection: Rejection, stage: str, kind: str, reason: str) -> None:
    assert rejection == (stage, kind, reason)
    assert kind in REJECTION_KINDS[rejection.stage]
    letter = letter_of(RECORD, rejection, [])
    assert (letter.stage, letter.reason, letter.pieces) == (stage, reason, [])


def test_a_letter_lists_each_rejected_piece_with_its_own_reason() -> None:
    refused = refused_by_sink(SinkRejected("no"))
    letter = letter_of(RECORD, TOO_MANY_CHUNKS, [RejectedPiece(1, 0, TOO_MANY_CHUNKS), RejectedPiece(2, 3, refused)])
    assert (letter.stage, letter.reason) == ("chunk", "too_many_chunks")
    assert letter.pieces == [(1, 0, "too_many_chunks"), (2, 3, "refused by the sink: no")]
