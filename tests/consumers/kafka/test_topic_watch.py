"""The watch for topics that fit a pattern: what it subscribes to, when it looks again, and what it says."""

import threading
from collections.abc import Collection

import pytest

from consumers.kafka.subscription import Subscription, TopicPattern
from consumers.kafka.topic_watch import TopicWatch

WAIT_S = 30.0
REFRESH_S = 30.0
APP = Subscription(names=("named",), patterns=(TopicPattern(include="app[.].*", exclude=(".*[.]old",)),), never=frozenset({"app.queries"}))


class Cluster:
    """Topics that the test changes; an answer waits for `gate`.

    Thread: any.
    """

    def __init__(self) -> None:
        self.topics: Collection[str] | None = ()
        self.asked = 0
        self.gate = threading.Event()
        self.gate.set()

    def ask(self) -> Collection[str] | None:
        self.asked += 1
        assert self.gate.wait(WAIT_S)
        return self.topics


class Watched:
    """A watch and what it has said; `look` is one whole look."""

    def __init__(self, subscription: Subscription = APP) -> None:
        self.cluster = Cluster()
        self.said: list[str] = []
        self.watch = TopicWatch(subscription, self.cluster.ask, refresh_s=REFRESH_S, say=self.said.append)
        self.now_s = 0.0

    def look(self, *topics: str) -> bool:
        """Let the next look find these; return whether there is something new to subscribe to."""
        self.cluster.topics = topics
        return self.look_again()

    def look_again(self) -> bool:
        asked = self.cluster.asked
        assert not self.watch.turn(self.now_s), "asking takes a turn of its own"
        wait_for_looks()
        has_changed = self.watch.turn(self.now_s)
        assert self.cluster.asked == asked + 1
        self.now_s += REFRESH_S
        return has_changed


def wait_for_looks() -> None:
    for thread in threading.enumerate():
        if thread.name == "topics":
            thread.join(WAIT_S)


@pytest.fixture
def watched() -> Watched:
    return Watched()


def test_without_patterns_the_names_are_subscribed_to_at_once_and_nobody_is_asked() -> None:
    watched = Watched(Subscription(names=("b", "a")))
    assert watched.watch.topics == ("b", "a")
    assert not any(watched.watch.turn(now_s) for now_s in (0.0, 100.0, 200.0))
    assert watched.cluster.asked == 0


def test_with_patterns_nothing_is_subscribed_to_until_the_first_answer(watched: Watched) -> None:
    assert not watched.watch.topics
    assert watched.look("app.b", "app.a", "app.a.old", "app.queries", "other", "__app.x")
    assert watched.watch.topics == ("named", "app.a", "app.b")
    assert watched.said == ["topics app.a, app.b fit a topic.pattern; read from now on"]


def test_a_new_topic_is_read_and_what_stays_as_it_was_is_no_change(watched: Watched) -> None:
    watched.look("app.a")
    assert not watched.look("app.a", "other")
    assert watched.look("app.a", "app.c")
    assert watched.watch.topics == ("named", "app.a", "app.c")
    assert watched.said[1:] == ["topic app.c fits a topic.pattern; read from now on"]


def test_a_topic_is_given_up_after_two_looks_without_it_and_not_after_one(watched: Watched) -> None:
    watched.look("app.a", "app.b")
    assert not watched.look("app.b")
    assert not watched.look("app.a", "app.b")
    assert not watched.look("app.b")
    assert watched.look("app.b")
    assert watched.watch.topics == ("named", "app.b")
    assert watched.said[1:] == ["topic app.a does not exist any more; not read from now on"]
    assert watched.look("app.a", "app.b")


def test_the_last_topic_that_goes_away_is_a_change_too() -> None:
    watched = Watched(Subscription(patterns=APP.patterns))
    assert not watched.look("other"), "there is nothing to subscribe to, and nothing was"
    assert watched.look("app.a")
    watched.look()
    assert watched.look()
    assert watched.watch.topics == ()


def test_a_pattern_that_fits_nothing_is_said_once_and_again_only_after_it_has_fitted(watched: Watched) -> None:
    line = "no topic fits topic.pattern 'app[.].*' yet; looking again every 30 s"
    watched.look("app.queries")
    watched.look()
    assert watched.said == [line]
    watched.look("app.a")
    watched.look()
    assert watched.said.count(line) == 2
    watched.look()
    assert watched.said.count(line) == 2


def test_looks_come_at_their_interval_and_a_failed_one_is_soon_repeated(watched: Watched) -> None:
    watched.look("app.a")
    watched.watch.turn(watched.now_s - 0.1)
    assert watched.cluster.asked == 1
    watched.cluster.topics = None
    watched.look_again()
    assert watched.watch.topics == ("named", "app.a"), "no answer is no news"
    failed_s = watched.now_s - REFRESH_S
    watched.watch.turn(failed_s + 0.9)
    assert watched.cluster.asked == 2
    watched.now_s = failed_s + 1.0
    assert watched.look("app.a", "app.b")


def test_polling_does_not_wait_for_an_answer(watched: Watched) -> None:
    watched.cluster.gate.clear()
    watched.cluster.topics = ("app.a",)
    assert not any(watched.watch.turn(now_s) for now_s in (0.0, 100.0, 200.0))
    assert watched.cluster.asked == 1, "one look at a time"
    watched.cluster.gate.set()
    wait_for_looks()
    assert watched.watch.turn(300.0)
    assert watched.watch.topics == ("named", "app.a")


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_look_that_fails_as_nobody_expects_ends_the_source(watched: Watched) -> None:
    watched.watch = TopicWatch(APP, lambda: 1 // 0 and (), refresh_s=REFRESH_S, say=watched.said.append)  # type: ignore[arg-type, return-value]
    watched.watch.turn(0.0)
    wait_for_looks()
    with pytest.raises(RuntimeError, match="the look for topics has failed"):
        watched.watch.turn(0.0)
