"""Redacts kept fields: what holds for the text of an entry holds for its fields, which are stored and found by their values.

`worker.indexing.pieces` calls it for whole columns. Only an object in which some rule sees something suspicious, or whose JSON has escapes
that a rule cannot look through, is parsed.
"""

import json

import numpy as np

from consumers.columns import Column, as_texts, present, replace_rows, string_column, take
from consumers.text.redact import Redactor


def redact_fields(fields: Column, redactor: Redactor) -> Column:
    """Redact the values of n flat JSON objects (or nulls); the same column if none of them holds a secret."""
    rows = np.flatnonzero(present(fields))
    if not len(rows):
        return fields
    filled = take(fields, rows)
    suspected = redactor.suspects(filled)
    if not len(suspected):
        return fields
    before = as_texts(take(filled, suspected))
    objects = [json.loads(one) for one in before]
    pairs = [(place, name, value) for place, one in enumerate(objects) for name, value in one.items() if isinstance(value, str)]
    # A name says that a secret follows (`password`), so it is redacted in front of its value.
    after = redactor.redact([f"{name}={value}" for _, name, value in pairs])
    changed: set[int] = set()
    for (place, name, value), redacted in zip(pairs, after, strict=True):
        if redacted != f"{name}={value}":
            is_whole = redacted.startswith(f"{name}=")
            objects[place][name] = redacted.removeprefix(f"{name}=") if is_whole else redacted
            changed.add(place)
    if not changed:
        return fields
    places = np.array(sorted(changed))
    texts = [json.dumps(objects[place], ensure_ascii=False, separators=(",", ":")) for place in places.tolist()]
    return replace_rows(fields, rows[suspected[places]], string_column(texts))
