"""The last warnings and errors: counted, bounded, newest first, and without secrets."""

import pytest

from worker.runtime.logs import RateLimitedLog, inform, recent_faults, redact_secrets, report_crash, warn
from worker.runtime.recent_faults import MOST_FAULTS, RecentFaults


def test_a_line_that_comes_again_is_counted_and_comes_first() -> None:
    now_s = iter(range(10))
    faults = RecentFaults(clock=lambda: float(next(now_s)))
    for event in ("kafka is away", "redis is away", "kafka is away"):
        faults.note("warning", event)
    faults.note("error", "redis is away")
    assert [(one.level, one.event, one.times, one.last_s) for one in faults.newest_first()] == [
        ("error", "redis is away", 1, 3.0),
        ("warning", "kafka is away", 2, 2.0),
        ("warning", "redis is away", 1, 1.0),
    ]


def test_only_the_last_ones_are_held_and_of_a_long_one_the_beginning() -> None:
    faults = RecentFaults()
    for number in range(10 * MOST_FAULTS):
        faults.note("warning", f"{number} " + "x" * 10_000)
    found = faults.newest_first()
    assert len(found) == MOST_FAULTS
    assert found[0].event.startswith(f"{10 * MOST_FAULTS - 1} x")
    assert max(len(one.event) for one in found) < 600


@pytest.fixture
def own_line(request: pytest.FixtureRequest) -> str:
    """A line that no other test logs."""
    return f"line of {request.node.name}"


def noted(line: str) -> list[tuple[str, str, int]]:
    return [(one.level, one.event, one.times) for one in recent_faults().newest_first() if line in one.event]


def test_a_warning_that_is_too_soon_to_be_written_again_is_counted_all_the_same(own_line: str) -> None:
    written: list[str] = []
    limited = RateLimitedLog(written.append, clock=lambda: 0.0)
    for _ in range(3):
        limited.warn(own_line)
    assert written == [own_line]
    assert noted(own_line) == [("warning", own_line, 3)]


def test_what_the_worker_logs_is_remembered_if_it_is_a_warning_or_an_error(own_line: str) -> None:
    inform(own_line, figure=1)
    assert noted(own_line) == []
    warn(own_line, topic="a\x1b[2J")
    assert noted(own_line) == [("warning", f"{own_line}; topic = a\\x1b[2J", 1)]
    report_crash(ValueError(own_line))
    assert noted(own_line)[0] == ("error", f"crashed: ValueError: {own_line}", 1)


def test_a_secret_of_the_settings_is_left_out(own_line: str) -> None:
    redact_secrets([f"s3cret-of-{own_line}"])
    RateLimitedLog(lambda _line: None).warn(f"login with s3cret-of-{own_line} refused")
    assert noted("login with") == [("warning", "login with ********** refused", 1)]
