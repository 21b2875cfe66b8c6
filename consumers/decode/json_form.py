"""The form of a topic's JSON objects, learned from them: which keys they have at the top, and what each key holds.

What is known of the form only decides how fast a value is read (`consumers.decode.json_columns`), never what is read.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from consumers.decode.json_text import LONGEST_SHORT, FormParser, KeyKind, is_plain

_MOST_KEYS: Final = 96
_STRANGERS: Final = 20_000
"""Values in a row of which most did not fit a form that is full: then it is forgotten."""
_LONGEST_KEY: Final = 128
_INT_64: Final = 1 << 63


class ObjectForm:
    """Grows with what it is shown; a value that has a key of which it does not know, or something else in it, does not fit.

    Thread: one.
    """

    def __init__(self, long_names: Iterable[str]) -> None:
        """`long_names`: keys whose strings may be of any length."""
        self._long = frozenset(long_names)
        self.kinds: dict[str, KeyKind] = {}
        self.parser: FormParser | None = None
        self._strangers = 0

    def learn(self, documents: Iterable[Mapping[str, object]]) -> bool:
        """Take the keys of more objects into the form. Returns whether it has changed."""
        kinds = dict(self.kinds)
        for document in documents:
            if len(document) > _MOST_KEYS or any(not 0 < len(key) <= _LONGEST_KEY or not is_plain(key) for key in document):
                continue
            for key, value in document.items():
                known = kinds.get(key, KeyKind.NOTHING)
                kind = self._kind_of(key, value)
                if known != kind and kind is not KeyKind.NOTHING:
                    kinds[key] = _wider(known, kind)
                else:
                    kinds.setdefault(key, kind)
        if len(kinds) > _MOST_KEYS or kinds == self.kinds:
            return False
        self.kinds = kinds
        self.parser = FormParser(kinds)
        return True

    def count_strangers(self, strangers: int, size: int) -> None:
        """Forget the form when most values do not fit it for a long time: another program may write them now."""
        self._strangers = self._strangers + strangers if 2 * strangers > size else 0
        if self._strangers > _STRANGERS:
            self.kinds, self.parser, self._strangers = {}, None, 0

    def _kind_of(self, key: str, value: object) -> KeyKind:
        if value is None:
            return KeyKind.NOTHING
        if isinstance(value, str):
            return KeyKind.SHORT if key not in self._long and 0 < len(value) <= LONGEST_SHORT else KeyKind.TEXT
        if isinstance(value, float) or (isinstance(value, int) and -_INT_64 <= value < _INT_64):
            return KeyKind.NUMBER
        return KeyKind.RAW


def _wider(one: KeyKind, other: KeyKind) -> KeyKind:
    both = {one, other}
    if KeyKind.NOTHING in both:
        return max(one, other)
    if KeyKind.RAW in both:
        return KeyKind.RAW
    return KeyKind.TEXT if both == {KeyKind.SHORT, KeyKind.TEXT} else KeyKind.SCALAR
