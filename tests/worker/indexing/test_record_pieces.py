"""Pieces that a container's runtime made of one line are one entry, wherever batches end, and streams and containers are never mixed."""

import json
from base64 import b64decode
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from consumers.decode.rules import DecodeRules
from sinks.arrow import as_optional_texts
from tests.consumers.records import admit_batch
from tests.worker.chain import Chain
from tests.worker.chain_values import LOGS, record
from tests.worker.conftest import NewChain
from tests.worker.indexing.language_events import LINES
from tests.worker.indexing.test_events import found, join
from tests.worker.indexing.test_multiline import entries as stored_entries
from tests.worker.indexing.test_restart import restarted
from worker.indexing.event_languages import LANGUAGES
from worker.indexing.events import JoinedEvents
from worker.settings.topic_tables import MultilineTable

DOCKER_BYTES = 16 * 1024
CRI_MS = 1_795_000_000_000
"""When the first line of `cri` was written."""
GOLDEN = Path(__file__).parents[3] / "tests" / "golden"


def cri(tag: str, text: str, *, stream: str = "stdout", ms: int = 0) -> bytes:
    return f"2026-11-18T11:06:{40 + ms // 1000:02}.{ms % 1000:03}Z {stream} {tag} {text}".encode()


def docker(text: str, *, stream: str = "stdout", time: str = "2026-11-18T11:06:40.123456789Z") -> bytes:
    return json.dumps({"log": text, "stream": stream, "time": time}, separators=(",", ":")).encode()


def fluent(tag: str, text: str, *, pod: str = "web-1") -> bytes:
    """As Fluent Bit's parser of such lines and its Kubernetes filter write it."""
    return json.dumps(
        {"time": "2026-11-18T11:06:40Z", "stream": "stdout", "logtag": tag, "log": text, "kubernetes": {"pod_name": pod}}
    ).encode()


def fields(joined: JoinedEvents) -> list[str | None]:
    return as_optional_texts(joined.decoded.entries.fields)


def test_pieces_are_one_entry_with_the_first_ones_time_and_without_the_mark() -> None:
    joined = join([cri("F", "before"), cri("P", "one ", ms=1), cri("P", "and ", ms=2), cri("F", "a half", ms=3), cri("F", "after", ms=4)])
    assert found(joined) == [(0, 1, "before"), (1, 3, "one and a half"), (4, 1, "after")]
    assert fields(joined) == ['{"log.iostream":"stdout"}'] * 3
    assert (joined.decoded.entries.time_ms - joined.decoded.entries.time_ms[0]).tolist() == [0, 1, 4]


def test_a_line_whose_end_never_comes_stays_marked() -> None:
    joined = join([cri("P", "one "), cri("P", "two"), b"another program's line"])
    assert found(joined) == [(0, 2, "one two"), (2, 1, "another program's line")]
    assert fields(joined) == ['{"cri.partial":true,"log.iostream":"stdout"}', None]


def test_streams_are_never_mixed() -> None:
    values = [cri("P", "out "), cri("F", "err", stream="stderr"), cri("F", "put")]
    assert found(join(values)) == [(0, 1, "out "), (1, 1, "err"), (2, 1, "put")]


def test_a_last_piece_may_be_empty() -> None:
    joined = join([cri("P", "all of it"), cri("F", "").rstrip(), cri("F", ""), cri("F", "after")])
    assert found(joined) == [(0, 2, "all of it"), (3, 1, "after")]
    assert joined.decoded.empty.tolist() == [2]
    assert found(join([cri("P", "out"), cri("F", "", stream="stderr")])) == [(0, 1, "out")]


def test_pieces_join_whatever_fields_are_kept() -> None:
    assert found(join([cri("P", "a"), cri("F", "b")], rules=DecodeRules(max_other_fields=0))) == [(0, 2, "ab")]


def test_escape_codes_that_were_cut_go() -> None:
    assert found(join([cri("P", "a \x1b[3"), cri("F", "1mred")])) == [(0, 2, "a red")]


@pytest.mark.parametrize("write", [cri, lambda tag, text: docker(text + "\n" * (tag == "F"))])
def test_a_whole_line_that_is_an_object_is_read_as_one(write: Callable[[str, str], bytes]) -> None:
    begin, end = '{"level":"error","service":"cart","padding":"' + "x" * DOCKER_BYTES, '","message":"card refused"}'
    values = [write("P", begin), write("F", end), cri("F", "after")]
    joined = join(values)
    assert found(joined) == [(0, 2, "card refused"), (2, 1, "after")]
    assert (joined.decoded.entries.level.text(0), joined.decoded.entries.service.text(0)) == ("ERROR", "cart")
    assert '"cri.partial"' not in (fields(joined)[0] or "")
    assert found(join(values[:1])) == [(0, 1, begin)]


def test_a_time_without_a_year_in_a_line_of_pieces_is_near_the_runtimes_time_and_not_kafkas() -> None:
    values = [cri("P", '{"message":"card refused",'), cri("F", '"time":"Nov 18 11:06:41"}')]
    (near,), (far,) = (join(values, times=[ms, ms]).decoded.entries.time_ms.tolist() for ms in (0, 3 * 365 * 86_400_000))
    assert near == far == CRI_MS + 1_000


def test_in_a_topic_of_text_a_line_of_pieces_stays_text() -> None:
    values = [cri("P", '{"level":"error",'), cri("F", '"message":"card refused"}')]
    assert found(join(values, rules=DecodeRules(format="text"))) == [(0, 2, '{"level":"error","message":"card refused"}')]


@pytest.mark.parametrize(
    "given_columns",
    [
        {"offsets": [0, 2]}, {"keys": [b"a", b"b"]}, {"times": [0, 5_001]},
    ],
)  # fmt: skip
def test_only_neighbours_of_one_key_and_time_join(given_columns: dict[str, list[int]]) -> None:
    values = [cri("P", "a"), cri("F", "b")]
    assert found(join(values)) == [(0, 2, "ab")]
    assert found(join(values, **given_columns)) == [(0, 1, "a"), (1, 1, "b")]  # type: ignore[arg-type]  # one of its columns


def test_pieces_that_were_logged_at_other_times_are_of_other_lines() -> None:
    assert found(join([cri("P", "a"), cri("F", "b", ms=5_001)])) == [(0, 1, "a"), (1, 1, "b")]


def test_a_line_is_bounded_by_records_and_bytes() -> None:
    assert [(row, records) for row, records, _ in found(join([cri("P", "x")] * 501 + [cri("F", "y")]))] == [(0, 500), (500, 2)]
    long = cri("P", "x" * 100_000)
    assert [(row, records) for row, records, _ in found(join([long, long, long, cri("F", "y")]))] == [(0, 2), (2, 2)]


def test_a_line_is_open_until_its_last_piece_comes() -> None:
    assert join([cri("F", "a"), cri("P", "b"), cri("P", "c")], is_over=False).held == (1,)
    assert found(join([cri("F", "a"), cri("P", "b"), cri("P", "c")], is_over=False)) == [(0, 1, "a")]
    assert join([cri("P", "b"), cri("F", "c")], is_over=False).held == (2,)
    assert join([cri("P", "b"), cri("F", "c"), b"plain"], is_over=False).held == (3,)


def test_what_containerd_wrote_of_a_long_line_is_one_entry() -> None:
    _, *records = (GOLDEN / "containerd_cri.jsonl").read_text().splitlines()
    values = [b64decode(json.loads(record)["value_base64"]) for record in records]
    *others, (row, number, text) = found(join(values))
    assert (len(others), row, number, text) == (5, 5, 2, 20 * "x")


def test_pieces_of_dockers_json_files_join_by_their_time() -> None:
    piece = "x" * DOCKER_BYTES
    assert found(join([docker(piece), docker(piece), docker("end\n"), docker("after\n")])) == [(0, 3, piece * 2 + "end"), (3, 1, "after")]
    later = docker("end\n", time="2026-11-18T11:06:40.123456790Z")
    assert [records for _, records, _ in found(join([docker(piece), later]))] == [1, 1]
    assert [records for _, records, _ in found(join([docker(piece), docker("end\n", stream="stderr")]))] == [1, 1]
    assert [records for _, records, _ in found(join([docker(piece + "\n"), docker("end\n")]))] == [1, 1]
    assert join([docker(piece)], is_over=False).held == (0,)


def test_pieces_in_objects_join_within_their_pod() -> None:
    piece = "x" * 2_000
    joined = join([fluent("P", piece), fluent("F", "end"), fluent("F", "after")])
    assert found(joined) == [(0, 2, piece + "end"), (2, 1, "after")]
    assert fields(joined)[0] == fields(joined)[1]
    assert [records for _, records, _ in found(join([fluent("P", piece), fluent("F", "end", pod="web-2")]))] == [1, 1]


def test_several_entries_of_one_record_never_join() -> None:
    several = b"[" + fluent("P", "x" * 2_000) + b"," + fluent("P", "y" * 2_000) + b"]"
    assert [records for _, records, _ in found(join([several, fluent("F", "end")]))] == [1, 1, 1]


JAVA = MultilineTable(start="java")


def test_a_line_of_an_event_may_have_come_in_pieces() -> None:
    values = [cri("P", "disk "), cri("F", "full"), cri("F", "\tat org.example."), cri("P", "\tat org."), cri("F", "Main"), cri("F", "next")]
    assert found(join(values, table=JAVA)) == [(0, 5, "disk full\n\tat org.example.\n\tat org.Main"), (5, 1, "next")]
    assert join(values[:4], table=JAVA, is_over=False).held == (0,)
    assert join([*values, cri("P", "x")], table=JAVA, is_over=False).held == (5,)


def test_an_event_is_bounded_by_records_however_its_lines_came() -> None:
    values = [cri("F", "one"), *[cri("P", "\tat "), cri("F", "x")] * 3]
    assert [(row, records) for row, records, _ in found(join(values, table=MultilineTable(start="java", max_lines=4)))] == [(0, 3), (3, 4)]


SEVERAL = b'[{"msg": "x"}, {"msg": "y"}]'
"""A record of several entries."""
a_value = st.sampled_from(
    [
        cri("P", "a"),
        cri("P", "\tat b"),
        cri("F", "c"),
        cri("F", "\tat d"),
        cri("P", "e", stream="stderr"),
        cri("F", "f", stream="stderr"),
        cri("F", ""),
        b"plain",
        b"\tat plain",
        b"",
        None,
        SEVERAL,
    ]
)


a_line = st.sampled_from(
    [line.encode() for start in ("java", "python", "go", "node") for line in LINES[start]] + [b"> start", b"continued", b""]
)
TABLES = [MultilineTable.model_validate(one | {"max_lines": 3}) for one in ({"start": "java"}, {"start": "go"}, {"pattern": "^>"})]
TABLES += [MultilineTable.model_validate(one | {"max_s": 0.003}) for one in ({"start": "python"}, {"start": "node"}, {"pattern": "^>"})]
TABLES += [MultilineTable(start=start, max_lines=3) for start in LANGUAGES]


@pytest.mark.slow
@settings(deadline=None, max_examples=200)
@given(
    values=st.lists(a_value, min_size=1, max_size=25) | st.lists(a_line, min_size=1, max_size=25),
    table=st.sampled_from([None, JAVA, MultilineTable(pattern="^c", max_s=0.004), *TABLES]),
    cuts=st.sets(st.integers(1, 24)),
    data=st.data(),
)
def test_lines_do_not_depend_on_where_batches_end_or_at_which_line_reading_begins(
    values: list[bytes | None], table: MultilineTable | None, cuts: set[int], data: st.DataObject
) -> None:
    times = list(range(len(values)))
    whole = found(join(values, table=table, times=times))
    parts: list[tuple[int, int, str]] = []
    begin = 0
    for end in sorted({*(cut for cut in cuts if cut < len(values)), len(values)}):
        joined = join(values[begin:end], table=table, times=times[begin:end], is_over=end == len(values))
        parts += [(begin + row, records, text) for row, records, text in found(joined)]
        begin += joined.held[0]
    assert parts == whole
    if whole:
        first = data.draw(st.sampled_from(whole))[0]
        again = found(join(values[first:], table=table, times=times[first:]))
        assert [(first + row, records, text) for row, records, text in again] == [one for one in whole if one[0] >= first]


@pytest.fixture
def chain(new_chain: NewChain) -> Chain:
    return new_chain()


PIECES = [cri("P", "one ").decode(), cri("P", "and ").decode(), cri("F", "a half").decode()]


def test_no_commit_passes_an_open_line_and_nothing_waits_for_it(chain: Chain) -> None:
    chain.feed("before", *PIECES[:2])
    chain.run()
    assert stored_entries(chain) == [(0, 1, "before")]
    assert chain.committable() == 1
    assert chain.ledger.wait_until_settled([LOGS], 0.0)
    chain.feed(PIECES[2])
    chain.run()
    assert stored_entries(chain)[1:] == [(1, 3, "one and a half")]
    assert chain.committable() == 4


def feed_from(chain: Chain, first: int, values: Sequence[bytes | None], cuts: set[int]) -> None:
    """Feed records with offsets from `first` on, in batches that end at the cuts."""
    ends = sorted({*(cut for cut in cuts if first < cut < len(values)), len(values)})
    for begin, end in zip([first, *ends], ends, strict=False):
        if begin < end:
            chain.prepare.step([admit_batch(chain.ledger, *(record(offset, values[offset]) for offset in range(begin, end)))])
            chain.run()


@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    values=st.lists(a_value, min_size=2, max_size=12),
    table=st.sampled_from([None, JAVA]),
    cuts=st.tuples(st.sets(st.integers(1, 11)), st.sets(st.integers(1, 11))),
    killed_after=st.integers(1, 12),
)
def test_after_a_kill_at_any_record_every_line_is_stored_once_and_whole(
    new_chain: NewChain,
    values: list[bytes | None],
    table: MultilineTable | None,
    cuts: tuple[set[int], set[int]],
    killed_after: int,
) -> None:
    joined = join(values, table=table, is_over=False)
    chain = new_chain(multiline=table)
    feed_from(chain, 0, values[:killed_after], cuts[0])
    committed = chain.committable() or 0
    again = restarted(chain, new_chain, multiline=table)
    feed_from(again, committed, values, cuts[1])
    assert [one for one in stored_entries(again) if values[one[0]] != SEVERAL] == [
        one for one in found(joined) if values[one[0]] != SEVERAL
    ]
    assert (again.committable() or committed) == joined.held[0]
