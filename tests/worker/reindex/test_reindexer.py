"""The change of an index's model, on a fake sink: what is asked, what is filled, and what is left after any end."""

from collections.abc import Callable, Sequence
from itertools import count
from typing import cast

import pytest

from sinks.index_spaces import VectorSpace
from sinks.sink import Sink, SinkMismatch
from tests.fakes.sink import FakeSink
from tests.template_ids import id_of
from tests.worker.reindex.two_models import NEW, OLD, HashModel, Killed, OwnView, Worker, wrong_rows
from worker.reindex.space_changes import DROP_AFTER_MS, StepRefused
from worker.runtime.fail_point import REINDEX_POINTS

TEXTS = [f"text {n} failed" for n in range(300)]


@pytest.fixture
def sink() -> FakeSink:
    sink = FakeSink(dim=OLD.dim)
    sink.open()
    sink.templates.upsert([HashModel(OLD).row(text) for text in TEXTS])
    return sink


@pytest.fixture
def clock() -> Callable[[], float]:
    """Every look at it takes 20 s."""
    ticks = count()
    return lambda: 20.0 * next(ticks)


def new_worker(
    sink: FakeSink, clock: Callable[[], float], *, name: str = "a", home: VectorSpace = OLD, has: Sequence[VectorSpace] = (OLD, NEW)
) -> Worker:
    return Worker(cast("Sink", OwnView(sink, home)), clock, name=name, home=home, has=has)


def changed(sink: FakeSink, clock: Callable[[], float]) -> Worker:
    worker = new_worker(sink, clock)
    worker.reindexer.start(NEW, "new-model", ())
    worker.look(2)
    assert worker.reindexer.active == NEW.id
    return worker


def test_a_filled_view_is_asked_and_has_every_template(sink: FakeSink, clock: Callable[[], float]) -> None:
    worker = changed(sink, clock)
    assert (sink.spaces().preferred, sink.spaces().views[OLD.id].state, sink.spaces().views[NEW.id].state) == (NEW.id, "old", "ready")
    assert sink.views[NEW.id].keys() == sink.views[OLD.id].keys() == {id_of(text) for text in TEXTS}
    assert worker.sink.templates is sink.views[NEW.id]
    assert worker.models.used == [NEW.id]
    assert not wrong_rows(sink)


def test_what_is_there_is_not_embedded_again_when_another_worker_goes_on(sink: FakeSink, clock: Callable[[], float]) -> None:
    sink.templates.upsert([HashModel(OLD).row(f"a longer text {n} {'x' * 1_000}") for n in range(1_200)])
    first = new_worker(sink, clock)
    first.reindexer.start(NEW, "new-model", ())
    first.look_until_killed(after_batches=600)
    there = {row.text for row in sink.views[NEW.id].values()}
    assert 0 < len(there) < len(sink.views[OLD.id])
    second = new_worker(sink, clock, name="b")
    second.look(4)
    assert sink.spaces().preferred == NEW.id
    gate_sample = 500
    again = [text for text in second.models.opened[NEW.id].texts if text in there]
    assert len(again) <= gate_sample
    assert sink.views[NEW.id].keys() == sink.views[OLD.id].keys()


def test_templates_that_come_meanwhile_are_in_both_views_soon(sink: FakeSink, clock: Callable[[], float]) -> None:
    worker = changed(sink, clock)
    worker.store("new 1", "new 2")
    sink.views[OLD.id].upsert([HashModel(OLD).row("of a worker without the new model")])
    worker.look(2)
    late = {id_of(text) for text in ("new 1", "new 2", "of a worker without the new model")}
    assert late <= sink.views[NEW.id].keys()
    assert late <= sink.views[OLD.id].keys()
    assert not wrong_rows(sink)


def test_what_is_stored_while_both_views_are_compared_is_found_by_the_next_look(sink: FakeSink) -> None:
    now_s = [0.0]
    worker = changed(sink, clock=lambda: now_s[0])
    worker.store("new 1")
    now_s[0] += 50.0
    worker.home.on_embed = lambda: worker.store("new 2")  # the old view is being given the first one
    worker.look()
    worker.home.on_embed = lambda: None
    assert id_of("new 1") in sink.views[OLD.id]
    assert id_of("new 2") not in sink.views[OLD.id]
    now_s[0] += 50.0
    worker.look()
    assert id_of("new 2") in sink.views[OLD.id]


def test_templates_that_keep_coming_hold_no_change_up(sink: FakeSink, clock: Callable[[], float]) -> None:
    worker = new_worker(sink, clock)
    worker.reindexer.start(NEW, "new-model", ())
    worker.reindexer._open_missing(sink.spaces())  # noqa: SLF001 - whenever its model is busy, lines come in
    numbers = count()
    worker.models.opened[NEW.id].on_embed = lambda: sink.views[OLD.id].upsert([HashModel(OLD).row(f"new {next(numbers)}")])
    worker.look(2)
    assert (sink.spaces().preferred, worker.reindexer.progress.error) == (NEW.id, "")


def test_templates_that_expire_meanwhile_hold_no_change_up(sink: FakeSink, clock: Callable[[], float]) -> None:
    worker = new_worker(sink, clock)
    worker.reindexer.start(NEW, "new-model", ())
    worker.reindexer._open_missing(sink.spaces())  # noqa: SLF001 - its model lets templates expire
    left = [id_of(text) for text in TEXTS]

    def expire() -> None:
        for space in (OLD.id, NEW.id):
            sink.views[space].pop(left.pop(), None)

    worker.models.opened[NEW.id].on_embed = expire
    worker.look(4)
    assert (sink.spaces().preferred, worker.reindexer.progress.error) == (NEW.id, "")
    worker.models.opened[NEW.id].on_embed = lambda: None
    worker.look(2)
    assert sink.views[OLD.id].keys() == sink.views[NEW.id].keys()
    assert len(left) < len(TEXTS), "none expired"
    assert not wrong_rows(sink)


def test_going_back_asks_a_complete_view_at_once(sink: FakeSink, clock: Callable[[], float]) -> None:
    worker = changed(sink, clock)
    worker.store("only in the new one")
    worker.reindexer.roll_back()
    assert worker.reindexer.active == sink.spaces().preferred == OLD.id
    assert id_of("only in the new one") in sink.views[OLD.id]
    assert worker.sink.templates is sink.views[OLD.id]
    worker.store("since then")
    worker.reindexer.start(NEW, "new-model", ())
    worker.look(2)
    assert worker.reindexer.active == sink.spaces().preferred == NEW.id
    assert id_of("since then") in sink.views[NEW.id]


def test_two_views_that_were_just_filled_are_not_compared_again_before_going_back(sink: FakeSink) -> None:
    worker = changed(sink, clock=lambda: 0.0)
    worker.reindexer.roll_back()
    assert worker.reindexer.active == OLD.id
    assert "reindex_follow" not in worker.passed
    worker.reindexer.roll_back()
    worker.store("of the new view alone")
    worker.reindexer.roll_back()
    assert id_of("of the new view alone") in sink.views[OLD.id]
    assert "reindex_follow" in worker.passed


def test_a_view_that_is_given_up_is_removed_when_nobody_can_wait_for_it_any_more(sink: FakeSink, clock: Callable[[], float]) -> None:
    worker = changed(sink, clock)
    worker.reindexer.drop()
    assert sink.spaces().views[OLD.id].state == "dropping"
    sink.views[OLD.id].upsert([HashModel(OLD).row("the last one of a worker without the new model")])
    began_ms = sink.spaces().views[OLD.id].since_ms
    while OLD.id in sink.spaces().views:
        assert sink.views[OLD.id]
        assert worker.reindexer.counts(sink.spaces()).keys() == {NEW.id}
        worker.look()
    assert 1000 * clock() > began_ms + DROP_AFTER_MS
    assert list(sink.spaces().views) == [NEW.id]
    assert OLD.id not in sink.views
    assert id_of("the last one of a worker without the new model") in sink.views[NEW.id]


def test_a_view_that_fails_a_condition_is_not_asked_unless_that_is_accepted(sink: FakeSink, clock: Callable[[], float]) -> None:
    sink.templates.upsert([HashModel(OLD).row("! has no vector in the new model")])
    worker = new_worker(sink, clock)
    worker.reindexer.start(NEW, "new-model", ())
    worker.look(5)
    assert worker.reindexer.active == sink.spaces().preferred == OLD.id
    assert [one.name for one in worker.reindexer.progress.findings if not one.is_met] == ["complete"]
    assert worker.reindexer.progress.tally.failed == 2
    assert "complete" in worker.said[-1]
    assert sink.spaces().views[NEW.id].refused.startswith("not preferred: complete: template")
    worker.reindexer.start(NEW, "new-model", ("complete",))
    assert sink.spaces().views[NEW.id].refused == ""
    assert (worker.reindexer.progress.findings, worker.reindexer.progress.error) == ([], "")
    worker.look(2)
    assert worker.reindexer.active == sink.spaces().preferred == NEW.id


def test_vectors_of_another_model_in_the_new_view_are_found(sink: FakeSink, clock: Callable[[], float]) -> None:
    worker = new_worker(sink, clock)
    worker.reindexer.start(NEW, "new-model", ())
    rows = [HashModel(NEW).row(text) for text in TEXTS]
    sink.open_view(NEW).upsert([rows[1]._replace(vector=rows[0].vector), *rows[2:]])
    worker.look(2)
    assert sink.spaces().preferred == OLD.id
    assert [one.name for one in worker.reindexer.progress.findings if not one.is_met] == ["vectors"]


def test_a_second_change_is_refused_and_so_is_one_to_the_same_model(sink: FakeSink, clock: Callable[[], float]) -> None:
    worker = new_worker(sink, clock)
    with pytest.raises(StepRefused, match="of this model already"):
        worker.reindexer.start(OLD, "old-model", ())
    with pytest.raises(StepRefused, match="one view"):
        worker.reindexer.drop()
    with pytest.raises(StepRefused, match="no view to go back to"):
        worker.reindexer.roll_back()
    worker.reindexer.start(NEW, "new-model", ())
    with pytest.raises(StepRefused, match="second view already, of new-model"):
        worker.reindexer.start(NEW._replace(id="space-3"), "third", ())
    with pytest.raises(StepRefused, match="not complete yet"):
        worker.reindexer.roll_back()


def test_a_worker_without_the_new_model_goes_on_and_its_templates_are_found_with_it(sink: FakeSink, clock: Callable[[], float]) -> None:
    poor = new_worker(sink, clock, name="poor", has=(OLD,))
    poor.look()
    rich = changed(sink, clock)
    poor.look(3)
    assert poor.reindexer.active == OLD.id
    assert "there is no model new-model" in "".join(poor.said)
    poor.store("of the poor one")
    rich.look(2)
    assert id_of("of the poor one") in sink.views[NEW.id]
    with pytest.raises(StepRefused, match="does not have the other model"):
        poor.reindexer.drop()
    rich.reindexer.drop()
    with pytest.raises(SinkMismatch, match="new-model, which this worker does not have"):
        poor.look()


def test_another_worker_goes_on_when_the_one_that_fills_is_gone(sink: FakeSink, clock: Callable[[], float]) -> None:
    first, second = new_worker(sink, clock), new_worker(sink, clock, name="b")
    first.reindexer.start(NEW, "new-model", ())
    first.dies_at = "reindex_filled"
    with pytest.raises(Killed):
        first.look()
    second.look(4)
    assert sink.spaces().lease is not None
    assert sink.spaces().preferred == second.reindexer.active == NEW.id
    assert sink.views[NEW.id].keys() == sink.views[OLD.id].keys()


def test_one_worker_fills_and_the_others_leave_it_alone(sink: FakeSink) -> None:
    now_s = [1_000.0]
    first, second = new_worker(sink, lambda: now_s[0]), new_worker(sink, lambda: now_s[0], name="b")
    first.reindexer.start(NEW, "new-model", ("complete",))
    first.dies_at = "reindex_fill"
    with pytest.raises(Killed):
        first.look()
    now_s[0] += 25.0
    second.look(3)
    assert second.models.opened[NEW.id].texts == []
    assert sink.spaces().preferred == OLD.id
    now_s[0] += 10.0
    second.look(2)
    assert sink.spaces().preferred == NEW.id


def test_a_worker_does_not_go_back_to_a_model_that_it_does_not_have(sink: FakeSink, clock: Callable[[], float]) -> None:
    changed(sink, clock)
    later = new_worker(sink, clock, home=NEW, has=(NEW,))
    later.look(2)
    with pytest.raises(StepRefused, match="does not have the model"):
        later.reindexer.roll_back()
    assert sink.spaces().preferred == NEW.id


def test_a_worker_without_the_model_leaves_the_filling_to_others(sink: FakeSink) -> None:
    poor, rich = new_worker(sink, lambda: 0.0, name="poor", has=(OLD,)), new_worker(sink, lambda: 0.0, name="rich")
    rich.reindexer.start(NEW, "new-model", ())
    poor.look(2)
    rich.look()
    assert sink.spaces().preferred == NEW.id


@pytest.mark.parametrize("point", REINDEX_POINTS)
def test_whoever_is_killed_at_any_point_the_next_one_ends_complete(sink: FakeSink, clock: Callable[[], float], point: str) -> None:
    worker = new_worker(sink, clock)
    worker.dies_at = point
    with pytest.raises(Killed):
        _all_the_way(sink, worker)
    for settings_model in (OLD, NEW):
        if settings_model.id in sink.spaces().views and sink.spaces().views[settings_model.id].state in ("ready", "old"):
            _all_the_way(sink, new_worker(sink, clock, name=settings_model.id, home=settings_model))
            break
    assert list(sink.spaces().views) == [NEW.id]
    assert sink.views[NEW.id].keys() == {id_of(text) for text in [*TEXTS, "late"]}
    assert not wrong_rows(sink)


def test_a_change_there_and_back_writes_and_removes_no_block(sink: FakeSink, clock: Callable[[], float]) -> None:
    worker = new_worker(sink, clock)
    _all_the_way(sink, worker)
    assert list(sink.spaces().views) == [NEW.id]
    assert [call for call in sink.calls if call.endswith("_blocks")] == []


def _all_the_way(sink: FakeSink, worker: Worker) -> None:
    """Change the model, store a template meanwhile, and drop the old view."""
    worker.look()
    if sink.spaces().preferred == OLD.id:
        worker.reindexer.start(NEW, "new-model", ())
        worker.look(3)
    worker.store("late")
    worker.look(3)
    if sink.spaces().other is not None:
        worker.reindexer.drop()
    worker.look(8)
