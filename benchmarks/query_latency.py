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

import contextlib
import tempfile
from argparse import Namespace
from pathlib import Path

from benchmarks.program import ENGINE, FILES, Figures, option, program
from benchmarks.query_latency_client import Answered
from benchmarks.query_latency_figures import loaded_figures
from benchmarks.query_latency_runs import QUERIES_PER_S, QUICK, Plan, measure_fifo, measure_idle, measure_ours
from benchmarks.query_latency_texts import dictionary
from producers.file_lines import find_files
from worker.embedding.loaded import LoadedModel, load_model
from worker.runtime.logs import configure_logs
from worker.settings.settings import Settings, load_settings

CAP_RECORDS = 20_000
"""Records in work at most: a queue of this length is full within seconds, whatever the default is."""


def measure_all(settings: Settings, model: LoadedModel, folder: Path, plan: Plan) -> tuple[Figures, dict[str, list[Answered]]]:
    """Run everything; return what `--json` prints, and the outcome of each question by side."""
    words = dictionary(model.prepared.tokenizer_json)
    idle, closed = measure_idle(settings, model, folder / "idle", words, plan)
    ours = measure_ours(settings, model, folder / "ours", words, plan)
    fifo = measure_fifo(settings, model, folder / "fifo", words, plan)
    figures = loaded_figures(ours.answered, fifo, idle, ours.rounds, ours.capped)
    figures |= {"closed_loop_p95_ms": closed["distinct"]["ms"]["total"]["p95"], "engine": model.engine.name, "seconds": plan.seconds}
    figures |= {"queries_per_s": QUERIES_PER_S, "batch_target_ms": 1000 * settings.query.target_batch_s, "closed_loop": closed}
    return figures, {"ours": ours.answered, "fifo": fifo, "idle": idle}


def measure(chosen: Namespace) -> Figures:
    """Measure, and draw what is asked for."""
    configure_logs(quiet=True)
    settings = load_settings(None, {"engine": {"name": chosen.engine}, "limits": {"max_in_flight_records": CAP_RECORDS}})
    plan = QUICK if chosen.quick else Plan()
    plan = plan._replace(seconds=chosen.seconds or plan.seconds, files=tuple(chosen.files))
    find_files(plan.files)
    model = load_model(settings)
    # the FIFO service stops before it has drained, so its index may still write
    with contextlib.closing(model.engine), tempfile.TemporaryDirectory(prefix="vectail-bench-", ignore_cleanup_errors=True) as folder:
        figures, answered = measure_all(settings, model, Path(folder), plan)
    if chosen.plot is not None:
        from benchmarks.plots import draw_latency  # noqa: PLC0415 - matplotlib takes a second to load

        draw_latency(answered, chosen.plot)
    return figures


SECONDS = option("--seconds", type=float, help="how long each side is asked")
PLOT = option("--plot", type=Path, metavar="FILE.png", help="draw latency over time")
_QUICK = f"{QUICK.seconds:g} seconds instead of {Plan().seconds:g}, and a smaller idle index"
main = program(__doc__, measure, FILES, SECONDS, ENGINE, PLOT, quick=_QUICK)

if __name__ == "__main__":
    main()
