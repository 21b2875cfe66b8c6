"""Joins entries that several readers found in one list of values, and completes their texts."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from consumers.columns import (
    Coded,
    Column,
    as_texts,
    coded_texts,
    concat,
    null_column,
    replace_rows,
    string_column,
    strip_line_ends,
    take,
    text_bytes,
)
from consumers.decode.entries import Entries, no_entries
from consumers.decode.escapes import strip_escapes


def with_texts(entries: Entries) -> Entries:
    """Leave out entries without text and without a trace. A trace without a text is the text. Terminals' escape codes go."""
    text = strip_line_ends(strip_escapes(entries.text))
    trace = None if entries.trace is None else strip_escapes(entries.trace)
    has_text = text_bytes(text) > 0
    if trace is not None:
        alone = np.flatnonzero(~has_text & (text_bytes(trace) > 0))
        if len(alone):
            traces = as_texts(take(trace, alone))
            text = replace_rows(text, alone, string_column([one.removeprefix("\n") for one in traces]))
            trace = replace_rows(trace, alone, null_column(len(alone)))
            has_text = text_bytes(text) > 0
    template = None if entries.template is None else strip_escapes(entries.template)
    entries = entries._replace(text=text, trace=trace, template=template)
    return entries if has_text.all() else entries.take(np.flatnonzero(has_text))


def join_entries(several: Sequence[Entries]) -> Entries:
    """Return entries of several sources in the order of their rows; none of them is joined of several records."""
    if len(several) == 1:
        return several[0]
    if not several:
        return no_entries()
    together = Entries(
        row=np.concatenate([one.row for one in several]),
        sub=np.concatenate([one.sub for one in several]),
        text=concat([one.text for one in several]),
        time_ms=np.concatenate([one.time_ms for one in several]),
        service=_joined_labels([one.service for one in several]),
        level=_joined_labels([one.level for one in several]),
        fields=concat([one.fields for one in several]),
        trace=_joined_columns([one.trace for one in several], [one.size for one in several]),
        template=_joined_columns([one.template for one in several], [one.size for one in several]),
    )
    return together.take(np.argsort(together.row, kind="stable"))


def _joined_columns(columns: Sequence[Column | None], sizes: Sequence[int]) -> Column | None:
    """Return several columns of these sizes as one, with nulls for those that are None; None if all are."""
    if all(column is None for column in columns):
        return None
    return concat([null_column(size) if column is None else column for column, size in zip(columns, sizes, strict=True)])


def _joined_labels(labels: Sequence[Coded]) -> Coded:
    """Return several columns of labels as one."""
    values = coded_texts([value for one in labels for value in one.values])
    places = np.cumsum([0, *(len(one.values) for one in labels)])
    codes: list[NDArray[np.int32]] = [values.codes[one.codes + place] for one, place in zip(labels, places.tolist(), strict=False)]
    return Coded(np.concatenate(codes), values.values)
