"""Query latency: idle, while a flood of new lines is indexed, and against the same build with a single lane (FIFO).

    python -m benchmarks.query_latency [FILES…] [--quick] [--json] [--seconds S] [--engine auto|vllm|llama] [--plot FILE.png]

Caveats first. Broker, worker, index and client share one machine's cores, so queries also slow the flood down. Milvus Lite's index grows
during the measurement. The embedded broker does not wake a waiting reader, so each pass through it takes some milliseconds more than with a
real broker.

- Idle: an index of FILES, or of 16,000 synthetic lines. Two questions a second at Poisson times, none repeated.
- Under load: each line has its own template, and more lines arrive than the worker can admit. Intervals with two questions a second and
  intervals without alternate; the loss of the flood is taken within a round, without the tokens of the questions themselves.
- FIFO: questions queue behind the waiting lines; see `benchmarks.query_latency_sides`. It runs after our side, not in turns with it:
  its questions outlast any turn. A question still open `PATIENCE_S` after the last one, or at the
  longest deadline that a query may have, counts with its time so far, a lower bound.
- A capped bulk batch: full batches of logs alone, in the intervals with questions, after the first question. Both sides of
  `p99_over_batch_cap` are p99: (p99 of wait + embed) / (p99 of these batches' times). The worker aims at `query.target_batch_s`, shown as
  `batch_target_ms`.
- Closed loop: 60 users of the idle index, each of whom asks again as soon as an answer arrives: first always with new words, then from 200
  recurring questions, as dashboards do.
"""

import argparse
import contextlib
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.query_latency_client import Answered
from benchmarks.query_latency_figures import loaded_figures
from benchmarks.query_latency_report import show_table
from benchmarks.query_latency_runs import (
    QUERIES_PER_S,
    QUICK_SECONDS,
    SECONDS,
    Plan,
    measure_fifo,
    measure_idle,
    measure_ours,
)
from benchmarks.query_latency_texts import dictionary
from producers.lines import FileUnreadable, check_files
from worker.embedding.loaded import LoadedModel, load_model
from worker.embedding.model.errors import ModelError
from worker.runtime.logs import configure_logs
from worker.settings.settings import Settings, load_settings

CAP_RECORDS = 20_000
"""Records in work at most: a queue of this length is full within seconds, whatever the default is."""


def measure(settings: Settings, model: LoadedModel, folder: Path, plan: Plan) -> tuple[dict[str, Any], dict[str, list[Answered]]]:
    """Run everything; return what `--json` prints, and the outcome of each question by side."""
    words = dictionary(model.prepared.tokenizer_json)
    idle, closed = measure_idle(settings, model, folder / "idle", words, plan)
    ours = measure_ours(settings, model, folder / "ours", words, plan)
    fifo = measure_fifo(settings, model, folder / "fifo", words, plan)
    loaded = loaded_figures(ours.answered, fifo, idle, ours.rounds, ours.capped)
    goals = ("p99_over_batch_cap", "fifo_p99_over_ours", "bulk_loss_share", "answered", "asked")
    figures = {key: loaded.pop(key) for key in goals} | {"closed_loop_p95_ms": closed["distinct"]["ms"]["total"]["p95"]}
    figures |= {"engine": model.engine.name, "seconds": plan.seconds, "queries_per_s": QUERIES_PER_S}
    figures |= {"batch_target_ms": 1000 * settings.query.target_batch_s} | loaded | {"closed_loop": closed}
    return figures, {"ours": ours.answered, "fifo": fifo, "idle": idle}


def main(show: Callable[[str], None] = print) -> None:
    """Measure, and show the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("files", nargs="*", help="logs of the idle index, instead of synthetic lines")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_SECONDS:g} seconds instead of {SECONDS:g}, and a smaller idle index")
    parser.add_argument("--seconds", type=float, help="how long each side is asked")
    parser.add_argument("--engine", choices=("auto", "vllm", "llama"), default="auto")
    parser.add_argument("--plot", type=Path, metavar="FILE.png", help="draw latency over time")
    parser.add_argument("--json", action="store_true", help="print one object of figures and nothing else")
    chosen = parser.parse_args()
    configure_logs(quiet=True)
    settings = load_settings(None, {"engine": {"name": chosen.engine}, "limits": {"max_in_flight_records": CAP_RECORDS}})
    plan = Plan.of(quick=chosen.quick, seconds=chosen.seconds, files=chosen.files)
    try:
        check_files(plan.files)
        model = load_model(settings)
    except (FileUnreadable, ModelError) as error:
        parser.error(str(error))
    # the FIFO service stops before it has drained, so its index may still write
    with contextlib.closing(model.engine), tempfile.TemporaryDirectory(prefix="vectail-bench-", ignore_cleanup_errors=True) as folder:
        figures, answered = measure(settings, model, Path(folder), plan)
    if chosen.plot is not None:
        from benchmarks.query_latency_plot import draw  # noqa: PLC0415 - matplotlib takes a second to load

        draw(answered, chosen.plot)
    show(json.dumps(figures)) if chosen.json else show_table(figures, show)


if __name__ == "__main__":
    main()
