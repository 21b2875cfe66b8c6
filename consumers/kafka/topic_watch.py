"""Finds the topics that fit the patterns of a subscription while a source runs: new ones are read, those that go away are given up.

`consumers.kafka.kafka_source` calls `turn` at each poll and subscribes again when it returns True. Listing topics blocks until a broker
answers, so each look runs on a thread of its own and polling never waits for it. A topic that one look misses stays: a broker that has just
started may not know all of them yet, and to leave and join costs the group a rebalance each.
"""

import threading
from collections.abc import Callable, Collection

from consumers.kafka.subscription import Subscription

_RETRY_S = 1.0
"""Pause before a look is repeated that no broker has answered."""
_MOST_NAMED = 5
"""Topics that one line names."""


class TopicWatch:
    """`topics` is what the last looks say the group reads; names are in it whether they exist or not.

    Thread: one, its source's; `topics` from any.
    """

    def __init__(
        self,
        subscription: Subscription,
        ask: Callable[[], Collection[str] | None],
        *,
        refresh_s: float,
        say: Callable[[str], None],
    ) -> None:
        """`ask` lists every topic there is, or returns None if no broker answers in time; it is called on other threads."""
        self._subscription = subscription
        self._ask = ask
        self._refresh_s = refresh_s
        self._say = say
        self.topics: tuple[str, ...] = () if subscription.patterns else subscription.names
        """Replaced whole. With patterns it is empty until the first look, so that a member does not join twice."""
        self._looked = False
        self._missed: frozenset[str] = frozenset()
        """Topics that the last look has missed."""
        self._unfitting: frozenset[str] = frozenset()
        """Patterns that fitted nothing at the last look."""
        self._look: _Look | None = None
        self._next_s = 0.0

    def turn(self, now_s: float) -> bool:
        """Begin a look if one is due, and take in the one that has ended; return whether `topics` has changed."""
        if not self._subscription.patterns:
            return False
        if self._look is None:
            if now_s >= self._next_s:
                self._look = _Look(self._ask)
            return False
        if self._look.is_running:
            return False
        existing, self._look = self._look.answer(), None
        self._next_s = now_s + (min(_RETRY_S, self._refresh_s) if existing is None else self._refresh_s)
        return existing is not None and self._take_in(existing)

    def _take_in(self, existing: Collection[str]) -> bool:
        fitting = frozenset(self._subscription.topics_among(existing))
        before = frozenset(self.topics)
        missed = before - fitting
        wanted = fitting | (missed - self._missed)
        self._missed = missed & wanted
        self._say_unfitting(existing)
        if wanted == before and self._looked:
            return False
        self._say_changes(wanted - before - frozenset(self._subscription.names), before - wanted)
        self._looked = True
        names = [name for name in self._subscription.names if name in wanted]
        self.topics = tuple(dict.fromkeys((*names, *sorted(wanted))))
        return self.topics != () or bool(before)

    def _say_unfitting(self, existing: Collection[str]) -> None:
        """Say once of each pattern that nothing fits it; again only after something did."""
        never = self._subscription.never
        unfitting = frozenset(one.include for one in self._subscription.patterns if not one.matching(existing) - never)
        for pattern in sorted(unfitting - self._unfitting):
            self._say(f"no topic fits topic.pattern {pattern!r} yet; looking again every {self._refresh_s:g} s")
        self._unfitting = unfitting

    def _say_changes(self, come: Collection[str], gone: Collection[str]) -> None:
        if come:
            self._say(f"{_named(come)} fit{'s' if len(come) == 1 else ''} a topic.pattern; read from now on")
        if gone:
            self._say(f"{_named(gone)} {'does' if len(gone) == 1 else 'do'} not exist any more; not read from now on")


class _Look:
    """One question on a thread of its own.

    Thread: one; `_run` its own.
    """

    def __init__(self, ask: Callable[[], Collection[str] | None]) -> None:
        self._ask = ask
        self._answers: list[Collection[str] | None] = []
        self._thread = threading.Thread(target=self._run, name="topics", daemon=True)
        self._thread.start()

    @property
    def is_running(self) -> bool:
        return self._thread.is_alive()

    def answer(self) -> Collection[str] | None:
        """Return what was answered. Raises RuntimeError if asking has failed in a way that nobody expects."""
        if not self._answers:
            raise RuntimeError("the look for topics has failed; its traceback is in the log")
        return self._answers[0]

    def _run(self) -> None:
        self._answers.append(self._ask())


def _named(topics: Collection[str]) -> str:
    """Name topics: at most five, and how many more there are."""
    names = sorted(topics)
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return f"topic{'' if len(names) == 1 else 's'} {', '.join(names[:_MOST_NAMED])}{more}"
