"""Joins what several readers found in one list of values into the entries of that list, in the order of their rows."""

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
from consumers.decode.entries import Entries
from consumers.decode.escapes import strip_escapes
from consumers.decode.found import Found


def joined_entries(found: Sequence[Found]) -> Entries:
    """Join what was found, each with places in the same list of values; entries without text and without a trace are left out.

    A trace without a text is the text. Terminals' escape codes go.
    """
    joined = joined_found(found)
    text = strip_line_ends(strip_escapes(joined.text))
    trace = None if joined.trace is None else strip_escapes(joined.trace)
    has_text = text_bytes(text) > 0
    if trace is not None:
        alone = np.flatnonzero(~has_text & (text_bytes(trace) > 0))
        if len(alone):
            traces = as_texts(take(trace, alone))
            text = replace_rows(text, alone, string_column([one.removeprefix("\n") for one in traces]))
            trace = replace_rows(trace, alone, null_column(len(alone)))
            has_text = text_bytes(text) > 0
    row = joined.place
    order = np.flatnonzero(has_text) if len(found) == 1 else np.argsort(row, kind="stable")
    if len(found) > 1:
        order = order[has_text[order]]
    template = None if joined.template is None else strip_escapes(joined.template)
    entries = Entries(row, joined.sub, text, joined.time_ms, joined.service, joined.level, joined.fields, trace, template)
    return entries if len(order) == len(row) and len(found) == 1 else entries.take(order)


def joined_found(found: Sequence[Found]) -> Found:
    """Join what was found, one after the other; what could not be read is left out."""
    if len(found) == 1:
        return found[0]
    return Found(
        place=np.concatenate([one.place for one in found]),
        sub=np.concatenate([one.sub for one in found]),
        text=concat([one.text for one in found]),
        time_ms=np.concatenate([one.time_ms for one in found]),
        service=joined_labels([one.service for one in found]),
        level=joined_labels([one.level for one in found]),
        fields=concat([one.fields for one in found]),
        trace=joined_columns([one.trace for one in found], [one.size for one in found]),
        template=joined_columns([one.template for one in found], [one.size for one in found]),
    )


def joined_columns(columns: Sequence[Column | None], sizes: Sequence[int]) -> Column | None:
    """Return several columns of these sizes as one, with nulls for those that are None; None if all are."""
    if all(column is None for column in columns):
        return None
    return concat([null_column(size) if column is None else column for column, size in zip(columns, sizes, strict=True)])


def joined_labels(labels: Sequence[Coded]) -> Coded:
    """Return several columns of labels as one."""
    values = coded_texts([value for one in labels for value in one.values])
    places = np.cumsum([0, *(len(one.values) for one in labels)])
    codes: list[NDArray[np.int32]] = [values.codes[one.codes + place] for one, place in zip(labels, places.tolist(), strict=False)]
    return Coded(np.concatenate(codes), values.values)
