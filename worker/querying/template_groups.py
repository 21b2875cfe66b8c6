"""Which group a template belongs to: the one that a user named, else its family.

A group is a pure function of the template's text and of the settings, whoever computes it and whenever; nothing of it is stored in the
index. It is remembered by the template's id, because queries meet the same templates again and again.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from consumers.columns import string_column
from consumers.text.families import family_of
from consumers.text.regex import find_matching
from sinks.row import TemplateId, TemplateText
from worker.settings.template_tables import TemplateTable

MOST_REMEMBERED = 1_000_000
"""Templates whose group is remembered: 32 bytes each, 32 MB in all."""
_NAMED = b"name\x00"
"""Before a name, so that no template's text has the same id."""
_ID_BYTES = 8


class TemplateGroup(NamedTuple):
    """What templates are shown and counted as.

    Thread: any.
    """

    family: str
    """Its id, 16 hexadecimal digits: of the family, or of the name."""
    name: str | None = None
    """What a user called it."""


class TemplateGroups:
    """The same template has the same group, however many others are known and in whatever order they came.

    Thread: one.
    """

    def __init__(self, tables: Sequence[TemplateTable] = (), *, most: int = MOST_REMEMBERED) -> None:
        self._named = [(table.pattern, TemplateGroup(named_family(table.name), table.name)) for table in tables]
        self._most = most
        self._names = {int(group.family, 16): group.name for _, group in self._named}
        self._ids: NDArray[np.bytes_] = np.empty(0, "S16")
        """Of the remembered templates, ascending, 16 bytes each."""
        self._keys: NDArray[np.uint64] = np.empty(0, np.uint64)
        """The first 8 bytes of each id, as a number."""
        self._families: NDArray[np.uint64] = np.empty(0, np.uint64)
        """Of each of them, its family's id as a number."""

    @property
    def size(self) -> int:
        """How many templates are remembered."""
        return len(self._ids)

    @property
    def is_full(self) -> bool:
        """Whether no more templates are remembered; their groups are still computed."""
        return len(self._ids) >= self._most

    def learn(self, texts: Mapping[TemplateId, TemplateText]) -> dict[TemplateId, TemplateGroup]:
        """Return the group of each template, and remember it."""
        found = self.find(texts)
        new = [template for template in texts if template not in found]
        if new:
            groups = self._grouped([texts[template] for template in new])
            self._remember(new, groups)
            found |= zip(new, groups, strict=True)
        return found

    def find(self, templates: Iterable[TemplateId]) -> dict[TemplateId, TemplateGroup]:
        """Return the groups of those of some templates that are remembered."""
        wanted = list(templates)
        families, is_known = self.numbers(wanted)
        known = np.flatnonzero(is_known)
        return {wanted[at]: self.group_of(family) for at, family in zip(known.tolist(), families[known].tolist(), strict=True)}

    def numbers(self, templates: Sequence[TemplateId]) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
        """Return the ids of the families of n templates as numbers, uint64[n], and which of the templates are remembered, bool[n]."""
        if not templates or not len(self._ids):
            return np.zeros(len(templates), np.uint64), np.zeros(len(templates), np.bool_)
        ids = _packed(templates)
        places = np.minimum(np.searchsorted(self._ids, ids), len(self._ids) - 1)
        return self._families[places], self._ids[places] == ids

    def by_keys(self, keys: NDArray[np.int64]) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
        """Return the same as `numbers`, given the keys of n templates (`sinks.row.template_key`), int64[n]."""
        if not len(keys) or not len(self._ids):
            return np.zeros(len(keys), np.uint64), np.zeros(len(keys), np.bool_)
        places = self._places(keys)
        return self._families[places], self._keys[places] == keys.view(np.uint64)

    def ids(self, keys: NDArray[np.int64]) -> list[TemplateId]:
        """Return the ids of remembered templates, given their keys."""
        return _as_ids(self._ids[self._places(keys)]) if len(keys) else []

    def group_of(self, number: int) -> TemplateGroup:
        """Return the group with this number."""
        return TemplateGroup(f"{number:016x}", self._names.get(number))

    def members(self, families: Collection[str]) -> list[TemplateId]:
        """Return the remembered templates of some families, in the order of their ids."""
        wanted = np.array([int(family, 16) for family in families], np.uint64)
        return _as_ids(self._ids[np.isin(self._families, wanted)])

    def forget(self) -> None:
        """Begin again: most of what is remembered is of templates that are gone."""
        self._ids, self._keys, self._families = np.empty(0, "S16"), np.empty(0, np.uint64), np.empty(0, np.uint64)

    def _places(self, keys: NDArray[np.int64]) -> NDArray[np.intp]:
        """Return where templates are, if they are remembered."""
        return np.minimum(np.searchsorted(self._keys, keys.view(np.uint64)), len(self._keys) - 1)

    def _grouped(self, texts: Sequence[TemplateText]) -> list[TemplateGroup]:
        """Return the groups of some texts; a pattern is tried on all of them at once."""
        groups: dict[int, TemplateGroup] = {}
        if self._named:
            column = string_column(texts)
            for pattern, group in self._named:
                for place in find_matching(column, pattern):
                    groups.setdefault(place, group)
        return [groups.get(place) or TemplateGroup(family_of(text)) for place, text in enumerate(texts)]

    def _remember(self, templates: Sequence[TemplateId], groups: Sequence[TemplateGroup]) -> None:
        room = max(self._most - len(self._ids), 0)
        if not room:
            return
        ids = _packed(templates[:room])
        order = np.argsort(ids)
        families = np.array([int(group.family, 16) for group in groups[:room]], np.uint64)
        places = np.searchsorted(self._ids, ids[order])
        self._ids = np.insert(self._ids, places, ids[order])
        self._keys = np.ascontiguousarray(self._ids).view(">u8")[::2].astype(np.uint64)
        self._families = np.insert(self._families, places, families[order])


def named_family(name: str) -> str:
    """Return the id of the group that a user named."""
    return blake2b(_NAMED + name.encode("utf-8", "replace"), digest_size=_ID_BYTES).hexdigest()


def _packed(templates: Sequence[TemplateId]) -> NDArray[np.bytes_]:
    """Return template ids as 16 bytes each; trailing zeros are not told from none, as all have the same length."""
    return np.frombuffer(bytes.fromhex("".join(templates)), "S16")


def _as_ids(packed: NDArray[np.bytes_]) -> list[TemplateId]:
    """Undo `_packed`."""
    raw = packed.tobytes().hex()
    return [TemplateId(raw[at : at + 32]) for at in range(0, len(raw), 32)]
