"""What became of the records: every one that got a receipt counts under just one outcome, by topic.

`consumers.ledger` counts here, under its lock. `admitted` is the sum of all the others at any moment: `indexed`, `dead_letter`,
`dropped:REASON`, `abandoned` (done after its assignment was over, so that it is read again) and `in_flight`.
"""

from collections import Counter


class Outcomes:
    """Counts since the start, over all assignments.

    Thread: any, under its Ledger's lock.
    """

    def __init__(self) -> None:
        self._topics: dict[str, Counter[str]] = {}

    def of(self, topic: str) -> Counter[str]:
        """Return where the records of a topic are counted: `admitted`, and later each under its outcome."""
        return self._topics.setdefault(topic, Counter())

    def by_topic(self) -> dict[str, Counter[str]]:
        """Return a copy, with what is in flight."""
        found = {topic: Counter(tally) for topic, tally in self._topics.items()}
        for tally in found.values():
            tally["in_flight"] = 2 * tally["admitted"] - tally.total()
        return found
