"""What the steps before the engine saved, counted for each topic.

Flights count, under their own lock, what became of every chunk; `demo`, the log of `run` and the metrics read it.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from worker.indexing.hyperloglog import HyperLogLog
from worker.messages import SOURCES, Source


@dataclass(slots=True)
class Savings:
    """Of one topic, or of several together; `chunks` is the sum of known, collapsed, rejected, what flies, and every source.

    Thread: written under the lock of the flights, read by anyone.
    """

    chunks: int = 0
    """Lines, or chunks of long lines."""
    known: int = 0
    """Went past everything: their template's row was acknowledged before."""
    collapsed: int = 0
    """Waited for a template that another line had begun."""
    rejected: int = 0
    """Of a template that failed alone before, or while they waited for it."""
    sources: Counter[Source] = field(default_factory=Counter)
    """Chunks that began a flight, by who had the vector."""
    tokens_embedded: int = 0
    tokens_saved: int = 0
    """Of chunks whose template the engine did not compute for them; special tokens and prefix included."""
    distinct: HyperLogLog = field(default_factory=HyperLogLog)
    """Different templates."""

    def facts(self) -> dict[str, Any]:
        """Return the figures by name, as `--json` and the log show them."""
        tokens = self.tokens_embedded + self.tokens_saved
        return {
            "chunks": self.chunks,
            "distinct": int(self.distinct),
            "known": self.known,
            "collapsed": self.collapsed,
            "rejected": self.rejected,
            **{f"from_{source}": self.sources[source] for source in SOURCES},
            "tokens_embedded": self.tokens_embedded,
            "tokens_saved": self.tokens_saved,
            "saved_share": round(self.tokens_saved / tokens, 4) if tokens else 0.0,
        }


def together(savings: Iterable[Savings]) -> Savings:
    """Add up several topics; a template of two topics is one."""
    total = Savings()
    for one in savings:
        total.chunks += one.chunks
        total.known += one.known
        total.collapsed += one.collapsed
        total.rejected += one.rejected
        total.sources += one.sources
        total.tokens_embedded += one.tokens_embedded
        total.tokens_saved += one.tokens_saved
        total.distinct.merge(one.distinct)
    return total
