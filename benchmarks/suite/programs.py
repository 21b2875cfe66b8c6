"""The benchmarks that the suite runs, in order: each is a program of its own, which prints one JSON object with `--json`."""

from collections.abc import Sequence
from typing import Literal, NamedTuple


class Program(NamedTuple):
    """One benchmark, and how the suite asks for it."""

    name: str
    """In `--only`, in the results and in the report."""
    module: str
    arguments: tuple[str, ...] = ()
    """Besides `--json` and `--quick`."""
    needs: Literal["", "gpu", "logs"] = ""
    """Without it the program is left out, and the report says so."""
    takes_files: bool = False
    """The logs of `--logs` are its lines; without them it has synthetic ones."""
    plots: Literal["", "--plot", "--plots"] = ""
    """Its option for plots: of one file, or of a folder."""
    pictures: tuple[str, ...] = ()
    """Files that it draws; of a folder, all PNGs that begin with its name."""
    limit_s: float = 3_600.0


BY_HAND = Program("by_hand", "benchmarks.by_hand", takes_files=True)
PROGRAMS: Sequence[Program] = (
    BY_HAND,
    Program("engines", "benchmarks.engines", ("--alone",)),
    Program("tokenize", "benchmarks.tokenize"),
    Program("masks", "benchmarks.masks", takes_files=True),
    Program("decode", "benchmarks.decode"),
    Program("cache", "benchmarks.cache"),
    Program("sink", "benchmarks.sink"),
    Program("poll_to_ready", "benchmarks.poll_to_ready", takes_files=True),
    Program("throughput", "benchmarks.throughput", takes_files=True),
    Program("safety", "benchmarks.safety"),
    Program("search_growth", "benchmarks.search_growth", takes_files=True),
    Program("query_latency", "benchmarks.query_latency", plots="--plot", pictures=("query_latency.png",)),
    Program("growth", "benchmarks.growth", plots="--plots"),
    Program("slow_topics", "benchmarks.slow_topics", limit_s=7_200.0),
    Program("retrieval", "benchmarks.retrieval", needs="logs"),
    Program("templates", "benchmarks.templates", needs="logs"),
    Program("questions", "benchmarks.questions", needs="logs"),
    Program("gpu_worker", "benchmarks.gpu_worker", needs="gpu", takes_files=True),
)
JSON_KEYS = (
    "vs_naive_distinct",
    "vs_naive_mix",
    "vs_naive_steady",
    "vs_batched_distinct",
    "vs_batched_mix",
    "vs_batched_steady",
    "overlap_share",
)
"""What `python -m benchmarks --json` prints, and nothing else."""
