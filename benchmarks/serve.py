"""The embedding service under many users: against the bare engine, Infinity and servers that others have started.

    python -m benchmarks.serve [--quick] [--json] [--engine NAME]
                               [--infinity PYTHON] [--peer NAME=URL …] [--all]

Caveats first. Servers, engine and users share one machine's cores, so users slow servers down; sides take turns with the same texts, new
ones each round, and a ratio is taken within a round. Everything that is served is compared with the bare engine's vectors, row by row;
the run fails below a cosine of 0.998. All-MiniLM-L6-v2 everywhere; texts are random words of its vocabulary.

- `users60`: 60 users, each with a new text of 19 tokens as soon as the last one is answered; `vs_bare_engine` is the share of its rate.
- `mixed`: the same with 8 to 256 tokens. `beside_bulk`: four users with one text at a time beside one with 2,048 in a request; a batch
  takes `capped_batch_ms` meanwhile, on the mean, and `vs_infinity` is the ratio of p99.
- `recurring_per_s`: 60 users who ask for the same 200 texts again and again.
- `models`: eight models in memory for four, asked for by Zipf's law (`benchmarks.serve_models`).
- `--all` prints more: 12 tokens, one user, 64 texts a request, what small requests cost the large one, and every side's rates and waits.

Infinity 0.0.78 runs in an environment of its own, whose Python `--infinity` names; a side that is not there has `null`.
"""

import tempfile
from argparse import Namespace
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

from benchmarks.program import Figures, option, program
from benchmarks.query_latency_texts import dictionary
from benchmarks.rivals.own_process import OwnProcess
from benchmarks.serve_cases import QUICK, Contest, Plan
from benchmarks.serve_figures import INFINITY, OURS, asked_for
from benchmarks.serve_models import model_figures
from benchmarks.serve_sides import infinity_served, named_peer, vectail_served
from worker.embedding.model.folder import PLAIN


def measure_all(chosen: Namespace, plan: Plan, folder: Path) -> tuple[Figures, dict[str, Any]]:
    """Start everything, run all cases and end it; return what `--json` prints, and the rest. Raises Missing, Wrong, LeftOut."""
    with closing(OwnProcess("benchmarks.serve_users:open_users", (), log=folder / "users.log")) as users:
        with ExitStack() as stack:
            bare_tables = {"model": {"name": PLAIN}, "engine": {"name": chosen.engine}}
            bare = stack.enter_context(closing(OwnProcess("benchmarks.serve_sides:open_bare", (bare_tables,), log=folder / "bare.log")))
            sides = {OURS: stack.enter_context(vectail_served(folder / OURS, f'[model]\nname = "{PLAIN}"\n', engine=chosen.engine))}
            if chosen.infinity is not None:
                sides[INFINITY] = stack.enter_context(infinity_served(chosen.infinity, folder / INFINITY))
            sides |= dict(map(named_peer, chosen.peer))
            words = dictionary(Path(bare.ready["tokenizer"]))
            contest = Contest(sides, users, bare, words, plan)
            cases = contest.run()
            engine = bare.ready["engine"]
        models = model_figures(folder, users, words, plan, engine=chosen.engine)
    cosines = {"served": contest.cosines[OURS], "alone_vs_mixed": contest.alone_vs_mixed}
    rest = cases | {"all_models": models, "cosines": contest.cosines, "engine": engine, "rounds": plan.rounds}
    return asked_for(cases, models, cosines), rest


def measure(chosen: Namespace) -> Figures:
    """Measure as asked for."""
    with tempfile.TemporaryDirectory(prefix="vectail-bench-") as folder:
        figures, rest = measure_all(chosen, QUICK if chosen.quick else Plan(), Path(folder))
    return figures | {"cases": rest} if chosen.all or not chosen.json else figures


main = program(
    __doc__,
    measure,
    option("--engine", choices=("auto", "vllm", "llama", "onnx"), default="onnx", help="of vectail (default: %(default)s)"),
    option("--infinity", type=Path, metavar="PYTHON", help="the Python of an environment with infinity-emb 0.0.78"),
    option("--peer", action="append", default=[], metavar="NAME=URL", help="a server that runs already: tei=http://127.0.0.1:8080/v1"),
    option("--all", action="store_true", help="with --json: every case and side"),
    quick=f"{QUICK.rounds} rounds instead of {Plan().rounds}, fewer and shorter texts, {QUICK.models_s:g} s of many models",
)

if __name__ == "__main__":
    main()
