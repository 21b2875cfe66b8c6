"""`vectail verify --vectors`: embeds a sample of the stored templates again and compares. `--json` prints what `verify_vectors` returns."""

import time
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

from worker.cli.opened_index import failures_in_one_line, opened_index
from worker.cli.screen import Screen
from worker.embedding.loaded import load_model
from worker.inspecting.template_embedder import TemplateEmbedder
from worker.inspecting.vector_audit import VectorAuditor
from worker.runtime.logs import configure_logs
from worker.runtime.wording import counted
from worker.settings.settings import Settings

SHOWN = 10


def verify_vectors(settings: Settings, *, number: int, repair: bool, patience_s: float, screen: Screen) -> dict[str, Any]:
    """Compare at most `number` stored vectors with the model's. Raises CommandFailed."""
    configure_logs(quiet=True)
    started_s = time.monotonic()
    with failures_in_one_line(settings, "the vectors cannot be compared"), ExitStack() as opened:
        sink, busy_retry, settings = opened.enter_context(opened_index(settings, screen, patience_s=patience_s))
        embedder = TemplateEmbedder(load_model(settings), busy_retry)
        opened.callback(embedder.close)
        report = VectorAuditor(view=sink.templates, busy_retry=busy_retry, embedder=embedder).compare_sample(number, repair=repair)
    return {
        "complete": not report.left,
        "templates": report.templates,
        "wrong": len(report.wrong),
        "left": report.left,
        "findings": [one._asdict() for one in report.wrong],
        "seconds": round(time.monotonic() - started_s, 3),
    }


def show_vectors(screen: Screen, result: Mapping[str, Any]) -> None:
    """Show what `verify_vectors` returned."""
    for one in result["findings"][:SHOWN]:
        repaired = ", repaired" if one["repaired"] else ""
        screen.say(f"  {one['template']}  {one['detail']}{repaired}  {screen.text(one['text'])}")
    if len(result["findings"]) > SHOWN:
        screen.say(f"  … and {len(result['findings']) - SHOWN:,} more (`--json` prints all)")
    compared = f"{counted(result['templates'], 'template')} in {result['seconds']:.1f} s"
    if not result["templates"]:
        screen.say("Nothing to compare: no template is stored.")
    elif result["left"]:
        screen.say(f"{counted(result['left'], 'vector')} not as the model gives it, of {compared}.")
    else:
        repaired = f"{counted(result['wrong'], 'vector')} repaired; " if result["wrong"] else ""
        screen.say(f"All vectors are the model's: {repaired}{compared}.")
