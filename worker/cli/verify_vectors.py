"""`vectail verify --vectors`: embeds a sample of the stored templates again and compares. `--json` prints what `verify_vectors` returns."""

import threading
import time
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

from sinks.sink import SinkBroken, SinkBusy, SinkMismatch, SinkRejected
from worker.audit.busy_retry import BusyRetry
from worker.audit.embedder import TemplateEmbedder
from worker.audit.vectors import VectorAuditor, VectorReport
from worker.cli.exits import failure, user_error
from worker.cli.output import counted
from worker.cli.screen import Screen, shown_text
from worker.connections import open_sink
from worker.embedding.guarded_engine import EngineFailed
from worker.embedding.loaded import load_model
from worker.embedding.model.errors import ModelError
from worker.runtime.logs import configure_logs
from worker.settings.settings import Settings

SHOWN = 10


def verify_vectors(settings: Settings, *, number: int, repair: bool, patience_s: float, screen: Screen) -> dict[str, Any]:
    """Compare at most `number` stored vectors with the model's. Raises CommandFailed."""
    configure_logs(quiet=True)
    started_s = time.monotonic()
    try:
        with ExitStack() as opened:
            report = _verify(settings, number, repair, patience_s, screen, opened)
    except (SinkMismatch, ModelError) as error:
        raise user_error(error) from error
    except (SinkBusy, SinkBroken) as error:
        raise failure(f"Milvus does not answer: {error}") from error
    except (SinkRejected, EngineFailed) as error:
        raise failure(f"the vectors cannot be compared: {error}") from error
    return {
        "complete": not report.left,
        "templates": report.templates,
        "wrong": len(report.wrong),
        "left": report.left,
        "findings": [one._asdict() for one in report.wrong],
        "seconds": round(time.monotonic() - started_s, 3),
    }


def _verify(settings: Settings, number: int, repair: bool, patience_s: float, screen: Screen, opened: ExitStack) -> VectorReport:
    busy_retry = BusyRetry(limit_s=patience_s, say=screen.warn, pause=threading.Event().wait, clock=time.monotonic)
    sink = opened.enter_context(open_sink(settings, say=screen.warn, wait=busy_retry.call))
    embedder = TemplateEmbedder(load_model(settings), busy_retry)
    opened.callback(embedder.close)
    return VectorAuditor(sink=sink, busy_retry=busy_retry, embedder=embedder).compare_sample(number, repair=repair)


def show_vectors(screen: Screen, result: Mapping[str, Any]) -> None:
    """Show what `verify_vectors` returned."""
    for one in result["findings"][:SHOWN]:
        repaired = ", repaired" if one["repaired"] else ""
        screen.say(f"  {one['template']}  {one['detail']}{repaired}  {shown_text(one['text'])}")
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
