r"""Masks compact JSON by key: `{"user_id":7,"level":"error","error":"no route"}` becomes `error="no route" level=error user_id=`.

Objects that have the same keys, in whatever order, and say the same (`consumers/text/key_classes.py`) have one masked text.

1. A text is masked if it is one object, or an array of objects, or ends in one that begins with the text's first brace. So it is parsed at
   most once, whatever is in it.
2. Keys are dotted, without their digits, and sorted; an array is its elements under the array's key. What is the same is said once.
3. Values of telling keys stay, for the other masks to work on: the first lines of strings, booleans and integers. So does prose under keys
   of which nothing is known (`"output": "Shell spawned in a container"`). Of all other keys only the keys stay, as they say what an object
   is about. JSON in a string is masked as a text.
4. There is no opening brace in the result, so it is not JSON, whatever other masks remove.

A text is masked before its form is made (`consumers/text/text_forms.py`), and no form is masked by key: it says `\u8888` for `\u0441`,
which are different letters, and 8e888 for 1e100, which is no number.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from itertools import repeat
from typing import NamedTuple

import numpy as np
import orjson

from consumers.columns import Column, as_texts, replace_rows, string_column, take
from consumers.text import regex
from consumers.text.key_classes import may_have_prose, varies

_MOST_CHARACTERS = 16 * 1024
_MOST_PAIRS = 256
_MOST_LEVELS = 16
_LEVELS_OF_TEXT = 4
"""Counted for JSON in a string."""
_LONGEST_NAME = 128
_LONGEST_VALUE = 500
"""A sentence; what is longer is cut."""
_BRACE, _BRACKET = b"}]"

_BEGINS = re.compile(r'\s*"')
_DIGITS = re.compile(r"[0-9]+")
_ID = re.compile(r"(?=[^0-9]*[0-9])[0-9a-fA-F:_-]{6,}")
"""A key that is one object's id."""
_ODD_IN_NAME = re.compile(r'[\s"\'={}\x00-\x1f\x7f]+')
_PLAIN_VALUE = re.compile(r"[\w./:+-]+")
_PUNCTUATION = ".,:;!?()[]\"'"
_LEAST_WORDS, _MANY_WORDS = 2, 4
_READABLE = str.maketrans({'"': "'", "{": "(", "}": ")"} | dict.fromkeys((*range(32), 127), " "))
_NESTED = (dict, list)
_NESTED_TYPES = frozenset(_NESTED)
_SENTENCES = frozenset(("text", "log", "body", "line"))
"""Keys of what a program says, beside those that tell something in `key=value` too."""
_SAYS_LITTLE = frozenset(("name", "text", "original", "string"))
"""Keys within an object that are as telling as the object's own."""


class _Unfit(Exception):
    """What was parsed is not masked by key."""


@dataclass(frozen=True, slots=True, eq=False)
class _Label:
    """A key with those around it. It is compared as an object, as it is looked up for every key of every text."""

    pair: str
    """The dotted name and `=`; empty for the whole document."""
    stays: bool | None
    """Whether the value does; None: prose does."""


class _Keys(NamedTuple):
    """What is known of an object's keys. Objects of one program have few sets of them, so this is found once for many objects."""

    labels: list[_Label]
    kept: list[tuple[int, _Label]]
    """Places and labels of those whose values stay or may stay."""
    dropped: frozenset[str]
    """The pairs of the others, if nothing is nested in them."""


_DOCUMENT = _Label("", stays=False)


def mask_json(text: str) -> str | None:
    """Mask a text that is JSON, or ends in it, by key; None if it is not, or is longer or deeper than what programs print.

    Any `str` may be given. Time is linear in its length.
    """
    return _mask(text, 0)


def json_rows(column: Column) -> regex.Places:
    """Return the places of the texts that may be JSON or end in it, as their last characters say."""
    text, offsets = regex.view_text(column)
    if not len(text):
        return np.empty(0, np.int64)
    last = np.maximum(offsets[1:] - 1, 0)
    ends = text[last]
    may_be = np.flatnonzero((ends == _BRACE) | (ends == _BRACKET) & (text[np.maximum(last - 1, 0)] == _BRACE))
    return may_be[offsets[may_be + 1] > offsets[may_be]]


def mask_json_column(column: Column, rows: regex.Places) -> Column:
    """Mask those of the given rows, ascending, that are JSON; the same column if none is."""
    if not len(rows):
        return column
    rows = np.asarray(rows, np.int64)
    masked = [mask_json(text) for text in as_texts(take(column, rows))]
    rows = rows[[text is not None for text in masked]]
    return replace_rows(column, rows, string_column([text for text in masked if text is not None])) if len(rows) else column


def _mask(text: str, level: int) -> str | None:
    start = text.find("{")
    if start < 0 or len(text) > _MOST_CHARACTERS or not _BEGINS.match(text, start + 1):
        return None
    if start and text[start - 1] == "[" and text.endswith("]"):
        start -= 1
    pairs: set[str] = set()
    try:
        _add_pairs(pairs, orjson.loads(text[start:]), _DOCUMENT, level)
    except (orjson.JSONDecodeError, _Unfit):
        return None
    if _DOCUMENT.pair in pairs:
        return None
    masked = " ".join(sorted(pairs))
    before = text[:start].rstrip()
    return f"{before} {masked}" if before else masked


def _add_pairs(pairs: set[str], value: dict[str, object] | list[object], label: _Label, level: int) -> None:
    """Add the pairs of a label's value, which is this many levels deep. Raises `_Unfit`."""
    if level >= _MOST_LEVELS:
        raise _Unfit
    if isinstance(value, list):
        _add_values(pairs, zip(repeat(label), value, strict=False), level)
    elif len(value) > _MOST_PAIRS:
        raise _Unfit
    else:
        keys = _known_keys(label, tuple(value))
        values = tuple(value.values())
        if _NESTED_TYPES.isdisjoint(map(type, values)):
            pairs |= keys.dropped
            _add_values(pairs, ((inner_label, values[place]) for place, inner_label in keys.kept), level)
        else:
            _add_values(pairs, zip(keys.labels, values, strict=True), level)
    if len(pairs) > _MOST_PAIRS:
        raise _Unfit


def _add_values(pairs: set[str], labelled: Iterable[tuple[_Label, object]], level: int) -> None:
    for label, value in labelled:
        if value and isinstance(value, _NESTED):
            _add_pairs(pairs, value, label, level + 1)
        elif label.stays or (label.stays is None and _is_prose(value)):
            pairs.add(label.pair + _said(value, level))
        else:
            pairs.add(label.pair)


@lru_cache(maxsize=256)
def _known_keys(outer: _Label, keys: tuple[str, ...]) -> _Keys:
    """Return what is known of an object's keys."""
    labels = [_inner_label(outer, key[:_LONGEST_NAME]) for key in keys]
    kept = [(place, label) for place, label in enumerate(labels) if label.stays is not False]
    return _Keys(labels, kept, frozenset(label.pair for label in labels if label.stays is False))


@lru_cache(maxsize=4_096)
def _inner_label(outer: _Label, key: str) -> _Label:
    """Return the label of a key of an object."""
    readable = "" if _ID.fullmatch(key) else _ODD_IN_NAME.sub("_", _DIGITS.sub("", key))
    name = ".".join(filter(None, (outer.pair[:-1], readable)))[-_LONGEST_NAME:]
    is_varying = varies(name if key in _SAYS_LITTLE else key)
    if is_varying is None and key not in _SENTENCES:
        return _Label(f"{name}=", None if may_have_prose(key) else False)
    return _Label(f"{name}=", key in _SENTENCES or not is_varying)


def _is_prose(value: object) -> bool:
    """Return whether a value is a sentence: half of its words are of letters, four of them or one behind another in lower case."""
    if not isinstance(value, str) or " " not in value:
        return False
    words = [word.strip(_PUNCTUATION) for word in value[:_LONGEST_VALUE].partition("\n")[0].split()]
    of_letters = [word for word in words if word.isalpha()]
    if len(of_letters) < _LEAST_WORDS or 2 * len(of_letters) < len(words):
        return False
    return len(of_letters) >= _MANY_WORDS or any(len(word) > 1 and word.islower() for word in of_letters[1:])


def _said(value: object, level: int) -> str:
    """Return what a value says, as it stands in the masked text; empty if it says nothing."""
    if value is True or value is False:
        return str(value).lower()
    if isinstance(value, int):
        return str(value)
    if not isinstance(value, str):
        return ""
    if len(value) <= _LONGEST_VALUE and _PLAIN_VALUE.fullmatch(value):
        return value
    value = value.strip()
    if value.endswith(("}", "}]")):
        value = _mask(value, level + _LEVELS_OF_TEXT) or value
    line = value.partition("\n")[0][:_LONGEST_VALUE].translate(_READABLE).strip()
    return f'"{line}"' if line else ""
