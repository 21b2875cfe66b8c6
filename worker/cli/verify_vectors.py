"""`vectail verify --vectors`: embeds a sample of the stored templates again and compares. `--json` prints what `verify_vectors` returns.

An index whose model changes has two views, and each is compared with its own model, if that can be had here.
"""

import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing
from typing import Any, NamedTuple

from sinks.index_spaces import VectorSpace
from sinks.sink import Sink, TemplateView
from worker.cli.opened_index import failures_in_one_line, opened_index
from worker.cli.screen import Screen
from worker.embedding.loaded import load_model, model_of, space_of
from worker.embedding.model.errors import ModelError
from worker.inspecting.template_embedder import TemplateEmbedder
from worker.inspecting.vector_audit import VectorAuditor, VectorReport
from worker.reindex.named_model import settings_of_space
from worker.runtime.logs import configure_logs
from worker.runtime.wording import counted
from worker.settings.settings import Settings

SHOWN = 10


class _View(NamedTuple):
    """A view with the settings that load its model, or the reason why there are none."""

    space: str
    model: str
    view: TemplateView
    settings: Settings | ModelError


def verify_vectors(settings: Settings, *, number: int, repair: bool, patience_s: float, screen: Screen) -> dict[str, Any]:
    """Compare at most `number` stored vectors of each view with its model's. Raises CommandFailed."""
    configure_logs(quiet=True)
    started_s = time.monotonic()
    reports: list[tuple[_View, VectorReport]] = []
    with failures_in_one_line(settings, "the vectors cannot be compared"), ExitStack() as opened:
        sink, busy_retry, settings = opened.enter_context(opened_index(settings, screen, patience_s=patience_s))
        for one in _views(sink, settings):
            if isinstance(one.settings, ModelError):
                reports.append((one, VectorReport(0, [])))
                continue
            with closing(TemplateEmbedder(load_model(one.settings), busy_retry)) as embedder:
                auditor = VectorAuditor(view=one.view, busy_retry=busy_retry, embedder=embedder)
                reports.append((one, auditor.compare_sample(number, repair=repair)))
    left = sum(report.left for _, report in reports)
    return {
        "complete": not left,
        "templates": sum(report.templates for _, report in reports),
        "wrong": sum(len(report.wrong) for _, report in reports),
        "left": left,
        "findings": [wrong._asdict() | {"space": one.space} for one, report in reports for wrong in report.wrong],
        "views": [
            {
                "space": one.space,
                "model": one.model,
                "templates": report.templates,
                "wrong": len(report.wrong),
                "left": report.left,
                "not_compared": str(one.settings) if isinstance(one.settings, ModelError) else "",
            }
            for one, report in reports
        ],
        "seconds": round(time.monotonic() - started_s, 3),
    }


def show_vectors(screen: Screen, result: Mapping[str, Any]) -> None:
    """Show what `verify_vectors` returned."""
    for one in result["findings"][:SHOWN]:
        repaired = ", repaired" if one["repaired"] else ""
        screen.say(f"  {one['template']}  {one['detail']}{repaired}  {screen.text(one['text'])}")
    if len(result["findings"]) > SHOWN:
        screen.say(f"  … and {len(result['findings']) - SHOWN:,} more (`--json` prints all)")
    for view in result["views"]:
        if view["not_compared"]:
            screen.say(f"The view of {view['model'] or view['space']} was not compared: {view['not_compared']}")
        elif len(result["views"]) > 1:
            screen.say(
                f"The view of {view['model'] or view['space']}: {view['wrong']:,} of {counted(view['templates'], 'template')} wrong."
            )
    compared = f"{counted(result['templates'], 'template')} in {result['seconds']:.1f} s"
    if not result["templates"]:
        screen.say("Nothing to compare: no template is stored.")
    elif result["left"]:
        screen.say(f"{counted(result['left'], 'vector')} not as the model gives it, of {compared}.")
    else:
        repaired = f"{counted(result['wrong'], 'vector')} repaired; " if result["wrong"] else ""
        screen.say(f"All vectors are the model's: {repaired}{compared}.")


def _views(sink: Sink, settings: Settings) -> Iterator[_View]:
    """Yield the view of the settings' model, then the other one, but for one that is being removed. Raises ModelError."""
    model = model_of(settings)
    own = space_of(model, settings.model.dims).id
    yield _View(own, model.name, sink.templates, settings)
    for space, stored in sink.spaces().views.items():
        if space == own or stored.state == "dropping":
            continue
        chosen: Settings | ModelError
        try:
            chosen = settings_of_space(settings, stored.model, space)
        except ModelError as error:
            chosen = error
        yield _View(space, stored.model, sink.open_view(VectorSpace(stored.dim, space)), chosen)
