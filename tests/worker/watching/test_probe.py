"""Probes: their result before, during and after a check."""

import threading

from worker.watching.probe import ANSWER_LIMIT_S, Probe, ProbeFailed

WAIT_S = 20.0


class Asked:
    """A dependency that answers as the test says."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.wrong = ""
        self.may_answer = threading.Event()
        self.may_answer.set()
        self.has_begun = threading.Event()
        self.times = 0
        self.probe = Probe("thing", self.ask, every_s=0.001, clock=lambda: self.now_s)

    def ask(self) -> None:
        self.times += 1
        self.has_begun.set()
        assert self.may_answer.wait(WAIT_S)
        if self.wrong:
            raise ProbeFailed(self.wrong)


def test_it_says_what_is_wrong_until_it_is_not_any_more() -> None:
    asked = Asked()
    assert asked.probe.error_line() == "not asked yet"
    asked.wrong = "away"
    asked.probe.check_once()
    assert asked.probe.error_line() == "away"
    asked.wrong = ""
    asked.probe.check_once()
    assert asked.probe.error_line() == ""


def test_a_fault_without_words_is_a_fault() -> None:
    def fail() -> None:
        raise ProbeFailed

    probe = Probe("thing", fail, every_s=1.0, clock=lambda: 7.0)
    probe.check_once()
    assert probe.error_line() == "no reason given"
    assert probe.away_since_s() == 7.0


def test_a_question_that_stays_open_for_too_long_is_no_answer_and_a_late_one_is() -> None:
    asked = Asked()
    asked.probe.check_once()
    asked.may_answer.clear()
    asked.has_begun.clear()
    thread = threading.Thread(target=asked.probe.check_once)
    thread.start()
    assert asked.has_begun.wait(WAIT_S)
    asked.now_s = ANSWER_LIMIT_S
    assert asked.probe.error_line() == ""
    asked.now_s = ANSWER_LIMIT_S + 4
    assert asked.probe.error_line() == "no answer for 7 s"
    asked.may_answer.set()
    thread.join(WAIT_S)
    assert asked.probe.error_line() == ""


def test_it_asks_again_and_again_until_it_is_stopped() -> None:
    asked = Asked()
    thread = threading.Thread(target=asked.probe.body)
    thread.start()
    for _ in range(3):
        asked.has_begun.clear()
        assert asked.has_begun.wait(WAIT_S)
    asked.probe.stop()
    thread.join(WAIT_S)
    assert not thread.is_alive()
    assert asked.times >= 3
