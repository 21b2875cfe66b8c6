"""Which of the engines that need only a CPU is fastest on this machine: measured once, then remembered in the model cache.

`worker.embedding.loaded` asks where `engine.name` is `auto` and vLLM is not installed. A rule by name would be wrong somewhere: llama.cpp
computed 1.4 times as many lines on AVX2 as ONNX Runtime, ONNX Runtime 1.4 times as many on AVX-512. Whichever is chosen, an index stays as
it is: the embedding space does not depend on the engine, because each must give the golden vectors.

The engines embed the golden texts in turns, and each one's best turn counts: other work on the machine disturbs turns, not both engines'
best ones. Workers that start together each measure; they may choose differently, which costs speed and nothing else.
"""

import hashlib
import json
import math
import platform
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final, Literal

from worker.embedding.engine.engine import Engine
from worker.embedding.guarded_engine import WORST_ALLOWED_COSINE, worst_cosine
from worker.embedding.model.errors import ModelError
from worker.embedding.model.folder import read_json
from worker.embedding.model.golden import Golden
from worker.embedding.model.prepared import PreparedModel
from worker.embedding.model.staging import write_whole

CpuEngine = Literal["llama", "onnx"]
Rates = dict[CpuEngine, float]
"""Golden texts a second of each engine; 0 of one that cannot be used."""

_MEASURE_S: Final = 0.2
"""How long each engine computes."""
_LIBRARIES: Final = {"llama": "llama-cpp-python", "onnx": "onnxruntime"}


class SpeedRecord:
    """A file of the model cache with the rates of one processor, number of threads, model, and versions of the libraries.

    Thread: any; it is written whole.
    """

    def __init__(self, cache: Path, model: PreparedModel, threads: int, *, cpuinfo: Path = Path("/proc/cpuinfo")) -> None:
        self._facts = {
            "processor": _processor(cpuinfo),
            "threads": threads,
            "libraries": {library: _version(library) for library in _LIBRARIES.values()},
            "model": f"{model.weights_sha256} {model.architecture}",
        }
        key = hashlib.sha256(json.dumps(self._facts, sort_keys=True).encode()).hexdigest()[:16]
        self.file = cache / f"engines-{key}.json"

    def read(self) -> Rates:
        """Return the rates; none if they were not measured yet, or the file is damaged."""
        try:
            written = read_json(self.file)
            rates: Rates = {name: float(written["texts_per_s"][name]) for name in ("llama", "onnx")}
        except (ModelError, KeyError, TypeError, ValueError):
            return {}
        return rates if all(math.isfinite(rate) and rate > 0 for rate in rates.values()) else {}

    def write(self, rates: Rates) -> None:
        """Keep the rates; where the cache cannot be written, the next start measures again."""
        with suppress(OSError):
            self.file.parent.mkdir(parents=True, exist_ok=True)
            write_whole(self.file, json.dumps(self._facts | {"texts_per_s": rates}, indent=2))


def fastest_engine(
    engines: Mapping[CpuEngine, Callable[[], Engine]],
    golden: Golden,
    record: SpeedRecord,
    *,
    say: Callable[[CpuEngine, Rates], None],
    clock: Callable[[], float] = time.perf_counter,
) -> CpuEngine:
    """Return the fastest of the engines: as recorded, else as measured now, which takes a second and is said.

    One that cannot be loaded or gives wrong vectors is passed over, for this start only. If none is left, it is the first: loading it says
    what is wrong.
    """
    rates = record.read()
    if not rates.keys() >= engines.keys():
        rates = _measure(engines, golden, clock)
        if all(rates.values()):
            record.write(rates)
        say(max(rates, key=rates.__getitem__), rates)
    return max(engines, key=rates.__getitem__)


def _measure(engines: Mapping[CpuEngine, Callable[[], Engine]], golden: Golden, clock: Callable[[], float]) -> Rates:
    rates: Rates = dict.fromkeys(engines, 0.0)
    with ExitStack() as stack:
        opened: dict[CpuEngine, Engine] = {}
        for name, new_engine in engines.items():
            with suppress(ModelError):
                opened[name] = new_engine()
                stack.callback(opened[name].close)
        warm = [name for name, engine in opened.items() if _seconds(engine, golden, clock) is not None]
        spent_s = dict.fromkeys(warm, 0.0)
        while unfinished := [name for name in warm if spent_s[name] < _MEASURE_S]:
            for name in unfinished:
                seconds = _seconds(opened[name], golden, clock)
                spent_s[name] += _MEASURE_S if seconds is None else seconds
                rates[name] = max(rates[name], 0.0 if seconds is None else len(golden.ids) / max(seconds, 1e-9))
    return rates


def _seconds(engine: Engine, golden: Golden, clock: Callable[[], float]) -> float | None:
    """Embed the golden texts; None if the engine fails on them."""
    began_s = clock()
    try:
        worst = worst_cosine(engine, golden)
    except (RuntimeError, ValueError):
        return None
    return clock() - began_s if worst >= WORST_ALLOWED_COSINE else None


def _processor(cpuinfo: Path) -> str:
    """Name the processor, with a digest of its instructions: a virtual machine's name may leave open what it has."""
    try:
        first = cpuinfo.read_text(encoding="utf-8", errors="replace").partition("\n\n")[0]
    except OSError:
        first = ""
    lines = {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in first.splitlines())}
    told = sorted((name, value) for name, value in lines.items() if name.startswith(("model name", "flags", "Features", "CPU ")))
    digest = hashlib.sha256(json.dumps(told).encode()).hexdigest()[:8]
    return f"{lines.get('model name', platform.machine())} {digest}"


def _version(library: str) -> str:
    try:
        return version(library)
    except PackageNotFoundError:
        return ""
