"""The watchdog: how long a batch may take, and what it leaves in the log."""

import threading

import pytest

from worker.watchdog import EngineHangs, Watchdog


@pytest.mark.parametrize(("since_s", "now_s"), [(None, 1e9), (100.0, 100.0), (100.0, 109.9), (100.0, 110.0)])
def test_an_engine_that_rests_or_has_time_left_is_let_alone(since_s: float | None, now_s: float, capfd: pytest.CaptureFixture[str]) -> None:
    Watchdog(lambda: since_s, hang_s=10.0).check(now_s)
    assert capfd.readouterr() == ("", "")


def test_every_batch_has_the_whole_time(capfd: pytest.CaptureFixture[str]) -> None:
    since_s: list[float | None] = [100.0, 109.0, None, 118.0]
    watchdog = Watchdog(lambda: since_s.pop(0), hang_s=10.0)
    for now_s in (108.0, 117.0, 130.0):
        watchdog.check(now_s)
    with pytest.raises(EngineHangs):
        watchdog.check(130.0)
    assert since_s == []
    assert "most recent call first" in capfd.readouterr().err


def test_an_engine_that_hangs_ends_in_one_line_that_names_the_setting(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(EngineHangs, match=r"^the engine has not answered for 2\.5 s \(engine\.hang_s\); the stacks are in the log$"):
        Watchdog(lambda: 100.0, hang_s=2.5).check(102.6)
    assert capfd.readouterr().out == ""


def test_the_stacks_of_all_threads_are_on_standard_error(capfd: pytest.CaptureFixture[str]) -> None:
    inside, end = threading.Event(), threading.Event()

    def a_call_that_hangs() -> None:
        inside.set()
        end.wait()

    thread = threading.Thread(target=a_call_that_hangs, daemon=True)
    thread.start()
    inside.wait()
    with pytest.raises(EngineHangs):
        Watchdog(lambda: 0.0, hang_s=1.0).check(2.0)
    end.set()
    thread.join()
    stacks = capfd.readouterr().err
    assert "in a_call_that_hangs" in stacks
    assert "in test_the_stacks_of_all_threads_are_on_standard_error" in stacks
