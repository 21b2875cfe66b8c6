"""Decoded entries as tests compare them: one tuple for each, fields parsed."""

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from consumers.columns import Coded
from consumers.decode.decoder import Decoder
from consumers.decode.entries import Decoded, Entries
from consumers.decode.rules import DecodeRules
from consumers.record import Header

KAFKA_MS = 1_700_000_000_000
"""The time of all records; an entry that does not say when it was logged has it."""


class Seen(NamedTuple):
    row: int
    sub: int
    text: str
    time_ms: int
    service: str
    level: str
    fields: dict[str, Any]
    trace: str | None
    template: str | None = None


def decode_values(
    values: Sequence[bytes | None], rules: DecodeRules | None = None, headers: Sequence[tuple[Header, ...]] | None = None
) -> Decoded:  # fmt: skip
    return Decoder(rules or DecodeRules()).decode(values, np.full(len(values), KAFKA_MS), headers)


def seen(entries: Entries) -> list[Seen]:
    """Return entries as tuples; of a reader's, times that are not said are `NO_TIME`."""
    traces, templates = (
        [None] * entries.size if column is None else column.to_pylist() for column in (entries.trace, entries.template)
    )  # fmt: skip
    return [
        Seen(*one)
        for one in zip(
            entries.row.tolist(),
            entries.sub.tolist(),
            entries.text.to_pylist(),
            entries.time_ms.tolist(),
            _labels(entries.service),
            _labels(entries.level),
            [json.loads(fields) if fields else {} for fields in entries.fields.to_pylist()],
            traces,
            templates,
            strict=True,
        )
    ]


def _labels(labels: Coded) -> list[str]:
    return [labels.values[code] for code in labels.codes.tolist()]
