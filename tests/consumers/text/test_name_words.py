"""Single names: what announces one, what shows that a word is none, and that no state is one."""

import pytest

from consumers.text.families import family_of
from consumers.text.name_words import drop_names, find_likely_names, is_ordinary

STATES = (
    *(
        "up",
        "down",
        "open",
        "opened",
        "closed",
        "on",
        "off",
        "ready",
        "unready",
        "online",
        "offline",
        "lost",
        "failed",
        "running",
        "stopped",
    ),
    *(
        "idle",
        "busy",
        "dead",
        "alive",
        "unknown",
        "missing",
        "invalid",
        "valid",
        "full",
        "empty",
        "active",
        "inactive",
        "healthy",
        "unhealthy",
    ),
    *("voter", "learner", "hibernate", "cors", "csrf", "selinux", "enospc", "epipe", "sigterm", "sigkill", "evict", "encrypt", "mlock"),
    *("enabled", "disabled", "pending", "stale", "waiting", "left", "died", "exits", "unreachable", "available", "unavailable", "corrupt"),
)
BEFORE = ("container", "pod", "node", "user", "job", "table", "service", "link is", "for", "on", "queue", "by")
AFTER = ("", " now", " at", ": x", " for")


@pytest.mark.parametrize("state", STATES)
def test_a_state_stays_wherever_it_stands_and_makes_another_family(state: str) -> None:
    for text in (f"{before} {state}{after}" for before in BEFORE for after in AFTER):
        assert drop_names(text) == text
        assert find_likely_names(text.split()) == []
    assert family_of(f"the container {state}") != family_of("the container was seen")


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("token refreshed for nadia", "token refreshed for"),
        ("wrong password for backup (attempt )", "wrong password for (attempt )"),
        ("run of nightly-vakuum on athena, then on zeus.", "run of on , then on ."),
        ("Container 'cart' was killed", "Container '' was killed"),
        ("rows of table orders were lost", "rows of table were lost"),
        ('msg="nadia signed in from', 'msg=" signed in from'),
        ("user ada bob", "user ada bob"),
        ("with statuscode:", "with statuscode:"),
        ("waiting for lock", "waiting for lock"),
        ("database: zzlock: rolled back", "database: zzlock: rolled back"),
        ("server: zeus, request", "server: , request"),
        ("table lock timeout", "table lock timeout"),
        ("user signed in", "user signed in"),
        ("closed by [preauth]", "closed by [preauth]"),
        ("Failed to zorkify", "Failed to zorkify"),
        ("unable to zorkify: x", "unable to zorkify: x"),
        ("moved to zeus", "moved to"),
        (f"for {'a' * 65}", f"for {'a' * 65}"),
    ],
)
def test_a_name_goes_where_it_is_announced_and_no_phrase_goes_on(text: str, left: str) -> None:
    assert drop_names(text) == left == drop_names(left)


def test_ordinary_words_are_those_of_the_language_and_its_endings() -> None:
    assert [word for word in ("memory", "restarted", "connection", "nadia", "kubelet") if not is_ordinary(word)] == ["nadia"]


def test_families_take_a_name_or_two_for_none_and_more_for_what_is_said() -> None:
    one, other = (family_of(f"slow query on {table} took {{}}") for table in ("orders", "customer_events"))
    assert one == other
    assert family_of("run of job-abcx on athena ended") == family_of("run of job-abcy on zeus ended")
    assert family_of("a-zzz b-zzz c-zzz d-zzz") != family_of("a-zzz b-zzz c-zzz e-zzz")
