"""Asks workers for counts while they work, die and start again; every answer must be right (`tests.faults.counted_lines` counts).

Right: a group has at least the lines that were committed before the question, and at most those that were sent before the answer. Where
both are the same, as in windows that are over, an answer is exact. An answer that says it is not complete may lack lines.
"""

import http.client
import json
import threading
import time
from collections import Counter, deque
from collections.abc import Sequence
from random import Random
from typing import Any, Self

from tests.faults.counted_lines import (
    GAP_MS,
    KINDS,
    SHORT_MS,
    TO_AND_FRO_MS,
    CountedLine,
    Question,
    answered,
    brute_force,
    draw,
    wrong_groups,
)
from tests.faults.counts_feed import CountsFeed
from tests.faults.pages import Pages
from tests.faults.worker_process import WAIT_S, WorkerProcess

ANSWERS_S = 300.0
"""For some dozens of answers under load: minutes where a machine has other work."""
_PAUSE_S = 0.05
_OVER_SHARE = 0.6
"""Of the questions: all lines of their windows are settled, so their answers must be exact."""
_OVER_LINES = (SHORT_MS + 2 * TO_AND_FRO_MS) // GAP_MS
"""So many lines before the first that is not settled, a window may reach it."""
_LATER = (429, 503)
"""What a worker answers that is busy, starting or ending."""


class WrongCount(AssertionError):
    """An answer that says it is complete, and is not right."""


class CountsWatch:
    """Asks again and again until the block ends; a wrong answer fails the test there.

    Thread: one of its own asks; `ask_worker` and `check_all` are the test's.
    """

    def __init__(self, feed: CountsFeed, *, settled_s: float = 0.0) -> None:
        """`settled_s`: lines committed so long ago must be counted."""
        self.exact: Counter[tuple[str, ...]] = Counter()
        """By what was grouped: complete answers with lines in them of which everything was known, without those of `check_all`."""
        self.outcomes: Counter[str] = Counter()
        """`right`, `incomplete`, or `unanswered`."""
        self._feed = feed
        self._settled_s = settled_s
        self._chance = Random(7)
        self._ids: dict[str, str] = {}
        """Of templates by their kinds, as answers have told them."""
        self._pages: Pages | None = None
        self._commits: deque[tuple[float, list[CountedLine]]] = deque()
        """When lines were known to be committed, the oldest first; the first are `settled_s` old or nearly."""
        self._over = threading.Event()
        self._failed: Exception | None = None
        self._thread = threading.Thread(target=self._ask_again_and_again, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_more: object) -> None:
        self._over.set()
        self._thread.join()
        if kind is None:
            self._raise_failure()

    def ask_worker(self, worker: WorkerProcess | None) -> None:
        """Ask this one from now on."""
        self._pages = None if worker is None else Pages(worker)

    def wait_for_answers(self, answers: int, worker: WorkerProcess, *, exact: int = 0) -> None:
        """Wait until so many more are right and complete, and so many in all were `exact`, while the worker lives."""
        enough, until_s = self.outcomes["right"] + answers, time.monotonic() + ANSWERS_S
        while self.outcomes["right"] < enough or self.exact.total() < exact:
            self._raise_failure()
            assert time.monotonic() < until_s, f"{self.outcomes} of {enough}, {self.exact} of {exact}: {worker.lines[-10:]}"
            assert worker.stays_alive(_PAUSE_S), f"the worker ended: {worker.lines}"

    def wait_for_end(self, worker: WorkerProcess) -> int:
        """Wait until the worker has ended; return its exit code."""
        until_s = time.monotonic() + WAIT_S
        while worker.stays_alive(_PAUSE_S) and time.monotonic() < until_s:
            self._raise_failure()
        return worker.wait()

    def check_all(self, questions: int) -> None:
        """Wait until everything sent is committed and settled; then so many questions must be answered exactly. Ends the asking."""
        self._over.set()
        self._thread.join()
        self._raise_failure()
        everything, until_s = list(self._feed.sent), time.monotonic() + WAIT_S
        while len(settled := self._settled()) < len(everything):
            assert time.monotonic() < until_s, f"{len(settled)} of {len(everything)} lines are committed"
            time.sleep(_PAUSE_S)
        for question in (Question(("template",)), *(draw(self._chance, everything, self._ids) for _ in range(questions))):
            answer = self._answer(question)
            assert answer is not None, "the worker does not answer"
            assert answer["complete"], question
            self._judge(question, answer, everything, everything)

    def _raise_failure(self) -> None:
        if self._failed is not None:
            raise self._failed

    def _ask_again_and_again(self) -> None:
        try:
            while not self._over.wait(_PAUSE_S):
                if self._pages is not None and self._feed.sent:
                    self._ask()
        except Exception as failure:  # noqa: BLE001 - the test raises it
            self._failed = failure

    def _ask(self) -> None:
        settled, sent = self._settled(), list(self._feed.sent)
        over = _before_the_rest(sent, settled)
        is_over = bool(over) and self._chance.random() < _OVER_SHARE
        question = draw(self._chance, over if is_over else sent, self._ids, in_a_year=is_over)
        answer = self._answer(question)
        sent = list(self._feed.sent)
        if answer is None:
            self.outcomes["unanswered"] += 1
        else:
            self.exact[question.by] += self._judge(question, answer, settled if answer["complete"] else [], sent)
            self.outcomes["right" if answer["complete"] else "incomplete"] += 1

    def _settled(self) -> list[CountedLine]:
        """Return the lines that were committed `settled_s` ago."""
        now_s = time.monotonic()
        self._commits.append((now_s, self._feed.below(self._feed.committed())))
        while len(self._commits) > 1 and self._commits[1][0] <= now_s - self._settled_s:
            self._commits.popleft()
        at_s, settled = self._commits[0]
        return settled if at_s <= now_s - self._settled_s else []

    def _answer(self, question: Question) -> dict[str, Any] | None:
        pages = self._pages
        if pages is None:
            return None
        try:
            status, body = pages.post("/api/counts", question.document(self._ids))
        except (OSError, http.client.HTTPException):  # it was killed
            return None
        if status in _LATER:
            return None
        assert status == 200, (status, body, question)
        found: dict[str, Any] = json.loads(body)
        if "template" in question.by:
            self._ids |= {kind: row["template"] for row in found["counts"] if (kind := row["text"].split()[0]) in KINDS}
        return found

    def _judge(self, question: Question, answer: dict[str, Any], settled: list[CountedLine], sent: list[CountedLine]) -> bool:
        """Raise WrongCount unless the answer is right; return whether it had lines and both bounds were the same."""
        bucket_ms = answer.get("bucket_ms", 1)  # an answer without lines has none
        least, most = (brute_force(lines, question, bucket_ms) for lines in (settled, sent))
        if wrong := wrong_groups(answered(question, answer), least, most):
            raise WrongCount(f"{question}: at least, counted, at most: {dict(list(wrong.items())[:10])}")
        return least == most != {}


def _before_the_rest(sent: Sequence[CountedLine], settled: Sequence[CountedLine]) -> Sequence[CountedLine]:
    """Return the lines from whose times no window reaches a line that is not settled."""
    known = {line.number for line in settled}
    first = next((line.number for line in sent if line.number not in known), len(sent))
    return sent[: max(first - _OVER_LINES, 0)]
