"""Which texts of a column hold a literal: the cheap first look before texts are checked one by one.

One search over the bytes of all texts, in C and without a copy: a thousand lines take a twentieth of a millisecond, and the time is linear
whatever they hold (`literals.c` says how). Letters count alike, small or capital, ASCII only.
"""

import re
from collections.abc import Iterable
from ctypes import c_bool, c_char_p

import numpy as np
from numpy.typing import NDArray

from consumers.native import BYTES, PLACES, SIZE, c_function, output_of
from sinks.arrow import as_texts, take, utf8_of
from sinks.block import Column

NOT_HELD, IN_A_WORD, PERHAPS_WHOLE, WHOLE = range(4)
"""How a text holds a literal, as `literals.c` says."""

_LITERAL = (c_char_p, SIZE, output_of(np.int32))
_hold_literal = c_function(__file__, "literals", "hold_literal", BYTES, SIZE, PLACES, SIZE, *_LITERAL, output_of(np.uint8), returns=c_bool)
_has_literal = c_function(__file__, "literals", "has_literal", BYTES, SIZE, *_LITERAL, returns=c_bool)


def rows_with(texts: Column, literal: str) -> NDArray[np.int64]:
    """Return the rows whose text holds this ASCII literal, ascending. Raises ValueError for others."""
    return np.flatnonzero(holds(texts, literal))


def holds(texts: Column, literal: str) -> NDArray[np.uint8]:
    """Return how each of n texts holds this ASCII literal: uint8[n]. Raises ValueError for others.

    It is `WHOLE` if it stands somewhere between two characters that are no letter, digit or underscore (or at an end of the text), and
    `IN_A_WORD` if it stands only elsewhere; `PERHAPS_WHOLE`: only the text's characters beyond ASCII can tell, the first look cannot.
    """
    wanted, borders = _lowered(literal)
    data, ends = utf8_of(texts)
    held = np.empty(len(texts), np.uint8)
    if not _hold_literal(data, len(data), ends, len(texts), wanted, len(wanted), borders, held):
        raise ValueError("texts and ends do not fit each other")
    return held


def rows_holding(texts: Column, phrase: str) -> NDArray[np.bool_]:
    """Return which of n texts hold a phrase, in capital letters or small: bool[n]. Most are judged by their bytes.

    A letter, digit or underscore at an end of the phrase is also the end of a word in the text.
    """
    found = np.zeros(len(texts), np.bool_)
    unsure = np.arange(len(texts))
    if phrase.isascii():
        held = holds(texts, phrase)
        found = held == WHOLE
        is_whole = _is_of_word(phrase[0]) and _is_of_word(phrase[-1])
        unsure = np.flatnonzero(held == PERHAPS_WHOLE if is_whole else (held != NOT_HELD) & ~found)
    if len(unsure):
        pattern = whole(phrase)
        found[unsure] = [pattern.search(text) is not None for text in as_texts(take(texts, unsure))]
    return found


def whole(phrase: str) -> re.Pattern[str]:
    """Return what finds a phrase in one text, as `rows_holding` does in many."""
    before, after = r"(?<!\w)" * _is_of_word(phrase[0]), r"(?!\w)" * _is_of_word(phrase[-1])
    return re.compile(f"{before}{re.escape(phrase)}{after}", re.IGNORECASE)


def _is_of_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def absent_from(data: NDArray[np.uint8], literals: Iterable[str]) -> list[str]:
    """Return those of these ASCII literals that stand nowhere in the bytes. Raises ValueError for others."""
    return [literal for literal in literals if not _has(data, literal)]


def _has(data: NDArray[np.uint8], literal: str) -> bool:
    wanted, borders = _lowered(literal)
    found: bool = _has_literal(data, len(data), wanted, len(wanted), borders)
    return found


def _lowered(literal: str) -> tuple[bytes, NDArray[np.int32]]:
    """Return a literal's bytes, lower-cased, and memory for what the search notes of each."""
    if not literal or not literal.isascii():
        raise ValueError(f"{literal!r} is not an ASCII literal")
    return literal.lower().encode(), np.empty(len(literal), np.int32)
