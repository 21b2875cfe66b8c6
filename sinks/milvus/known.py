"""The newest line of some templates, remembered, so that asking again costs nothing.

Held by the sink's door. In a local folder this process is the only writer, and what is remembered stays true until a write replaces it.
On a server others write too: there it serves for a second. A read remembers nothing of a template that was written while it ran.
Into a folder that was empty every line comes from here: then the newest of a template is known from its first line on, unread.
Beside it, and only as a guess for reads: when the last line of each template came that this process stored.
"""

import threading
from collections import OrderedDict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from sinks.milvus.searching import passes, place_of
from sinks.row import LineRow
from sinks.sink import LineFilter

MOST_TEMPLATES = 10_000
MOST_CHARACTERS = 16 * 1024 * 1024
"""Of texts, all together."""
_LONGEST_TEXT = 4_096
"""A longer one is not worth its room."""
_MOST_TIMES = 50_000


class Reading:
    """A read that has begun, and what was written since.

    Thread: any, behind the memory's lock.
    """

    def __init__(self, templates: Collection[str], now_s: float) -> None:
        self.began_s = now_s
        self.untouched = set(templates)
        self.written: set[str] = set()
        """Ids."""


class NewestKnown:
    """Template → its newest line whatever the filter; no line that was stored here is newer.

    Thread: any.
    """

    def __init__(self, *, lasts_s: float, is_whole: bool = False) -> None:
        """`lasts_s`: how long after its read began a line counts as the newest; `is_whole`: nothing is stored but what is noted here."""
        self._lasts_s = lasts_s
        self._met: set[str] | None = set() if is_whole else None
        """All templates that have or had lines; None: nobody knows."""
        self._lock = threading.Lock()
        self._lines: OrderedDict[str, tuple[LineRow, float]] = OrderedDict()
        self._templates: dict[str, str] = {}  # by the ids of those lines
        self._characters = 0
        self._times: dict[str, int] = {}
        self._readings: set[Reading] = set()

    def answer(self, templates: Iterable[str], only: LineFilter, now_s: float) -> tuple[dict[str, LineRow], list[str]]:
        """Return the newest lines under a filter as far as they are remembered, and the templates that must be read for theirs.

        The newest line of all is the newest of those that pass, if it does; and when it is too old, no line passes.
        """
        found: dict[str, LineRow] = {}
        rest = []
        with self._lock:
            for one in templates:
                line, began_s = self._lines.get(one, (None, 0.0))
                if line is None and self._met is not None and one not in self._met:
                    continue
                if line is None or now_s - began_s > self._lasts_s:
                    rest.append(one)
                    continue
                self._lines.move_to_end(one)
                if passes(line, only):
                    found[one] = line
                elif only.since_ms is None or line.time >= only.since_ms:
                    rest.append(one)
        return found, rest

    def times(self, templates: Iterable[str]) -> dict[str, int]:
        """Return when the last stored lines of these templates came; any number may be wrong by now."""
        with self._lock:
            return {one: self._times[one] for one in templates if one in self._times}

    @contextmanager
    def reading(self, templates: Collection[str], now_s: float) -> Iterator[Reading]:
        """Around a read whose finding may be remembered."""
        reading = Reading(templates, now_s)
        with self._lock:
            self._readings.add(reading)
        try:
            yield reading
        finally:
            with self._lock:
                self._readings.discard(reading)

    def remember(self, reading: Reading, lines: Mapping[str, LineRow]) -> None:
        """Keep the newest lines that a read found, but for templates that were written meanwhile."""
        with self._lock:
            for one, line in lines.items():
                if one in reading.untouched and line.id not in reading.written and len(line.text) <= _LONGEST_TEXT:
                    self._put(one, line, reading.began_s)
            self._trim()

    @contextmanager
    def storing(self, rows: Sequence[LineRow]) -> Iterator[None]:
        """Around a write. If it fails, nobody knows what is stored: nothing of these templates is remembered."""
        stored = False
        try:
            yield
            stored = True
        finally:
            if stored:
                self._note(rows)
            else:
                self._forget(rows)

    def forget(self) -> None:
        """Remember nothing."""
        with self._lock:
            self._met = None
            for one in list(self._lines):
                self._drop(one)
            for reading in self._readings:
                reading.untouched.clear()

    def _forget(self, rows: Sequence[LineRow]) -> None:
        with self._lock:
            for row in rows:
                self._drop(row.template)
                self._drop(self._templates.get(row.id, row.template))
            self._meet(rows)
            self._touch(rows)

    def _note(self, rows: Sequence[LineRow]) -> None:
        with self._lock:
            if len(self._times) > _MOST_TIMES:
                self._times.clear()
            lines, templates = self._lines, self._templates
            last = {row.id: row for row in rows}
            self._times.update((row.template, row.time) for row in rows)
            for row in reversed(last.values()):  # the newest come last: then the others take one look
                if row.id in templates:
                    self._rewrite(row)
                if row.template in lines:
                    if row.time >= lines[row.template][0].time:
                        self._replace(row)
                elif self._met is not None and row.template not in self._met:
                    self._met.add(row.template)
                    if len(row.text) <= _LONGEST_TEXT:
                        self._put(row.template, row, 0.0)
            self._meet(rows)
            self._trim()
            self._touch(rows)

    def _meet(self, rows: Sequence[LineRow]) -> None:
        if self._met is not None:
            self._met.update(row.template for row in rows)
            if len(self._met) > _MOST_TIMES:
                self._met = None

    def _trim(self) -> None:
        while len(self._lines) > MOST_TEMPLATES or self._characters > MOST_CHARACTERS:
            self._drop(next(iter(self._lines)))

    def _touch(self, rows: Sequence[LineRow]) -> None:
        if not self._readings:
            return
        templates, ids = {row.template for row in rows}, {row.id for row in rows}
        for reading in self._readings:
            reading.untouched -= templates
            reading.written |= ids

    def _rewrite(self, row: LineRow) -> None:
        template = self._templates[row.id]
        if row != self._lines[template][0]:
            self._drop(template)  # it may be older now, of another kind, or written twice at once: which one stays, the store knows

    def _replace(self, row: LineRow) -> None:
        line, began_s = self._lines[row.template]
        if place_of(row) <= place_of(line):
            return
        if len(row.text) <= _LONGEST_TEXT:
            self._put(row.template, row, began_s)
        else:
            self._drop(row.template)

    def _put(self, template: str, line: LineRow, began_s: float) -> None:
        self._drop(template)
        self._lines[template] = (line, began_s)
        self._templates[line.id] = template
        self._characters += len(line.text)

    def _drop(self, template: str) -> None:
        line, _ = self._lines.pop(template, (None, 0.0))
        if line is not None:
            if self._templates.get(line.id) == template:
                del self._templates[line.id]
            self._characters -= len(line.text)
