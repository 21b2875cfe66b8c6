"""Each benchmark runs to its end on few lines, and prints the figures that the report and the guard look for."""

import importlib
import json
import math
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from benchmarks.by_hand_corpora import Sizes
from benchmarks.classes import Window
from benchmarks.gpu_worker import Sizes as GpuSizes
from benchmarks.guard_measures import MEASURES
from benchmarks.page import Plan, look_at
from benchmarks.race import Missing
from benchmarks.reindex import Plan as ReindexPlan
from benchmarks.suite.goals import read_table, value_at
from tests.heavy import need
from tests.model_fixture import CACHE
from tests.services.kafka import KafkaServer
from tests.services.milvus import MilvusServer, connected
from tests.services.missing import skip_or_fail
from tests.services.redis import local_redis
from tests.worker.running import wait_until

SHAPES = {
    "E1": "jk2_init() Found child {} in scoreboard slot {}",
    "E2": "workerEnv.init() ok {}, {}",
    "E3": "mod_jk child workerEnv in error state {} of {}",
    "E4": "[client 10.0.{}.{}] Directory index forbidden by rule",
    "E5": "jk2_init() Can't find child {} in scoreboard {}",
    "E6": "mod_jk child init {} {}",
}
"""Label of LogHub's Apache → a text of it."""
LINES = [shape.format(number, number + 20) for number in range(10) for shape in SHAPES.values()]
LABELS = [*SHAPES] * 10
_, FIGURES = read_table()


class Run(NamedTuple):
    """How a program is asked for a little, and what it prints then."""

    module: str
    arguments: str = "--quick"
    """A word in braces is a fixture, whose value takes its place."""
    sizes: Mapping[str, object] = {}
    """Constants of the module with smaller values."""
    also: frozenset[str] = frozenset()
    """Figures that nobody else looks for."""
    shows: Mapping[str, object] = {}
    """Figures that are known beforehand."""
    lacks: frozenset[str] = frozenset()
    """What the report or the guard looks for, and so few lines do not give."""

    def wanted(self) -> set[str]:
        """Return the paths of the figures that the report and the guard look for."""
        name = self.module.split(".")[1]
        asked = {figure.key for figure in FIGURES if figure.benchmark == name}
        return asked | self.also | {measure.key for measure in MEASURES if measure.probe.module == self.module}


def long(run: Run) -> Any:  # noqa: ANN401 - pytest's own type is private
    return pytest.param(run, marks=[pytest.mark.long, pytest.mark.timeout(900)])


SMALL_SINK = {"QUICK_LINES": 60, "QUICK_ROUNDS": 2, "POOL_LINES": 100}
SMALL = {
    "QUICK_PARTITIONS": (1, 3),
    "QUICK_LINE_BYTES": (20, 4_096),
    "QUICK_DISTINCT": (25.0, 50.0),
    "QUICK_TRICKLE_S": 0.1,
    "WORKERS": (1, 2),
}
GROWTH, AXES = "--quick --plots {folder}", "lag partitions line_bytes distinct workers index"
OF_GROWTH = frozenset(figure.key for figure in FIGURES if figure.benchmark == "growth")
OF_ONE_LAG = frozenset({"lag.worst_fall"})
GPU = "{file} --cpu --engine llama --rounds 2 --replicas 2"
SLOW = "--partitions 2 12 --seconds 2 --after 0 --kafka {kafka_address}"
OF_MANY_TOPICS = frozenset({"64.acknowledged_p95_s", "64.lines_per_row", "1000.upkeep_share"})
BY_HAND = Sizes({"distinct": 24, "mix": 4_000, "steady": 4_000}, batched=12, naive=6)
"""In fewer lines no template would have to wait."""
RUNS = (
    pytest.param(
        Run("benchmarks.tokenize", "--quick {odd_file}", shows={"ids_equal": True, "ids_equal_llama_tokenize": False, "lines": 3}),
        marks=pytest.mark.vllm,  # compares with the tokenizer of Transformers
    ),
    Run("benchmarks.masks", "--quick {file}", shows={"distinct": 6}),
    Run("benchmarks.startup", "--quick version", {"QUICK_ROUNDS": 1}, also=frozenset({"vs_python", "typer_vs_python", "verbs.version"})),
    Run("benchmarks.decode", sizes={"LIST_RECORDS": 200, "QUICK_LISTS": 1, "QUICK_ROUNDS": 2}),
    Run("benchmarks.cache", "--quick --redis {redis_url} {file}"),
    Run("benchmarks.sink", "--quick --server {milvus_uri}", SMALL_SINK),
    Run("benchmarks.poll_to_ready", "--lines 60 --rounds 1 --kafka {kafka_address} {file}", shows={"lines": 60}),
    Run("benchmarks.throughput", "--lines 60 300 {file}", shows={"lines": 60, "known_lines": 300}),
    Run("benchmarks.safety", sizes={"QUICK_LINES": 200, "QUICK_ROUNDS": 1}, shows={"lines": 200}),
    Run("benchmarks.search_growth", "--lines 300 600 --quick {file}", shows={"lines": 600, "smaller.lines": 300}),
    Run("benchmarks.engines", "--alone --quick --engine llama --batch-tokens 256", {"QUICK_LINES": 24, "QUICK_ROUNDS": 2}),
    Run("benchmarks.engines", "--alone --quick --engine onnx", {"QUICK_LINES": 24, "QUICK_ROUNDS": 2}, shows={"engine": "onnx"}),
    Run("benchmarks.gpu_worker", GPU, {"WHOLE": GpuSizes(0.0, 60, 400)}, also=frozenset({"replicas.2"})),
    Run("benchmarks.retrieval", "--logs {logs}", shows={"p10_template": 1.0, "lines": 60}),
    Run(
        "benchmarks.templates",
        "--quick --leave-out --logs {logs}",
        shows={"ga": 1.0, "fga": 1.0, "mixed_share": 0.0, "lines": 60, "elastic.ga": 1.0, "leave_out.adds.users.systems": 0},
    ),
    Run("benchmarks.questions.__main__", "--default-only --logs {logs}", shows={"lines": 60}),
    long(Run("benchmarks.retrieval_modes", "--quick --logs {logs}", shows={"lines": 60})),
    long(Run("benchmarks.query_latency", "--quick --seconds 8 --engine llama {file}")),
    long(
        Run(
            "benchmarks.reindex",
            sizes={"QUICK": ReindexPlan(templates=1_000, window_s=1.0)},
            shows={"templates": 1_000, "unanswered": 0, "mixed_answers": 0},
            also=frozenset({"seconds", "p99_wait_embed_s", "rollback_s", "bulk_loss_share"}),
        )
    ),
    Run(
        "benchmarks.classes",
        "--quick --engine llama",
        {"QUICK": Window(0.5, 1)},
        shows={"engine": "llama.cpp"},
        also=frozenset({"query_p99_in_batches", "capped_batch_s", "bulk_share", "online_share", "vs_bare_engine"}),
    ),
    long(Run("benchmarks.by_hand", "--quick --rounds 1", {"QUICK": BY_HAND})),
    Run("benchmarks.growth", f"{GROWTH} --lines 9000 --axis index_server --server {{milvus_uri}}", lacks=OF_GROWTH),
    long(Run("benchmarks.growth", f"{GROWTH} --rounds 1 --lines 200 --axis {AXES} --kafka {{kafka_address}}", SMALL, lacks=OF_ONE_LAG)),
    Run("benchmarks.slow_topics", SLOW, {"LITE_PARTITIONS": 2}, shows={"2.lines": 8, "12.lines": 48}, lacks=OF_MANY_TOPICS),
)


@pytest.fixture(autouse=True)
def _model_is_prepared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VECTAIL_MODEL__CACHE", str(CACHE))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "some.log"
    path.write_text("".join(f"{line}\n" for line in LINES))
    return path


@pytest.fixture
def odd_file(tmp_path: Path) -> Path:
    """Three lines; the second is none that llama.cpp's own tokenizer reads as ours does."""
    path = tmp_path / "odd.log"
    path.write_bytes(b"Failed password for root from 10.0.0.1\n[SEP] \xff na\xc3\xafve " + b"x" * 200 + b"\n\n")
    return path


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """A folder of labelled logs, as LogHub has them."""
    rows = [f'{number},"{line}",{label},<*>' for number, (line, label) in enumerate(zip(LINES, LABELS, strict=True), 1)]
    (tmp_path / "Apache.log").write_text("\n".join(LINES))
    (tmp_path / "Apache.csv").write_text("\n".join(["LineId,Content,EventId,EventTemplate", *rows]))
    return tmp_path


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder for plots, of which each is small."""
    path = tmp_path / "plots"
    path.mkdir()
    yield path
    assert [0 < plot.stat().st_size < 80_000 for plot in path.iterdir()]


@pytest.fixture
def redis_url() -> Iterator[str]:
    with local_redis("--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lfu") as server:
        yield server.url


@pytest.fixture
def kafka_address(kafka: KafkaServer) -> str:
    return kafka.bootstrap


@pytest.fixture
def milvus_uri(milvus: MilvusServer) -> Iterator[str]:
    """The address of a server on which no benchmark's collection may stay; another benchmark may be using it meanwhile."""
    yield milvus.uri
    with connected(milvus.uri) as client:
        wait_until(lambda: not any(name.startswith("bench") for name in client.list_collections()), "the end of every collection")


@pytest.mark.process
@pytest.mark.parametrize("run", RUNS, ids=lambda run: f"{run.module} {run.arguments}")
def test_a_program_runs_to_its_end_and_prints_its_figures(
    run: Run, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    if request.node.get_closest_marker("vllm"):
        need("transformers")
    program = importlib.import_module(run.module)
    for name, size in run.sizes.items():
        monkeypatch.setattr(program, name, size)
    words = [str(request.getfixturevalue(word[1:-1])) if word[0] == "{" else word for word in run.arguments.split()]
    monkeypatch.setattr(sys, "argv", [run.module, *words, "--json"])
    printed: list[str] = []
    program.main(printed.append)
    (figures,) = map(json.loads, printed)
    if run.module.split(".")[1] in (absent := figures.get("absent") or {}):
        skip_or_fail(str(absent))
    numbers = {key: value for key in run.wanted() if isinstance(value := value_at(figures, key), int | float)}
    assert run.wanted() - numbers.keys() == run.lacks
    assert all(map(math.isfinite, numbers.values())), numbers
    assert {key: value_at(figures, key) for key in run.shows} == run.shows


@pytest.mark.long
@pytest.mark.process
def test_the_page_is_measured_in_a_browser_over_a_small_index() -> None:
    try:
        figures = look_at(Plan(lines=4_000, templates=400, visits=1, turns=1, interval_s=6.0))
    except Missing as missing:
        skip_or_fail(str(missing))
    for name in ("first_paint_s", "first_result_s", "templates_p95_s", "askers_answered"):
        assert figures[name] > 0
    assert figures["first_paint_s"] <= figures["first_families_s"]
    assert all(figures[f"{who}_refused"] <= figures[f"{who}_answered"] for who in ("pages", "askers"))
    assert (figures["lines"], figures["templates"]) == (4_000, 400)
    assert json.loads(json.dumps(figures)) == figures


NO_LOGS = "no NAME.log with its NAME.csv; give a folder of labelled logs (LogHub) with --logs"


@pytest.mark.process
@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("cache --quick", "redis-server is not installed, and --redis names none"),
        ("cache --quick --redis http://h", "redis.url is not redis://HOST:PORT/DB"),
        ("tokenize /dev/null", "no line"),
        ("retrieval --logs {folder}", NO_LOGS),
        ("questions.__main__ --default-only --logs {folder}", NO_LOGS),
        ("gpu_worker --json", "no NVIDIA GPU (--cpu measures on the CPU)"),
        ("poll_to_ready absent.log", "absent.log"),
        ("page --slow", "unrecognized arguments: --slow"),
    ],
)
def test_what_is_missing_is_said_in_one_line(
    words: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if "GPU" in reason and Path("/dev/nvidiactl").exists():
        pytest.skip("there is a GPU")
    monkeypatch.setenv("PATH", "/nowhere")
    name, *arguments = words.format(folder=tmp_path).split()
    monkeypatch.setattr(sys, "argv", [name, *arguments])
    try:
        code = importlib.import_module(f"benchmarks.{name}").main()
    except SystemExit as ended:
        code = ended.code
    out, err = capsys.readouterr()
    assert out == ""
    assert code == 2 or (isinstance(code, str) and not err)
    assert reason in (code if isinstance(code, str) else err.splitlines()[-1])
