"""How well questions are answered: how many found something, and how near the best of it was.

`worker.querying.answer` counts each question for lines or templates that has a text, but for the worker's own.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, cast

from worker.asking.question import Query
from worker.querying.line_search import LINES
from worker.querying.template_listing import TEMPLATES
from worker.runtime.histogram import Histogram

COSINES: Final = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0)
RESULTS: Final = ("found", "empty")
_LISTS: Final = {LINES.name: "hits", TEMPLATES.name: "templates"}


@dataclass(slots=True)
class FoundTally:
    """Counters that only grow.

    Thread: written by the answer thread, read by any.
    """

    results: Counter[str] = field(default_factory=Counter)
    """Questions by what they got: `found`, or `empty`."""
    best: Histogram = field(default_factory=lambda: Histogram(COSINES))
    """The best cosine of each answer by meaning that found something."""

    def note(self, query: Query, document: Mapping[str, object]) -> None:
        """Count a question that is answered; `document` is the answer."""
        key = _LISTS.get(query.form)
        if query.text is None or query.around is not None or key is None:
            return
        found = cast("Sequence[Mapping[str, object]]", document[key])
        self.results["found" if found else "empty"] += 1
        scores = [score for one in found if isinstance(score := one.get("score"), float)]
        if scores and document["mode"] != "words":
            self.best.add(min(max(scores), 1.0))  # rounding may exceed 1
