"""The wall clock may jump, here and where records and queries come from: what the stream waits for is measured by another clock.

Where the wall clock is read all the same is listed here, and what a jump of an hour does there: the age of a query (below); the age of
a folder that a dead process has left where there are no locks (a day); the id of a run, which is above every run that was seen, whatever
the clock says (below); whether Kafka's time of a record can be true (until a day from now); and on a server the age of blocks to be merged,
which are merged earlier or later then. A local folder dates its blocks and lets them expire by a time that no wrong clock makes older
(`tests/sinks/test_index_time.py`, `test_expiry.py`).
"""

import ast
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from sinks.block import new_run
from worker.asking.question import Query
from worker.asking.requests import monotonic_deadline_s

ROOT = Path(__file__).parents[3]
ROOMS = ("worker", "consumers", "producers", "sinks")
TOOLS = ("worker/cli/", "worker/inspecting/doctor")
READERS_OF_THE_WALL_CLOCK = {
    "worker/runtime/surroundings.py",
    "worker/embedding/model/prepared.py",
    "worker/inspecting/entry_writer.py",
    "sinks/milvus/index_time.py",
    "sinks/milvus/milvus_sink.py",
}
SHOW_TIMES = {"worker/runtime/tracing.py", "worker/serving/mcp_endpoint.py", "worker/serving/sign_in.py"}
"""Times of spans, what "the last hour" is when an agent asks, and until when a sign-in holds (it may end an hour early or late)."""
HOUR_MS = 3_600_000
WALL_CLOCKS = {("time", "time"), ("time", "time_ns"), ("datetime", "now"), ("datetime", "utcnow"), ("datetime", "today")}


def reads_the_wall_clock(source: str) -> bool:
    """Say whether the code calls one of the wall clocks, or imports it by name."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and (node.value.id, node.attr) in WALL_CLOCKS:
            return True
        if isinstance(node, ast.ImportFrom) and any((node.module, name.name) in WALL_CLOCKS for name in node.names):
            return True
    return False


def test_the_stream_reads_the_wall_clock_in_few_places_and_for_figures_only() -> None:
    files = {str(file.relative_to(ROOT)): file.read_text() for room in ROOMS for file in (ROOT / room).rglob("*.py")}
    stream = {name: source for name, source in files.items() if not name.startswith(TOOLS)}
    assert len(stream) > len(READERS_OF_THE_WALL_CLOCK)
    assert {name for name, source in stream.items() if reads_the_wall_clock(source)} == READERS_OF_THE_WALL_CLOCK | SHOW_TIMES


@given(seen_ms=st.integers(0, 2**47), jump_ms=st.integers(-HOUR_MS, HOUR_MS), draws=st.tuples(*[st.integers(0, 2**32 - 1)] * 2))
def test_whatever_the_clock_says_a_run_is_above_those_that_were_seen(seen_ms: int, jump_ms: int, draws: tuple[int, int]) -> None:
    seen = new_run(seen_ms, draws[0])
    assert new_run(max(seen_ms + jump_ms, 0), draws[1], above=seen) > seen


@given(
    deadline_ms=st.integers(1, 60_000),
    taken_s=st.floats(0, 1e6),
    on_the_way_ms=st.integers(0, 60_000),
    wall_ms=st.integers(HOUR_MS, 2**41),
    jump_ms=st.integers(-HOUR_MS, HOUR_MS),
)
def test_whatever_the_clocks_say_a_query_holds_the_engine_no_longer_than_its_deadline(
    deadline_ms: int, taken_s: float, on_the_way_ms: int, wall_ms: int, jump_ms: int
) -> None:
    """Our clock jumps back: the query counts as just sent. It jumps ahead: the query may count as too late, and is told so."""
    query = Query(text="disk", deadline_ms=deadline_ms)
    until_s = monotonic_deadline_s(query, sent_ms=wall_ms - on_the_way_ms, now_s=taken_s, wall_ms=wall_ms + jump_ms)
    assert until_s is not None
    assert until_s <= taken_s + deadline_ms / 1000
    if jump_ms <= -on_the_way_ms:
        assert until_s == taken_s + deadline_ms / 1000
