"""Finds the level at the beginning of lines, as columns; `consumers.decode.from_line` asks.

Theory of operation. From the beginning of the line, or from the end of its time, word after word:
1. A level counts in capitals (`ERROR`, `WARN:`), in brackets (`[error]`, `<Error>`, `[core:error]`), as `level=error`, between bars, dashes
   or tabs, before a colon where a message begins (`error: no such file`), and as the letter of glog, Android, MongoDB, Ruby and Tornado.
2. What may stand before it is skipped: numbers, brackets, capitals, names with a dot, digit or slash, and one plain word behind a time (a
   host or a logger). Behind a word with a colon the message begins: its first word is a level, or there is none.
3. Anything else is prose: the search ends there, so "no error found" has no level.
Nothing beyond the first 127 bytes is looked at.
"""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from consumers.decode.levels import LEVELS, level_of_name
from consumers.decode.line_heads import (
    FIRST_BYTES,
    HEAD_BYTES,
    HIGH_BITS,
    LOW_BITS,
    ONE,
    READ_BYTES,
    Bools,
    Bytes,
    Heads,
    Longs,
    Words,
    bits_from,
    lowest_bit,
    packed_bits,
    table_of,
)
from consumers.decode.line_shapes import ACCESS, GLOG, SYSLOG
from consumers.decode.line_times import head_slices
from consumers.decode.times import LineTimes
from consumers.text.regex import find_matching

Levels = NDArray[np.int8]

_MOST_WORDS: Final = 10
"""How many words of a line are looked at: the level of BGL is the eighth behind the time."""
_ANY_CASE, _CAPITALS, _COLON, _KEY = 1, 2, 3, 4
"""How a name counts: in any case; in capitals only; in capitals and before a colon only; it is the name of a field."""
_NAMES: Final = {
    _ANY_CASE: "trace verbose debug info notice information informational warn warning error err crit critical fatal alert emerg emergency "
    "panic severe",
    _CAPITALS: "trc dbg inf wrn eror ftl fine finer finest dpanic",
    _COLON: "log config",
    _KEY: "level lvl loglevel severity",
}
_TAG: Final = r"^[\w.$-]{2,}\s*(?:\(\s*\d+\))?:"
"""Android's, behind the letter and a slash."""


class _Seen(NamedTuple):
    """A word of each of n lines, and what is around it.

    Thread: any.
    """

    place: Longs
    opening: Bytes
    """The byte that opens the word, as `[`; of a word without one its own first byte."""
    is_opened: Bools
    size: Longs
    """How many letters there are, 0 to 16."""
    follows: Bytes
    is_capitals: Bools
    level: Levels
    """The level that the word is a name of, whether it counts or not; -1 for none."""
    how: NDArray[np.int8]

    def take(self, rows: Longs) -> "_Seen":
        """Copy the given words."""
        return _Seen(
            self.place[rows],
            self.opening[rows],
            self.is_opened[rows],
            self.size[rows],
            self.follows[rows],
            self.is_capitals[rows],
            self.level[rows],
            self.how[rows],
        )


def find_levels(heads: Heads, times: LineTimes) -> Levels:
    """Return the level of each of n lines as a place in `LEVELS`, -1 where it names none: int8[n]."""
    level = _letters_before(heads, times)
    rows = np.flatnonzero((level < 0) & (times.kind != ACCESS))
    if len(rows):
        _Search(heads, times, rows).run(level)
    return level


def _letters_before(heads: Heads, times: LineTimes) -> Levels:
    """Return the levels that are a letter before the time: `I1123 …`, `I, [2026…`, `[I 2026…`."""
    level = np.full(heads.size, -1, np.int8)
    rows = np.flatnonzero(times.kind == GLOG)
    level[rows] = _LETTER_LEVEL[heads.byte(heads.base[rows] + times.start[rows])]
    ruby = np.flatnonzero((times.start == 4) & (heads.rows[:, 1] == ord(",")) & (times.end > 0))  # noqa: PLR2004
    level[ruby] = _LETTER_LEVEL[heads.rows[ruby, 0]]
    tornado = np.flatnonzero((times.start == 3) & (heads.rows[:, 0] == ord("[")) & (heads.rows[:, 2] == _SPACE))  # noqa: PLR2004
    level[tornado] = _LETTER_LEVEL[heads.rows[tornado, 1]]
    return level


class _Search:
    """The lines that are still looked at, and how far.

    Thread: one.
    """

    def __init__(self, heads: Heads, times: LineTimes, rows: Longs) -> None:
        self._heads = heads
        self._blanks = packed_bits((heads.rows == _SPACE) | (heads.rows == _TAB))[rows]
        self._times = times
        self._rows = rows
        self._length = heads.length[rows]
        self._at = np.where(times.start[rows] > 1, 0, self._behind_time(rows))
        # The word behind a time of syslog is the host.
        syslog = np.flatnonzero((times.kind[rows] == SYSLOG) & (heads.byte(heads.base[rows] + self._at) == _SPACE))
        if len(syslog):
            host = self._at[syslog] + 1
            behind_host = np.minimum(host + lowest_bit(bits_from(self._blanks[syslog], host)), self._length[syslog])
            has_host = heads.byte(heads.base[rows[syslog]] + behind_host - 1) != _COLON_BYTE
            self._at[syslog] = np.where(has_host, behind_host, self._at[syslog])
        self._has_begun = np.zeros(len(rows), np.bool_)
        """Whether the last word ended with a colon."""
        self._is_behind_bar = np.zeros(len(rows), np.bool_)
        """Whether the last word was `-` or `|`."""
        self._is_behind_capitals = np.zeros(len(rows), np.bool_)
        self._plain = np.zeros(len(rows), np.int8)
        self._numbers = np.zeros(len(rows), np.int8)
        """How many plain words and numbers there were."""

    def run(self, level: Levels) -> None:
        """Fill in the levels that are found."""
        for step in range(_MOST_WORDS):
            self._skip_to_word()
            seen = self._seen()
            found = self._found(seen, step)
            hits = found >= 0
            level[self._rows[hits]] = found[hits]
            others = np.flatnonzero(~hits & self._may_go_on(seen))
            self._keep(others)
            if not len(others):
                return
            self._keep(np.flatnonzero(self._skip_word(seen.take(others))))

    def _behind_time(self, rows: Longs) -> Longs:
        end = self._times.end[rows]
        return end + ((end > 0) & _CLOSES[self._heads.byte(self._heads.base[rows] + end)])

    def _keep(self, some: Longs) -> None:
        if len(some) < len(self._rows):
            self._rows, self._at, self._length, self._blanks = self._rows[some], self._at[some], self._length[some], self._blanks[some]
            self._has_begun, self._is_behind_bar = self._has_begun[some], self._is_behind_bar[some]
            self._is_behind_capitals = self._is_behind_capitals[some]
            self._plain, self._numbers = self._plain[some], self._numbers[some]

    def _skip_to_word(self) -> None:
        """Go over blanks, and over the time of lines that have something before it."""
        blanks = self._blanks
        at = np.minimum(self._at + lowest_bit(~bits_from(blanks, self._at)), self._length)
        start = self._times.start[self._rows]
        is_time = (start > 1) & (at + 1 >= start) & (at < self._times.end[self._rows])
        if is_time.any():
            at = np.where(is_time, self._behind_time(self._rows), at)
            at = np.minimum(at + lowest_bit(~bits_from(blanks, at)), self._length)
        self._at = at

    def _seen(self) -> _Seen:
        at = self._heads.base[self._rows] + self._at
        opening = self._heads.byte(at)
        is_opened = _OPENS[opening]
        return self._seen_at(at + is_opened, opening, is_opened)

    def _seen_at(self, place: Longs, opening: Bytes, is_opened: Bools) -> _Seen:
        word = self._heads.word(place)
        size = _letters_of(word)
        long = np.flatnonzero(size == 8)  # noqa: PLR2004
        if len(long):
            size[long] += _letters_of(self._heads.word(place[long] + 8))
        letters = FIRST_BYTES[np.minimum(size, 8)]
        is_capitals = (word & letters & _LETTER_BITS) == 0
        folded = (word | _LETTER_BITS) & letters
        slot = (folded % _SLOTS).astype(np.int64)
        is_name = (_SLOT_LETTERS[slot] == folded) & (_SLOT_SHORTEST[slot] <= size) & (size <= _SLOT_LONGEST[slot])
        how = np.where(is_name, _SLOT_HOW[slot], np.int8(0))
        level = np.where(is_name, _SLOT_LEVEL[slot], np.int8(-1))
        return _Seen(place, opening, is_opened, size, self._heads.byte(place + size), is_capitals, level, how)

    def _found(self, seen: _Seen, step: int) -> Levels:
        """Return the levels that are named here, -1 for none."""
        found = np.full(len(self._rows), -1, np.int8)
        is_name = (seen.how == _ANY_CASE) | (seen.is_capitals & (seen.how == _CAPITALS))
        is_name |= seen.is_capitals & (seen.how == _COLON) & (seen.follows == _COLON_BYTE)
        # What the end of the head cuts may be another word.
        is_name &= seen.place + seen.size < self._heads.base[self._rows] + READ_BYTES
        counts = is_name & seen.is_capitals & _ENDS_CAPITALS[seen.follows] & (seen.opening != ord('"'))
        some = np.flatnonzero(is_name & ~counts)
        if len(some):
            counts[some] = self._is_delimited(seen, some, step)
        # `SERVICE ALERT: …` is a kind of message.
        behind = np.flatnonzero(counts & self._is_behind_capitals)
        counts[behind] = (self._heads.word(seen.place[behind]) & FIRST_BYTES[5]) != _ALERT
        found[counts] = seen.level[counts]
        letters = np.flatnonzero((seen.size == 1) & seen.is_capitals & ~self._has_begun)
        if len(letters):
            found[letters] = self._levels_of_letters(seen, letters, step)
        keyed = np.flatnonzero((seen.how == _KEY) & (seen.follows == ord("=")))
        if len(keyed):
            found[keyed] = self._levels_of_values(seen.place[keyed] + seen.size[keyed] + 1, _ENDS_VALUE)
        modules = np.flatnonzero((seen.opening == ord("[")) & ~is_name & (seen.size > 0) & _MAY_END_MODULE[seen.follows])
        if len(modules):
            found[modules] = self._levels_of_modules(modules)
        return found

    def _is_delimited(self, seen: _Seen, some: Longs, step: int) -> Bools:
        """Return where names in lower case count: between brackets, bars or tabs, in a column, or before a colon where a message begins."""
        place, size, follows, opening = seen.place[some], seen.size[some], seen.follows[some], seen.opening[some]
        closing = _CLOSING[opening]
        behind = self._heads.byte(place + size + 1)
        is_blank = _BLANK[follows]
        counts: Bools = (closing > 0) & ((closing == follows) | (is_blank & (closing == behind)))
        counts |= (follows == _COLON_BYTE) & ((self._plain[some] == 0) | self._has_begun[some]) & ~seen.is_opened[some]
        counts |= self._is_behind_bar[some] & ((is_blank & (_BAR[behind] | _BLANK[behind])) | (follows == ord("|")))
        is_behind_tab = (self._at[some] > 0) & (self._heads.byte(np.maximum(place - 1, 0)) == _TAB)
        counts |= is_behind_tab & (follows == _TAB)
        if step == 0:
            counts |= (self._at[some] > 0) & is_blank & _BLANK[behind]
        return counts

    def _levels_of_letters(self, seen: _Seen, some: Longs, step: int) -> Levels:
        """Return the levels of letters: `[E]`, Android's behind two numbers or before a slash and a tag, MongoDB's behind the time."""
        place, follows = seen.place[some], seen.follows[some]
        level = _LETTER_LEVEL[self._heads.byte(place)]
        is_alone = ~seen.is_opened[some] & (follows == _SPACE)
        counts = (seen.opening[some] == ord("[")) & (follows == ord("]"))
        counts |= is_alone & (self._numbers[some] == 2) & (self._plain[some] == 0)  # noqa: PLR2004
        if step == 0:
            next_place = place + 2 + (self._heads.byte(place + 2) == _SPACE)
            are_capitals = _CAPITAL[self._heads.byte(next_place)] & _CAPITAL[self._heads.byte(next_place + 1)]
            counts |= is_alone & are_capitals & (self._at[some] > 0)
        slashed = np.flatnonzero((follows == ord("/")) & ~seen.is_opened[some] & (level >= 0))
        if len(slashed):
            rows = self._rows[some[slashed]]
            tags = head_slices(self._heads, rows, place[slashed] + 2 - self._heads.base[rows], self._heads.length[rows])
            counts[slashed[find_matching(tags, _TAG)]] = True
        return np.where(counts, level, np.int8(-1))

    def _levels_of_values(self, place: Longs, ends: Bools) -> Levels:
        """Return the levels that begin at these places, perhaps in quotes, where one of the bytes in `ends` follows."""
        opening = self._heads.byte(place)
        is_quoted = opening == ord('"')
        value = self._seen_at(place + is_quoted, opening, is_quoted)
        return np.where((value.how == _ANY_CASE) & ends[value.follows], value.level, np.int8(-1))

    def _levels_of_modules(self, some: Longs) -> Levels:
        """Return the levels of brackets with a name and a level, as `[core:error]`."""
        rows, at = self._rows[some], self._at[some]
        heads = self._heads.rows[rows]
        colon = at + lowest_bit(bits_from(packed_bits(heads == _COLON_BYTE), at))
        is_inside = (colon < self._length[some]) & (colon < at + lowest_bit(bits_from(packed_bits(heads == ord("]")), at)))
        found = self._levels_of_values(self._heads.base[rows] + np.minimum(colon, HEAD_BYTES - 1) + 1, _ENDS_BRACKET)
        return np.where(is_inside, found, np.int8(-1))

    def _skip_word(self, seen: _Seen) -> Bools:
        """Go behind the words, and return where the search goes on."""
        at, base = self._at, self._heads.base[self._rows]
        end = np.minimum(at + lowest_bit(bits_from(self._blanks, at)), self._length)
        is_word = (seen.size > 0) & ~seen.is_opened
        is_bar = _BAR[seen.opening] & ((end == at + 1) | (seen.opening == ord("|")))
        end = np.where(is_bar, at + 1, end)
        bracketed = np.flatnonzero(seen.opening == ord("["))
        if len(bracketed):
            # What is in a bracket may hold blanks.
            closing = packed_bits(self._heads.rows[self._rows[bracketed]] == ord("]"))
            behind = at[bracketed] + lowest_bit(bits_from(closing, at[bracketed])) + 1
            end[bracketed] = np.where(behind <= self._length[bracketed], behind, self._length[bracketed])
        self._is_behind_capitals = is_word & seen.is_capitals & (seen.size > 1)
        is_plain = is_word & (_BLANK[seen.follows] | (end <= at + seen.size)) & ~self._is_behind_capitals
        self._plain += is_plain & ~self._is_behind_bar
        is_open = end < self._length
        is_open &= ~is_plain | self._is_behind_bar | ((self._times.end[self._rows] > 0) & (self._plain <= 1))
        self._numbers += _DIGIT[seen.opening]
        self._has_begun = self._heads.byte(base + np.maximum(end - 1, 0)) == _COLON_BYTE
        self._is_behind_bar = is_bar
        self._at = end
        return is_open

    def _may_go_on(self, seen: _Seen) -> Bools:
        """Return where a level may follow if this word is none: not behind the first word of a message, nor behind `level=` or `msg=`."""
        may_go_on = ~self._has_begun
        keyed = np.flatnonzero(seen.follows == ord("="))
        if len(keyed):
            word, size = self._heads.word(seen.place[keyed]), seen.size[keyed]
            is_message = ((size == 3) & (word & FIRST_BYTES[3] == _MSG)) | ((size == 7) & (word & FIRST_BYTES[7] == _MESSAGE))  # noqa: PLR2004
            may_go_on[keyed] &= (seen.how[keyed] != _KEY) & ~is_message
        return may_go_on


def _letters_of(word: Words) -> Longs:
    """Return how many of eight bytes are letters, from the first one on."""
    folded = (word & LOW_BITS) | _LETTER_BITS
    is_letter = (folded + _FROM_A) & ~(folded + _BEYOND_Z) & ~word & HIGH_BITS
    others = is_letter ^ HIGH_BITS
    return (np.bitwise_count((others & -others) - ONE) >> 3).astype(np.int64)


def _name_tables() -> tuple[np.uint64, Words, Longs, Longs, Levels, NDArray[np.int8]]:
    """Return a table in which no two names share a place, by their first eight letters as a number: its size, those, sizes, levels, how."""
    names = {name: how for how, words in _NAMES.items() for name in words.split()}
    found: dict[int, list[str]] = {}
    for name in names:
        found.setdefault(int.from_bytes(name[:8].encode(), "little"), []).append(name)
    slots = next(size for size in range(len(found), 10_000) if len({one % size for one in found}) == len(found))
    letters, shortest, longest = np.zeros(slots, np.uint64), np.ones(slots, np.int64), np.zeros(slots, np.int64)
    level, how = np.full(slots, -1, np.int8), np.zeros(slots, np.int8)
    for one, same in found.items():
        slot = one % slots
        letters[slot], how[slot] = one, names[same[0]]
        shortest[slot], longest[slot] = min(map(len, same)), max(map(len, same))
        if names[same[0]] != _KEY:
            level[slot] = LEVELS.index(level_of_name(same[0]))
    return np.uint64(slots), letters, shortest, longest, level, how


def _letter_levels() -> Levels:
    levels = np.full(256, -1, np.int8)
    for letter in "VDIWEFC":
        levels[ord(letter)] = LEVELS.index(level_of_name(letter))
    return levels


_SPACE, _TAB, _COLON_BYTE = (np.uint8(ord(character)) for character in " \t:")
_LETTER_BITS: Final = np.uint64(0x2020202020202020)
"""They make letters lower-case."""
_FROM_A, _BEYOND_Z = np.uint64(0x1F1F1F1F1F1F1F1F), np.uint64(0x0505050505050505)
"""Added to bytes below 128, they set the high bit from `a` on, and behind `z`."""
_MSG, _MESSAGE, _ALERT = (np.uint64(int.from_bytes(name, "little")) for name in (b"msg", b"message", b"ALERT"))
_SLOTS, _SLOT_LETTERS, _SLOT_SHORTEST, _SLOT_LONGEST, _SLOT_LEVEL, _SLOT_HOW = _name_tables()
_LETTER_LEVEL = _letter_levels()
_OPENS, _CLOSES = table_of("[<(\"'="), table_of("])>\"',:;|")
_CLOSING: Bytes = np.zeros(256, np.uint8)
_CLOSING[list(b"[<(")] = list(b"]>)")
_BLANK, _BAR, _DIGIT = table_of(" \t\0"), table_of("-|"), table_of("0123456789")
_CAPITAL = table_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
_ENDS_CAPITALS, _ENDS_VALUE, _ENDS_BRACKET = table_of(' \t\0])>|:,;"/'), table_of(' \t\0",;'), table_of("]")
_MAY_END_MODULE = table_of("_:0123456789")
