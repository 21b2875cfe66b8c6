"""Several models in memory for fewer: how long a cold one takes, and what requests to all of them meet.

The models are copies of the installed one with other weights in its last layer, each an embedding space of its own. One server has room for
all of them: it says how large they are, how long the first answer of each takes, and what the right vectors are. Another one has room for
some, and users ask for all by Zipf's law.
"""

import shutil
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

import numpy as np

from benchmarks.race import Wrong
from benchmarks.rivals.own_process import OwnProcess
from benchmarks.serve_cases import SHORT_TOKENS, Plan
from benchmarks.serve_sides import ServerSide, private_bytes, read_json, read_metric, vectail_served
from benchmarks.serve_texts import Vectors, request_body, texts_of, vectors_in, worst_cosine
from benchmarks.serve_users import TURN_S, Answered, Asked, Crowd
from worker.embedding.model.folder import PLAIN, WEIGHTS, default_folder, read_folder
from worker.embedding.model.prepared import prepare_model
from worker.embedding.model.weights import read_weights, save_weights

FOLDER = Path(__file__).parents[1] / ".cache" / "serve_models"
"""Kept: preparing a model takes seconds, and all of them 1.1 GB."""
_PREPARED = FOLDER / "prepared"
_CHANGED = "encoder.layer.5.output.dense.weight"
_NOISE = 0.3
"""Of the standard deviation of the changed weights."""
_SAME_COSINE = 0.999
"""Of the same model's vectors: those of two copies are further apart."""
_ROOM_SHARE = 0.5
"""Room beyond whole models, in models."""
_REQUESTS_PER_S = 60
_LOOK_S = 0.1
_AMPLE_BYTES = 64 * 1024**3
_BUSY = 503


def model_figures(folder: Path, users: OwnProcess, words: Sequence[str], plan: Plan, *, engine: str) -> dict[str, Any]:
    """Make the models, ask for them, and return the figures. Raises Wrong."""
    names = [f"copy-{number}" for number in range(plan.copies)]
    for number, name in enumerate(names):
        prepare_model(_copy_of_model(number, FOLDER / name), _PREPARED)
    random = Random(20_261_130)
    count = int(plan.models_s * _REQUESTS_PER_S)
    texts = texts_of(words, [SHORT_TOKENS] * count, random)
    asked = random.choices(names, [1 / (1 + rank) for rank in range(len(names))], k=count)
    bodies = [request_body(name, [text]) for name, text in zip(asked, texts, strict=True)]
    tables = _tables(names)
    with vectail_served(folder / "ample", tables.format(memory_bytes=_AMPLE_BYTES), engine=engine) as side:
        cold = [_one(users, side, request_body(name, [texts[0]])) for name in names]
        (hot,) = users.ask(Asked(side.target, [Crowd(plan.models_users, bodies)]), TURN_S)
        sizes_bytes = _sizes_bytes(side)
    right = np.concatenate([vectors_in(one, 1) for one in sorted(hot, key=lambda one: one.place)])
    budget_bytes = int(max(sizes_bytes) * (plan.room + _ROOM_SHARE))
    with vectail_served(folder / "tight", tables.format(memory_bytes=budget_bytes), engine=engine) as side:
        base_bytes = private_bytes(side.process_id or 0)
        users.begin(Asked(side.target, [Crowd(plan.models_users, bodies, plan.models_gap_s)], plan.models_s))
        with _peak_of(side.process_id or 0) as peak_bytes:
            (answered,) = users.end(TURN_S)
        evictions = int(read_metric(side.target, "vectail_model_evictions_total"))
    return {
        "cold_s": median(one.seconds for one in cold),
        "failures": sum(one.status != 200 for one in answered),  # noqa: PLR2004 - HTTP's OK
        "evicted_in_use": sum(_is_broken(one, right) for one in answered),
        "memory_over_budget": max((peak_bytes[0] - base_bytes) / budget_bytes - 1, 0.0),
        "cold_worst_s": max(one.seconds for one in cold),
        "requests": len(answered),
        "evictions": evictions,
        "budget_mb": budget_bytes / 1e6,
        "model_mb": max(sizes_bytes) / 1e6,
        "base_mb": base_bytes / 1e6,
        "peak_mb": peak_bytes[0] / 1e6,
        "p50_ms": 1000 * median(one.seconds for one in answered),
        "longest_ms": 1000 * max(one.seconds for one in answered),
        "first_failure": next((one.body[:200].decode(errors="replace") for one in answered if one.status != 200), ""),  # noqa: PLR2004 - as above
    }


def _is_broken(answered: Answered, right: Vectors) -> bool:
    """Whether the model went away under a request: there is no answer, or an error, or the vector is not its model's."""
    if answered.status in (200, _BUSY):
        return answered.status == 200 and worst_cosine(vectors_in(answered, 1), right[[answered.place]]) < _SAME_COSINE  # noqa: PLR2004
    return True


def _copy_of_model(number: int, folder: Path) -> Path:
    """Write the installed model with other weights in its last layer, if it is not there already."""
    if (folder / WEIGHTS).exists():
        return folder
    source = default_folder()
    shutil.copytree(source, folder, ignore=shutil.ignore_patterns(WEIGHTS, ".*"), dirs_exist_ok=True)
    weights = dict(read_weights(read_folder(source).weights))
    changed = weights[_CHANGED]
    noise = np.random.default_rng(number).standard_normal(changed.shape).astype(np.float32)
    weights[_CHANGED] = changed + _NOISE * changed.std() * noise
    save_weights(weights, folder / WEIGHTS)
    return folder


def _tables(names: Sequence[str]) -> str:
    """Return settings in which only the budget is open."""
    models = "".join(f'[[serve.model]]\nname = "{name}"\nfolder = "{FOLDER / name}"\n' for name in names)
    return f'[model]\nname = "{PLAIN}"\ncache = "{_PREPARED}"\n[serve]\nload_wait_s = 600\nmemory_bytes = {{memory_bytes}}\n{models}'


def _one(users: OwnProcess, side: ServerSide, body: bytes) -> Answered:
    ((answered,),) = users.ask(Asked(side.target, [Crowd(1, [body])]), TURN_S)
    vectors_in(answered, 1)
    return Answered(*answered)


def _sizes_bytes(side: ServerSide) -> list[int]:
    found = (read_json(side.target, "/v1/models") or {}).get("data", [])
    sizes = [int(one["vectail"]["bytes"]) for one in found if one["vectail"].get("bytes")]
    if not sizes:
        raise Wrong("the server tells no model's bytes")
    return sizes


@contextmanager
def _peak_of(process_id: int) -> Iterator[list[int]]:
    """Yield a list whose only number is the most private bytes of a process so far."""
    peak, ended = [0], threading.Event()

    def look() -> None:
        while not ended.wait(_LOOK_S):
            peak[0] = max(peak[0], private_bytes(process_id))

    watching = threading.Thread(target=look)
    watching.start()
    try:
        yield peak
    finally:
        ended.set()
        watching.join()
