"""Families: templates that are nearly the same, as one coarser id.

A family is a pure function of the template text and of `FAMILIES_VERSION`. Nothing of it is stored: `worker.querying` computes it when it
reads, so a change of these rules needs no new index.

Templates of a family have the same words in the same order, apart from what names one of many things: paths, dotted names, hosts, one or
two names (`consumers/text/name_words.py`), and the last digits of a status. What says what went wrong stays: names of exceptions, codes
such as E1234, the class of a status (404 is 4xx), states. Case and punctuation do not count.
"""

import re
from functools import lru_cache
from hashlib import blake2b

from consumers.text.name_words import find_likely_names

FAMILIES_VERSION = 2

_ID_BYTES = 8
_REMEMBERED = 1 << 16
_LONGEST_REMEMBERED = 64
"""Of words: how many are remembered, and of how many characters at most; 10 MB, at worst 32. Templates share most of
their words; of one with a longer word none is."""
_HOST = "host"
_MOST_NAMES, _LEAST_WORDS, _MOST_WORDS = 2, 3, 64
_AROUND = "()[]{}<>\"'`,;:.=|!?*-"
_NAME = re.compile(r"\w(?:[./\\$]|::)\w|^[~.]{0,2}/\w|\\")
_FAULT = re.compile(r"\b\w*(?:Exception|Error|Failure|Fault)s?\b")
_STATUS = re.compile(r"(?<![^\W_])([1-5])\d\d(?![^\W_])")


def family_text(template_text: str) -> str:
    """Return what all templates of a family have in common; never empty, and the same for itself."""
    words = template_text.split()
    common = _common if max(map(len, words), default=0) <= _LONGEST_REMEMBERED else _common.__wrapped__
    return " ".join(_without_names(" ".join(map(common, words)).split())) or template_text


def family_of(template_text: str) -> str:
    """Return the id of a template's family: 16 hexadecimal digits, half as many as a template's id."""
    return blake2b(family_text(template_text).encode("utf-8", "replace"), digest_size=_ID_BYTES).hexdigest()


def _without_names(words: list[str]) -> list[str]:
    """Return the words without what masks leave of hosts, and without names, one or two at a time; more are no names but what is said.

    A text of more than `_MOST_WORDS` keeps its names, as time is that of all words for each name.
    """
    words = [word for word in words if word != _HOST]
    while _LEAST_WORDS <= len(words) <= _MOST_WORDS and 0 < len(names := find_likely_names(words)) <= _MOST_NAMES:
        words = [word for place, word in enumerate(words) if place not in names]
    return words


@lru_cache(_REMEMBERED)
def _common(word: str) -> str:
    """Return what a family keeps of a word; nothing of a name that does not name a fault."""
    word = word.strip(_AROUND)
    if _NAME.search(word):
        word = " ".join(_FAULT.findall(word))
    return _STATUS.sub(r"\1xx", word.lower())
