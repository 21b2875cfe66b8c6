"""What a filled view must hold before it is asked."""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from sinks.sink import TemplateHit
from tests.fakes.sink import FakeSink, FakeTemplates
from tests.worker.reindex.two_models import NEW, OLD, HashModel
from worker.inspecting.busy_retry import BusyRetry
from worker.reindex.gate import Judgement, judge


@pytest.fixture
def views() -> tuple[FakeTemplates, FakeTemplates]:
    """The same templates in two views."""
    sink = FakeSink(dim=OLD.dim)
    sink.open()
    new = sink.open_view(NEW, create=True)
    texts = [f"text {n}" for n in range(60)]
    sink.templates.upsert([HashModel(OLD).row(text) for text in texts])
    new.upsert([HashModel(NEW).row(text) for text in texts])
    return sink.templates, new


def _retry(clock: Callable[[], float]) -> BusyRetry:
    return BusyRetry(limit_s=1.0, say=lambda _line: None, pause=lambda _s: False, clock=clock)


def _judged(old: FakeTemplates, new: FakeTemplates, busy_retry: BusyRetry) -> Judgement:
    judged = judge(old, new, HashModel(NEW), busy_retry, lambda: True)
    assert judged is not None
    return judged


def _slower(view: FakeTemplates, now_s: list[float], *, by_s: list[float]) -> None:
    """Let each search take one of these times, the last one for ever."""
    nearest = view.nearest

    def slow(vectors: NDArray[np.float32], limit: int) -> list[list[TemplateHit]]:
        now_s[0] += by_s.pop(0) if len(by_s) > 1 else by_s[0]
        return nearest(vectors, limit)

    view.nearest = slow  # type: ignore[method-assign]


def test_a_view_that_is_slow_to_search_fails_and_one_that_was_slow_for_a_moment_does_not(
    views: tuple[FakeTemplates, FakeTemplates],
) -> None:
    old, new = views
    now_s = [0.0]
    _slower(old, now_s, by_s=[0.02])
    _slower(new, now_s, by_s=[*[1.0] * 41, 0.03])
    findings, overlap = _judged(old, new, _retry(lambda: now_s[0]))
    assert {one.name: one.is_met for one in findings} == {"complete": True, "vectors": True, "speed": True}
    assert overlap is not None
    assert 0 <= overlap < 1
    _slower(new, now_s, by_s=[0.03])
    findings, _ = _judged(old, new, _retry(lambda: now_s[0]))
    assert [one.name for one in findings if not one.is_met] == ["speed"]


@pytest.mark.parametrize("wrong", ["missing", "another length", "another vector"])
def test_what_is_not_as_the_model_makes_it_fails(views: tuple[FakeTemplates, FakeTemplates], wrong: str) -> None:
    old, new = views
    template = min(new)
    row = new[template]
    if wrong == "missing":
        del new[template]
    else:
        new[template] = row._replace(vector=row.vector * 2 if wrong == "another length" else -row.vector)
    findings, _ = _judged(old, new, _retry(lambda: 0.0))
    assert [one.name for one in findings if not one.is_met] == ["complete" if wrong == "missing" else "vectors"]


@pytest.mark.parametrize(("brought", "is_met"), [(2, True), (1, False)])
def test_what_came_after_the_filling_is_brought_and_what_cannot_be_brought_fails(
    views: tuple[FakeTemplates, FakeTemplates], brought: int, *, is_met: bool
) -> None:
    old, new = views
    late = ["late 1", "late 2"]
    old.upsert([HashModel(OLD).row(text) for text in late])

    def fill() -> bool:
        new.upsert([HashModel(NEW).row(text) for text in late[:brought]])
        return True

    judged = judge(old, new, HashModel(NEW), _retry(lambda: 0.0), fill)
    assert judged is not None
    assert (judged[0][0].name, judged[0][0].is_met) == ("complete", is_met)


def test_a_view_that_is_given_up_meanwhile_is_not_judged(views: tuple[FakeTemplates, FakeTemplates]) -> None:
    old, new = views
    old.upsert([HashModel(OLD).row("late")])
    assert judge(old, new, HashModel(NEW), _retry(lambda: 0.0), lambda: False) is None
