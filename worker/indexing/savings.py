"""What the steps before the engine save, counted per topic.

`worker.indexing.flights` counts under its lock what becomes of every line; `demo`, the log of `run` and the metrics read it.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from worker.embedding.cache.vector_levels import SOURCES, VectorSource
from worker.indexing.hyperloglog import HyperLogLog


@dataclass(slots=True)
class Savings:
    """Counters of one topic or of several: `chunks` = known + collapsed + rejected + all sources + flights that are not finished.

    Thread: written under the lock of the flights, read by any.
    """

    chunks: int = 0
    """A line, or each part of a long one."""
    known: int = 0
    """Went straight to the store: the row of their template was acknowledged before."""
    collapsed: int = 0
    """Waited for a new template that an earlier chunk had brought."""
    rejected: int = 0
    """Had a template that cannot be embedded or stored."""
    sources: Counter[VectorSource] = field(default_factory=Counter)
    """Chunks that brought a new template, by where its vector came from."""
    tokens_embedded: int = 0
    """Computed by the engine; special tokens and prefix included, as in `tokens_saved`."""
    tokens_saved: int = 0
    """Of chunks that the engine did not compute."""
    distinct: HyperLogLog = field(default_factory=HyperLogLog)
    """Distinct templates, estimated."""

    def facts(self) -> dict[str, object]:
        """Return the counters by name, as `--json` and the log show them."""
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


def merge_savings(savings: Iterable[Savings]) -> Savings:
    """Return the sum over several topics; a template that is in two of them counts once in `distinct`."""
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
