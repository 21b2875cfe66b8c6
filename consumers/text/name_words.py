"""Drops single names behind a word that announces one: `for ada`, `container cart`, `on athena`, `table customer_events`.

The mask `name`, for texts whose digits are masked; each distinct text is looked at once. The words are in `name_words.txt`:

1. `ordinary` words are those of the manuals and messages of many programs, without those that an English ending tells (`_ENDING`).
2. Behind a word that `announces` a name goes a word of small letters that is no ordinary one, and words joined by marks of which one is
   none: `payment-service`, `s.meyer`. Names of `software` stay: what cannot be reached is redis, and somebody will ask for it.
3. Behind a `thing` that has a name goes the same. Behind those that are `named` as a rule an ordinary word goes too, where the next one,
   which `follows`, shows that no phrase goes on: `table orders was`, not `table lock timeout`.
4. Words that say what happened `never` go, nor do words with the ending of a participle: `link up`, `job failed`,
   `container mfa_failed`. Nor does what stands behind `to` and a word that says that something `tries`: `failed to evict`.

Quotes, brackets and marks around a name stay. Pure, and linear in the text.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple

from consumers.text.key_classes import varies

_SECTION = re.compile(r"\[(\w+)\]([^\[]*)")
_WORDS: Final = {
    name: frozenset(words.split()) for name, words in _SECTION.findall(Path(__file__).with_suffix(".txt").read_text(encoding="ascii"))
}
_ANNOUNCES, _THINGS, _NAMED, _FOLLOWS, _NEVER, _SOFTWARE, _TRIES = (
    _WORDS[name] for name in ("announces", "thing", "named", "follows", "never", "software", "tries")
)
_SAYS_WHAT: Final = frozenset(("error", "reason", "code", "status", "cause", "result", "state"))
_LANGUAGE: Final = frozenset().union(*_WORDS.values())
_ENDING = re.compile(
    r"sig[a-z]{3,5}|[a-z]{3,}(?:ed|ings?|tions?|sions?|ly|ments?|able|ible|ness|ity|ities|ive|ance|ence|ful|less|ized|izes?|est|ous|al|ally|ism|ic)"
)
_BEGINNINGS = ("un", "re", "in", "de")
_WORD = re.compile(r"""([("'`<{]*)([a-z_][a-z_.+$-]*[a-z])((?:/|\[\])?[)"'`>},.;:!?(\[]*|'s)""")
_SMALL = re.compile(r"[a-z]+(?:[-_.][a-z]+)*")
_MARKS = re.compile(r"[-_.+$]+")
_STATEMENT: Final = frozenset(("FROM", "INTO", "UPDATE", "JOIN", "TABLE"))
_SECRET: Final = frozenset(("password", "passwd", "login", "logon", "token", "publickey"))
_DOING = re.compile(r"[A-Z][a-z]+(?:ing|ed)")
_ENDS_VALUE: Final = frozenset(",;)")
_UP = "up"
_SETTING_UP: Final = ["Setting", _UP]
_SIGNS: Final = frozenset(("signed", "logged"))
_SIGNED = re.compile(r"(?:signed|logged) (?:in|out|on|off)\W*")
_MAY_BE_KEY: Final = frozenset(("from", "on", "at", "by", "for"))
"""Behind other prepositions a word with a colon is a key: `with statuscode: 503`."""
_AROUND_WORD = "([\"'`)],;:."
_LONGEST = 64


class _Beside(NamedTuple):
    """What stands beside a word that may be a name."""

    before: str
    takes_any: bool
    """Whether any word is a name there."""
    follows: str
    """The next word; empty for none."""
    opens: str
    closes: str
    """The marks around the word."""


def drop_names(text: str) -> str:
    """Return a text, words with blanks between them, without its single names; the same if it has none."""
    words = [word for word in text.split(" ") if word]
    announcers = list(map(_announcer, words))
    may_sign = "gned " in text or "gged " in text
    if not any(announcers) and not may_sign:
        return text
    kept: list[str] = []
    announcer = ""
    for place, word in enumerate(words):
        left = _without_name(kept, announcer, word, words[place + 1 : place + 3]) if announcer or may_sign else word
        if left:
            kept.append(left)
            announcer = announcers[place] if left is word else _announcer(left)
    return " ".join(kept)


def find_likely_names(words: Sequence[str]) -> list[int]:
    """Return the places of words of small letters that are likely to be names; families count on the language more than masks may.

    Where a name is announced that is any word that is no state and behind which no phrase goes on; elsewhere words joined by marks of which
    one is no ordinary word. No two neighbours are names.
    """
    found: list[int] = []
    for place, word in enumerate(words):
        before, follows = words[place - 1] if place else "", words[place + 1] if place + 1 < len(words) else ""
        if not _SMALL.fullmatch(word) or len(word) > _LONGEST or (found and found[-1] == place - 1):
            continue
        takes_any = (before in _ANNOUNCES or before in _NAMED) and not (before == "to" and place > 1 and words[place - 2] in _TRIES)
        is_announced = takes_any or (before in _THINGS and not is_ordinary(word))
        may_be_name = not _says_what_happened(word) and word not in _SOFTWARE and (varies(word) is None or not word.isalpha())
        is_single = is_announced and may_be_name and _may_follow(follows)
        if is_single or (before not in _SAYS_WHAT and _is_joined_name(word)):
            found.append(place)
    return found


def _is_joined_name(word: str) -> bool:
    """Return whether a word is joined of parts of which one is no ordinary one and none a state: not `mfa_failed`, `hairpin_on`."""
    parts = _MARKS.split(word)
    says = any((len(part) > 1 and part in _NEVER and part not in _THINGS) or part.endswith(("ed", "fail", "pass")) for part in parts)
    return len(parts) > 1 and not says and not all(map(is_ordinary, parts))


def is_ordinary(word: str) -> bool:
    """Return whether a word of small letters is one of the language rather than a name."""
    return word in _LANGUAGE or _ENDING.fullmatch(word) is not None or (word.startswith(_BEGINNINGS) and word[2:] in _LANGUAGE)


@lru_cache(1 << 14)
def _announcer(word: str) -> str:
    """Return a word in small letters, without marks, if a name may stand behind it; else nothing."""
    if len(word) > _LONGEST:
        return ""
    before = word.lower().strip("([\"'`")
    if before.endswith(":") and before[:-1] in _THINGS:
        before = before[:-1]
    may_announce = before in _ANNOUNCES or before in _THINGS or word in _STATEMENT or word == _UP or _DOING.fullmatch(word)
    return before if may_announce else ""


def _without_name(kept: Sequence[str], before: str, word: str, follows: Sequence[str]) -> str:
    """Return what is left of a word behind those that are kept; all of it if it is no name. `before` is what announces one."""
    if follows and follows[0] in _SIGNS and len(word) <= _LONGEST and _SIGNED.fullmatch(" ".join(follows)):
        begins, quote, who = word.rpartition('"')
        return begins + quote if _SMALL.fullmatch(who) and not _is_language(who) else word
    if not before or len(word) > _LONGEST:
        return word
    last = kept[-1]
    if before == "to" and len(kept) > 1 and kept[-2].lower().strip(_AROUND_WORD) in _TRIES:  # a verb: `failed to evict`
        return word
    is_done = _DOING.fullmatch(last) is not None and not (follows and follows[0][:1].isalpha())
    is_announced = before in _ANNOUNCES or before in _THINGS or last in _STATEMENT or is_done or kept == _SETTING_UP
    found = _WORD.fullmatch(word) if is_announced else None
    if found is None:
        return word
    takes_any = last in _STATEMENT or (last == "for" and len(kept) > 1 and kept[-2].lower() in _SECRET)
    opens, name, closes = found.groups()
    if last.endswith(":") and follows and not _ENDS_VALUE.intersection(closes):  # a part of a program: `database: deadlock: …`
        return word
    is_name = _is_name(name, _Beside(before, takes_any, follows[0] if follows else "", opens, closes))
    return opens + closes if is_name else word


def _is_name(word: str, beside: _Beside) -> bool:
    ends = bool(beside.opens or beside.closes) or _may_follow(beside.follows)
    parts = [part for part in _MARKS.split(word) if part]
    is_thing = beside.before in _THINGS
    if (len(parts) == 1 and varies(word) is False) or (":" in beside.closes and not is_thing and beside.before not in _MAY_BE_KEY):
        return False
    if len(parts) > 1:
        if parts[-1].endswith(("ed", "fail")):  # `mfa_failed`
            return False
        return is_thing or not all(map(is_ordinary, parts)) or (ends and _ends_as_name(word, parts[-1]))
    if not is_ordinary(word):
        return ends or (is_thing and beside.before not in _NAMED and is_ordinary(beside.follows))
    takes_any = (beside.takes_any and "(" not in beside.opens) or (beside.before in _NAMED and varies(word) is None)
    return ends and takes_any and not _says_what_happened(word)


def _ends_as_name(word: str, last: str) -> bool:
    return "_" in word or (last not in _ANNOUNCES and last != "only" and not _says_what_happened(last))


def _says_what_happened(word: str) -> bool:
    bare = word[2:] if word.startswith(_BEGINNINGS) else word
    return not _NEVER.isdisjoint((word, bare)) or word in _FOLLOWS or _ENDING.fullmatch(word) is not None


def _is_language(word: str) -> bool:
    """Return whether all parts of a word are ordinary ones."""
    return all(map(is_ordinary, _MARKS.split(word)))


def _may_follow(word: str) -> bool:
    """Return whether the word behind a name may be this one, empty for none: the one before is then no part of a phrase, and no key."""
    return not word or not (word[0].isalpha() or word[0] == "=") or word in _FOLLOWS or word.endswith("ed") or word.isupper()
