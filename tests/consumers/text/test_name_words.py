"""Single names: what announces one, what shows that a word is none, and that no state is one."""

import pytest

from consumers.text.families import family_of
from consumers.text.name_words import drop_names, find_likely_names, is_ordinary
from tests.rows import rows

STATES = (
    "up down open opened closed on off ready unready online offline lost failed running stopped idle busy dead alive unknown missing "
    "invalid valid full empty active inactive healthy unhealthy voter learner hibernate cors csrf selinux enospc epipe sigterm sigkill "
    "evict encrypt mlock enabled disabled pending stale waiting left died exits unreachable available unavailable corrupt"
)
BEFORE = ("container", "pod", "node", "user", "job", "table", "service", "link is", "for", "on", "queue", "by")
AFTER = ("", " now", " at", ": x", " for")


@pytest.mark.parametrize("state", STATES.split())
def test_a_state_stays_wherever_it_stands_and_makes_another_family(state: str) -> None:
    for text in (f"{before} {state}{after}" for before in BEFORE for after in AFTER):
        assert drop_names(text) == text
        assert find_likely_names(text.split()) == []
    assert family_of(f"the container {state}") != family_of("the container was seen")


@pytest.mark.parametrize(("text", "left"), rows("names/announced"))
def test_a_name_goes_where_it_is_announced_and_no_phrase_goes_on(text: str, left: str) -> None:
    assert drop_names(text) == left == drop_names(left)


def test_ordinary_words_are_those_of_the_language_and_its_endings() -> None:
    assert [word for word in ("memory", "restarted", "connection", "nadia", "kubelet") if not is_ordinary(word)] == ["nadia"]


def test_families_take_a_name_or_two_for_none_and_more_for_what_is_said() -> None:
    one, other = (family_of(f"slow query on {table} took {{}}") for table in ("orders", "customer_events"))
    assert one == other
    assert family_of("run of job-abcx on athena ended") == family_of("run of job-abcy on zeus ended")
    assert family_of("a-zzz b-zzz c-zzz d-zzz") != family_of("a-zzz b-zzz c-zzz e-zzz")
