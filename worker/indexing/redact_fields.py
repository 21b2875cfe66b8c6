"""Redacts kept fields: what holds for the text of an entry holds for its fields, which are stored and found by their names and values.

`worker.indexing.pieces` calls it for whole columns. Only an object in which some rule sees something suspicious, or whose JSON has escapes
that a rule cannot look through, is parsed.
"""

import json
from itertools import islice

import numpy as np

from consumers.columns import Column, as_texts, present, replace_rows, string_column, take
from consumers.decode.json_text import Scalar
from consumers.text.redact import Redactor


def redact_fields(fields: Column, redactor: Redactor) -> Column:
    """Redact names and values of n flat JSON objects (or nulls); the same column if none of them holds a secret.

    A number that is redacted becomes a text. Of two names that become the same, the first keeps its value.
    """
    rows = np.flatnonzero(present(fields))
    if not len(rows):
        return fields
    filled = take(fields, rows)
    suspected = redactor.suspects(filled)
    if not len(suspected):
        return fields
    objects = [list(json.loads(one).items()) for one in as_texts(take(filled, suspected))]
    # A name says that a secret follows (`password`), so it is redacted in front of its value.
    written = [f"{name}={_text(value)}" for pairs in objects for name, value in pairs]
    after = iter(zip(written, redactor.redact(written), strict=True))
    changed: list[int] = []
    texts: list[str] = []
    for place, pairs in enumerate(objects):
        own = list(islice(after, len(pairs)))
        if any(redacted != pair for pair, redacted in own):
            changed.append(place)
            texts.append(_written(pairs, own, redactor))
    return replace_rows(fields, rows[suspected[changed]], string_column(texts)) if changed else fields


def _written(pairs: list[tuple[str, Scalar]], redacted: list[tuple[str, str]], redactor: Redactor) -> str:
    """Return an object as JSON; `redacted` has each of its pairs as `NAME=VALUE`, before and after."""
    kept: dict[str, Scalar] = {}
    for (name, value), (before, after) in zip(pairs, redacted, strict=True):
        if after == before:
            kept.setdefault(name, value)
        elif after.startswith(f"{name}="):
            kept.setdefault(name, after.removeprefix(f"{name}="))
        else:
            (own_name,) = redactor.redact([name])
            own_value = after.removeprefix(f"{own_name}=")
            kept.setdefault(own_name, value if own_value == _text(value) else own_value)
    return json.dumps(kept, ensure_ascii=False, separators=(",", ":"))


def _text(value: Scalar) -> str:
    return value if isinstance(value, str) else json.dumps(value)
