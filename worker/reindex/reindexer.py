"""Moves an index from one model to another while it is searched and filled (`vectail reindex`).

Theory of operation
1. What is to happen stands in the index (`sinks.index_spaces`), not in a process: `start`, `roll_back` and `drop` only change that. Every
   worker looks at it once a second, loads the model of the second view if it can, and asks the preferred view if it has its model; a
   worker that cannot goes on with its own view, which is complete.
2. One worker has the lease: it fills the view that is building, judges it (`worker.reindex.gate`) and, if all is well, prefers it. From
   then on it keeps both views complete, the old one too, so that going back is always possible and takes a second. Filling is a set
   difference, so whoever takes over goes on where it was.
3. A question is answered from the view whose model embedded it, so no answer mixes spaces. New templates go to the preferred view before
   their lines; the other view follows within seconds and holds nothing up.
4. A view that was given up is removed after all questions that were embedded for it must have been answered.

Not taken: a flip that all workers agree on (each view is complete by itself); following with every write (the difference finds what other
workers wrote as well, and costs two counts where there is none).
"""

import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Final, Protocol

from sinks.index_spaces import IndexSpaces, VectorSpace
from sinks.sink import Sink, SinkBusy, SinkMismatch, SinkRejected, TemplateView
from worker.embedding.model.errors import ModelError
from worker.inspecting.busy_retry import BusyRetry
from worker.reindex.filling import EmbedsTemplates, Filler, FillTally
from worker.reindex.gate import GateFinding, judge
from worker.reindex.space_changes import (
    StepRefused,
    ask_other,
    begin,
    give_up,
    is_building,
    is_due_to_go,
    leased,
    refuse,
    roll_back,
    waive,
    without_other,
)
from worker.runtime.surroundings import Surroundings

LOOK_S: Final = 1.0
"""Between two looks at what the index says."""
FOLLOW_S: Final = 5.0
"""Between two comparisons of how many templates both views have."""
WHOLE_S: Final = 600.0
"""Both are compared template by template that often, even if they have as many."""
LONGEST_REST_S: Final = 40.0
"""Whatever a comparison takes, the next one begins no later than this after it."""
_SAY_AGAIN_S: Final = 60.0
_LOAD_AGAIN_S: Final = 20.0
_JUDGE_AGAIN_S: Final = 600.0
_PATIENCE_S: Final = 10.0
"""For the index, while a view is judged."""
_TRIES: Final = 5
"""To change what the index says while others change it."""


class ModelsOfSpaces(Protocol):
    """Models by the names that the index keeps.

    Thread: the reindexer's.
    """

    def open(self, name: str, space: str, view: TemplateView) -> EmbedsTemplates:
        """Load a model and begin to embed with it. Raises ModelError: there is none of that name, or it is of another space."""

    def use(self, space: str) -> None:
        """Embed questions and new templates with an opened model from now on."""

    def close(self, space: str) -> None:
        """Unload an opened model that is not used."""


@dataclass(slots=True)
class ReindexProgress:
    """What `--status` shows besides what the index says.

    Thread: the reindexer's writes, any reads.
    """

    tally: FillTally = field(default_factory=FillTally)
    findings: list[GateFinding] = field(default_factory=list)
    overlap: float | None = None
    error: str = ""


class Reindexer:
    """The view that is asked is complete, and so is the one before until it is dropped, but for what came in the last seconds.

    Thread: `look` one of its own; commands any.
    """

    def __init__(
        self,
        sink: Sink,
        home: EmbedsTemplates,
        models: ModelsOfSpaces,
        filler: Filler,
        surroundings: Surroundings,
        *,
        owner: str,
        fills: bool = True,
        is_stopping: Callable[[], bool] = lambda: False,
    ) -> None:
        """`home`: the model of the settings; `owner`: a name of this process that no other has; `fills`: whether it may write."""
        self.progress = ReindexProgress()
        self.active = home.space.id
        """The space that this worker asks."""
        self.spaces: IndexSpaces | None = None
        """As they were when it last looked."""
        self._sink = sink
        self.home_space, self.home_model = home.space.id, home.name
        """Of the settings."""
        self._home = home
        self._models = models
        self._filler = filler
        self._surroundings = surroundings
        self._busy_retry = BusyRetry(limit_s=_PATIENCE_S, say=surroundings.say, pause=surroundings.pause, clock=surroundings.clock)
        self._owner = owner
        self._fills = fills
        self._is_stopping = is_stopping
        self._opened: dict[str, tuple[EmbedsTemplates, TemplateView]] = {}
        """Models that are loaded, with their views, by their spaces; `home` is one from the first look on."""
        self._turn = threading.Lock()
        """Held while this worker goes over to another space."""
        self._completing = threading.Lock()
        """Held while views are completed, because a model embeds for one thread at a time."""
        self._compared: list[int] = []
        """How many templates the two views had when they were last the same."""
        self._tried_s: dict[str, float] = {}
        """When a model could not be loaded, by its space."""
        self._said_s: dict[str, float] = {}
        self._follow_s = self._whole_s = self._judge_s = self._looked_s = -1e9
        self._judged: tuple[str, ...] | None = None

    def run(self) -> None:
        """Look until the worker stops. Raises SinkMismatch when its view is gone, SinkBroken, Abandoned."""
        pause = self._surroundings.pause
        while not self._is_stopping() and not pause(LOOK_S):
            try:
                self.look()
            except SinkBusy as error:
                if self._is_stopping():
                    return
                self._say_sometimes("busy", f"the model change waits for the index: {error}")

    def look(self) -> None:
        """Do what the index says. Raises SinkBusy, SinkMismatch, SinkBroken, Abandoned."""
        spaces = self.spaces = self._sink.spaces()
        self._looked_s = self._surroundings.clock()
        if not self._opened:
            self._opened[self._home.space.id] = (self._home, self._sink.templates)
        self._open_missing(spaces)
        self._go_to(spaces)
        self._close_gone(spaces)
        if spaces.other is None or not self._fills or not self._can_go_on(spaces, spaces.other):
            return
        mine = leased(spaces, self._owner, self._now_ms())
        if mine is None or (mine is not spaces and not self._sink.change_spaces(spaces, mine)):
            return
        if is_due_to_go(mine, self._now_ms()):
            self._remove(mine)
        elif mine.views[spaces.other].state == "building":
            self._build(mine)
        elif mine.views[spaces.other].state != "dropping":
            self._follow(mine)

    def start(self, to: VectorSpace, model: str, waived: tuple[str, ...]) -> None:
        """Begin to fill a view of another model. Raises StepRefused, SinkMismatch, SinkBusy."""
        self._surroundings.fail_point("reindex_start")
        spaces = self._sink.spaces()
        wanted = begin(spaces, self._home.space, self._home.name, to, model, self._now_ms())
        if wanted is not spaces:
            self._sink.open_view(to, create=True)
        self._surroundings.fail_point("reindex_created")
        self._change(lambda now: waive(begin(now, self._home.space, self._home.name, to, model, self._now_ms()), waived))
        self.progress, self._judged, self._judge_s = ReindexProgress(), None, -1e9
        self._surroundings.fail_point("reindex_begun")

    def roll_back(self) -> None:
        """Ask the view before again. Raises StepRefused, SinkBusy."""
        spaces = self._sink.spaces()
        roll_back(spaces, 0)
        if spaces.other not in self._opened:
            raise StepRefused("this worker does not have the model of the view before; ask one that has")
        self._complete(spaces)
        self._go_to(self._change(lambda now: roll_back(now, self._now_ms())))

    def drop(self) -> None:
        """Give up the view that is not asked. Raises StepRefused, SinkBusy."""
        if self._sink.spaces().other == self.active:
            raise StepRefused("this worker asks the view that would be dropped, because it does not have the other model")
        self._change(lambda now: give_up(now, self._now_ms()))

    def counts(self, spaces: IndexSpaces) -> Mapping[str, int]:
        """Return the templates of each view that this worker has opened and that stays. Raises SinkBusy."""
        stays = [space for space, view in spaces.views.items() if space in self._opened and view.state != "dropping"]
        return {space: self._opened[space][1].count() for space in stays}

    def are_same(self, counts: Mapping[str, int]) -> bool:
        """Whether both views, of which there are so many templates now, had the same when there were as many."""
        return bool(self._compared) and sorted(self._compared) == sorted(counts.values())

    @property
    def opened(self) -> frozenset[str]:
        """The spaces whose models this worker has loaded."""
        return frozenset(self._opened)

    def _can_go_on(self, spaces: IndexSpaces, other: str) -> bool:
        """Whether this worker has the models for the next step; one without them leaves the lease to others."""
        return spaces.preferred in self._opened and (other in self._opened or spaces.views[other].state == "dropping")

    def _open_missing(self, spaces: IndexSpaces) -> None:
        """Load the model of the second view, if this worker can have it."""
        for space, view in spaces.views.items():
            now_s = self._surroundings.clock()
            if space in self._opened or view.state == "dropping" or now_s < self._tried_s.get(space, -1e9) + _LOAD_AGAIN_S:
                continue
            try:
                stored = self._sink.open_view(VectorSpace(view.dim, space))
                self._opened[space] = (self._models.open(view.model, space, stored), stored)
            except (ModelError, SinkMismatch) as error:
                self._tried_s[space] = now_s
                self.progress.error = f"{view.model or space}: {error}"
                if self.active in spaces.views:
                    self._say_sometimes("model", f"this worker goes on with its own model: {self.progress.error}")
            else:
                self.progress = ReindexProgress()
                self._surroundings.fail_point("reindex_opened")

    def _go_to(self, spaces: IndexSpaces) -> None:
        """Ask the preferred view, if its model is loaded. Raises SinkMismatch: this worker's view is going, and it has no other."""
        with self._turn:
            preferred = spaces.preferred
            if preferred != self.active and preferred in self._opened:
                self._models.use(preferred)
                self._sink.prefer(preferred)
                self.active = preferred
                self._follow_s = -1e9
                self._surroundings.say(f"the index is asked with {_model(spaces)} from now on")
                self._surroundings.fail_point("reindex_gone_over")
            view = spaces.views.get(self.active)
            if view is None or view.state == "dropping":
                raise SinkMismatch(
                    f"the index has changed to the model {_model(spaces)}, which this worker does not have: set it in [model]"
                )
            if preferred != self.active:
                self._say_sometimes("old", f"the index prefers the model {_model(spaces)}; this worker goes on with its own")

    def _close_gone(self, spaces: IndexSpaces) -> None:
        for space in [one for one in self._opened if one not in spaces.views and one not in (self.active, self._home.space.id)]:
            del self._opened[space]
            self._models.close(space)

    def _build(self, spaces: IndexSpaces) -> None:
        """Fill the second view, judge it, and prefer it."""
        other = spaces.other or ""
        if other not in self._opened or spaces.preferred not in self._opened:
            return
        waived = spaces.views[other].waived
        clock = self._surroundings.clock
        if self._judged == waived and clock() < self._judge_s:
            return
        (_, source), (model, target) = self._opened[spaces.preferred], self._opened[other]
        self.progress.tally, self.progress.error = FillTally(), ""
        fill = partial(self._fill, source, target, model, other)
        self._surroundings.fail_point("reindex_fill")
        if not fill():
            return
        self._surroundings.fail_point("reindex_filled")
        judged = judge(source, target, model, self._busy_retry, fill)
        if judged is None:
            return
        self.progress.findings, self.progress.overlap = judged
        self._surroundings.fail_point("reindex_judged")
        failed = [one for one in self.progress.findings if not one.is_met and one.name not in waived]
        if failed:
            self._judged, self._judge_s = waived, clock() + _JUDGE_AGAIN_S
            self.progress.error = why = f"not preferred: {failed[0].name}: {failed[0].found}"
            self._surroundings.say(f"the model change stops, {why}; `--accept {failed[0].name}` goes on all the same")
            self._change(lambda now: refuse(now, other, why))
            return
        before, written = _counts(source, target), self.progress.tally.written
        if not fill():  # what came while it was judged
            return
        now = _counts(source, target)
        if now[0] == now[1] and not self.progress.tally.failed:  # it has all of the other one, and no more: going back need not compare
            self._note_compared(before, written, now)
            self._whole_s = clock() + WHOLE_S
        after = self._change(lambda now: ask_other(now, self._now_ms()) if is_building(now, other) else now)
        self._surroundings.fail_point("reindex_preferred")
        self._go_to(after)
        self._complete(after)  # what was on its way into the old one

    def _follow(self, spaces: IndexSpaces) -> None:
        """Keep both views complete: workers without the new model write only to the old one."""
        clock = self._surroundings.clock
        started_s = clock()
        if started_s < self._follow_s:
            return
        if started_s >= self._whole_s:
            self._compared.clear()
            self._whole_s = started_s + WHOLE_S
        self._complete(spaces)
        self._follow_s = clock() + min(max(FOLLOW_S, 10 * (clock() - started_s)), LONGEST_REST_S)

    def _complete(self, spaces: IndexSpaces) -> None:
        """Give each view what only the other one has; two that have as many as when they were last the same are not compared again."""
        other = spaces.other or ""
        if other not in self._opened or spaces.preferred not in self._opened:
            return
        (model, preferred), (other_model, view) = self._opened[spaces.preferred], self._opened[other]
        with self._completing:
            before, written = _counts(preferred, view), self.progress.tally.written
            if self._compared == before:
                return
            self._surroundings.fail_point("reindex_follow")
            if self._fill(view, preferred, model, other) and self._fill(preferred, view, other_model, other):
                self._note_compared(before, written, _counts(preferred, view))

    def _note_compared(self, before: list[int], written: int, now: list[int]) -> None:
        """Remember how many templates the views have, unless some came while they were compared, which the comparison may have missed."""
        if sum(before) + self.progress.tally.written - written == sum(now):
            self._compared[:] = now

    def _fill(self, source: TemplateView, target: TemplateView, model: EmbedsTemplates, other: str) -> bool:
        try:
            return self._filler.fill(source, target, model, self.progress.tally, lambda: self._goes_on(other))
        except SinkRejected as error:
            self.progress.error = str(error)
            return False

    def _goes_on(self, other: str) -> bool:
        """Whether the view is still wanted and the lease is ours; looks once a second."""
        if self._is_stopping():
            return False
        if self._surroundings.clock() < self._looked_s + LOOK_S:
            return True
        self._looked_s = self._surroundings.clock()
        spaces = self.spaces = self._sink.spaces()
        if other not in spaces.views or spaces.views[other].state == "dropping":
            return False
        mine = leased(spaces, self._owner, self._now_ms())
        return mine is not None and (mine is spaces or self._sink.change_spaces(spaces, mine))

    def _remove(self, spaces: IndexSpaces) -> None:
        """Remove the view that was given up, then forget it: in this order, so that none is forgotten that is still there.

        Templates that only it has, of workers without the new model, are copied first.
        """
        other = spaces.other or ""
        if spaces.preferred not in self._opened:
            return
        self._surroundings.fail_point("reindex_remove")
        model, preferred = self._opened[spaces.preferred]
        with suppress(SinkMismatch):  # it is gone already
            view = self._sink.open_view(VectorSpace(spaces.views[other].dim, other))
            self._filler.fill(view, preferred, model, self.progress.tally, lambda: not self._is_stopping())
        if self._is_stopping():
            return
        self._sink.drop_view(other)
        self._surroundings.fail_point("reindex_removed")
        if self._sink.change_spaces(spaces, without_other(spaces)):
            self._surroundings.say(f"the view of {spaces.views[other].model or other} was removed from the index")

    def _change(self, change: Callable[[IndexSpaces], IndexSpaces]) -> IndexSpaces:
        """Change what the index says, again if somebody was faster. Raises StepRefused and SinkBusy."""
        for _ in range(_TRIES):
            before = self._sink.spaces()
            after = change(before)
            if after == before or self._sink.change_spaces(before, after):
                return after
        raise StepRefused("others are changing the index at the same time; try again")

    def _now_ms(self) -> int:
        return int(self._surroundings.wall_ms())

    def _say_sometimes(self, what: str, line: str) -> None:
        now_s = self._surroundings.clock()
        if now_s >= self._said_s.get(what, -1e9) + _SAY_AGAIN_S:
            self._said_s[what] = now_s
            self._surroundings.say(line)


def _counts(one: TemplateView, other: TemplateView) -> list[int]:
    return [one.count(), other.count()]


def _model(spaces: IndexSpaces) -> str:
    return spaces.views[spaces.preferred].model or spaces.preferred
