"""Which topics a group reads: names, patterns, and topics that it never reads, whatever fits.

The settings make one (`worker.settings.settings`), `consumers.kafka.kafka_source` subscribes to what it says, and tools ask it which topics
are ours. Patterns are RE2, as everywhere in the settings, and fit whole names: so the client's own patterns (POSIX in librdkafka, RE2/J in
the broker of KIP-848) are not used, and a topic means the same under both group protocols. Pure: it asks nobody which topics exist.
"""

from collections.abc import Iterable
from dataclasses import dataclass

_INTERNAL = "__"
"""Topics of Kafka and of tools around it begin so (`__consumer_offsets`). No pattern fits them; a name may."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicPattern:
    """Topics whose whole name fits `include` and none of `exclude`.

    Thread: any.
    """

    include: str
    exclude: tuple[str, ...] = ()

    def matching(self, topics: Iterable[str]) -> frozenset[str]:
        """Return those of the topics that fit."""
        candidates = [topic for topic in topics if not topic.startswith(_INTERNAL)]
        fitting = _matching(candidates, self.include)
        for pattern in self.exclude:
            fitting -= _matching(fitting, pattern)
        return fitting


@dataclass(frozen=True, slots=True, kw_only=True)
class Subscription:
    """A topic is read if it is named or fits a pattern, and is none of `never`.

    Thread: any.
    """

    names: tuple[str, ...] = ()
    """Read even if they do not exist yet."""
    patterns: tuple[TopicPattern, ...] = ()
    never: frozenset[str] = frozenset()
    """Topics that vectail itself writes or asks: queries, replies, dead letters."""

    def reads(self, topic: str) -> bool:
        """Whether this topic is read."""
        return bool(self.matching([topic]))

    def matching(self, topics: Iterable[str]) -> frozenset[str]:
        """Return those of the topics that are read."""
        given = frozenset(topics) - self.never
        named = given.intersection(self.names)
        return named.union(*(pattern.matching(given) for pattern in self.patterns))

    def topics_among(self, existing: Iterable[str]) -> tuple[str, ...]:
        """Return what to subscribe to when these topics exist: every name, and what fits a pattern, in the order of the alphabet."""
        fitting = self.matching(existing) if self.patterns else frozenset()
        return tuple(dict.fromkeys((*self.names, *sorted(fitting))))


def _matching(topics: Iterable[str], pattern: str) -> frozenset[str]:
    from consumers.columns import find_whole  # noqa: PLC0415 - names alone need no Arrow, which commands load slowly

    names = list(topics)
    return frozenset(names[place] for place in find_whole(names, pattern)) if names else frozenset()
