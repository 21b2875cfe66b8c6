"""What a server may answer: nothing is taken for stored that was not acknowledged, and only a value's own fault rejects it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from sinks.milvus.ranges import PAGE_ROWS
from sinks.milvus.sink import MilvusSettings, MilvusSink
from sinks.sink import LineFilter, SinkBroken, SinkBusy, SinkMismatch, SinkRejected, never
from tests.sinks.rows import DIGEST, SPACE, line, nearest, newest, offsets, template, unit
from tests.sinks.settings import strong_sink, with_settings
from tests.sinks.stub_server import StubServer

ALL = LineFilter()
SHORT_S, PATIENT_S = 0.5, 10.0


@pytest.fixture
def server(tmp_path: Path) -> Iterator[StubServer]:
    server = StubServer(tmp_path / "server")
    yield server
    server.close()


@pytest.fixture
def remote(server: StubServer) -> Iterator[MilvusSink]:
    sink = MilvusSink(MilvusSettings(uri=server.uri, timeout_s=PATIENT_S), SPACE)
    sink.open()
    yield sink
    sink.close()


def test_a_server_stores_and_answers(remote: MilvusSink) -> None:
    remote.upsert_templates([template("a")])
    remote.upsert_lines([line(offset) for offset in range(5_000)])
    assert remote.counts() == (5_000, 1)
    assert offsets(newest(remote, DIGEST, 2, ALL)) == [4_999, 4_998]
    assert [hit.digest for hit in nearest(remote, unit(1.0), 1)] == ["a"]
    assert remote.repaired_files == 0


def test_a_short_count_is_no_acknowledgement(server: StubServer, remote: MilvusSink) -> None:
    server.forgotten_rows = 1
    with pytest.raises(SinkBusy, match="1 of 2 rows of vectail were acknowledged"):
        remote.upsert_lines([line(1), line(2)])
    server.forgotten_rows = 0
    remote.upsert_lines([line(1), line(2)])
    assert remote.counts().lines == 2


@pytest.mark.parametrize(
    ("code", "reason", "expected"),
    [
        (8, "quota exceeded[reason=rate type: DMLUpsert]", SinkBusy),
        (65_535, "auth check failure", SinkBusy),
        (100, "collection not found[collection=vectail]", SinkBusy),
        (1_100, "length of varchar field text exceeds max length, row number: 0: invalid parameter", SinkRejected),
    ],
)
def test_a_refused_write_is_tried_once_and_blamed_by_its_code(
    server: StubServer, remote: MilvusSink, code: int, reason: str, expected: type[Exception]
) -> None:
    server.refuse = (code, reason)
    with pytest.raises(expected):
        remote.upsert_lines([line(1)])
    assert server.upserts == 1
    server.refuse = None
    remote.upsert_lines([line(1)])


def test_a_refused_read_is_busy_and_quotes_little_of_a_filter(server: StubServer, remote: MilvusSink) -> None:
    remote.upsert_lines([line(1)])
    remote.upsert_templates([template("a")])
    services = tuple(f"secret {number} exceeds max length" for number in range(100))
    server.refuse = (1_100, f"cannot parse expression: {services}, error: too many: invalid parameter")
    for read in (
        lambda: remote.newest_lines([DIGEST], 1, LineFilter(services=services)),
        lambda: remote.count_templates(ALL, templates=None, most_rows=9, deadline_passed=never),
        lambda: remote.lines_between("logs", 0, 0, 9),
        lambda: nearest(remote, unit(1.0), 1),
    ):
        with pytest.raises(
            SinkBusy, match=r"failed with code 1100: cannot parse expression: .* error: too many: invalid parameter$"
        ) as refused:
            read()
        assert len(str(refused.value)) < 220


def test_no_answer_is_larger_than_a_page_of_the_longest_texts(server: StubServer, settings: MilvusSettings) -> None:
    server.version = "v2.6.11"
    sink = strong_sink(with_settings(settings, uri=server.uri, bm25="on"))
    sink.open()
    rows, text = 2 * PAGE_ROWS + 1, "word " + "x" * 1_000
    sink.upsert_lines([line(offset, text=text) for offset in range(rows)])
    sink.upsert_templates([template(f"{number}", text=text) for number in range(rows)])
    server.most_answer_bytes = PAGE_ROWS * (len(text) + 200)
    assert offsets(newest(sink, DIGEST, rows, ALL)) == [*reversed(range(rows))]
    assert sink.template_texts([f"{number}" for number in range(rows)]) == {f"{number}": text for number in range(rows)}
    for limit in (3, rows):
        matching = sink.matching_lines("word", limit, ALL)
        assert len({hit.line for hit in matching}) == limit
        assert [hit.line for hit in matching] == [
            line(offset, text=text) for offset in sorted((hit.line.offset for hit in matching), reverse=True)
        ]
        assert [hit.text for hit in nearest(sink, unit(1.0), limit)] == [text] * limit
    sink.close()


def test_an_answer_that_comes_too_late_is_busy_and_the_replay_changes_nothing(server: StubServer, remote: MilvusSink) -> None:
    client = remote._lent.check()  # noqa: SLF001
    server.answer.clear()
    client._write_timeout_s = SHORT_S  # noqa: SLF001 (no test should wait so long for an answer that does not come)
    with pytest.raises(SinkBusy, match="DEADLINE_EXCEEDED"):
        remote.upsert_lines([line(1)])
    server.answer.set()
    client._write_timeout_s = PATIENT_S  # noqa: SLF001
    remote.upsert_lines([line(1)])
    assert remote.counts().lines == 1


def test_a_server_that_goes_away_is_busy(server: StubServer, remote: MilvusSink) -> None:
    server.close()
    with pytest.raises(SinkBusy):
        remote.upsert_lines([line(1)])
    with pytest.raises(SinkBusy):
        remote.template_vectors(["a"])


def test_a_failure_is_told_by_the_exception_and_not_by_pymilvus(
    server: StubServer, remote: MilvusSink, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    server.refuse = (8, "quota exceeded")
    with pytest.raises(SinkBusy):
        remote.upsert_lines([line(1)])
    with pytest.raises(SinkBusy):
        remote.counts()
    assert "quota" not in capfd.readouterr().err
    assert "quota" not in caplog.text


def test_a_server_is_never_broken(server: StubServer, remote: MilvusSink) -> None:
    server.refuse = (1, "some unexpected thing")
    for _ in range(2):
        with pytest.raises(SinkBusy) as error:
            remote.upsert_lines([line(1)])
        assert not isinstance(error.value, SinkBroken)
    server.refuse = None
    remote.upsert_lines([line(1)])


@pytest.mark.parametrize(
    ("answer", "expected", "told"),
    [
        ((1_100, "invalid index type: GPU_CAGRA"), SinkMismatch, "field 'vector': GPU_CAGRA is refused: invalid index type: GPU_CAGRA$"),
        ((2, "service unavailable"), SinkBusy, "service unavailable"),
    ],
)
def test_an_index_that_the_server_refuses_is_named_and_a_later_start_finishes_the_collections(
    server: StubServer, answer: tuple[int, str], expected: type[Exception], told: str
) -> None:
    server.version, server.no_index = "v2.6.11", answer
    settings = MilvusSettings(uri=server.uri, timeout_s=PATIENT_S, index="GPU_CAGRA")
    with pytest.raises(expected, match=told):
        strong_sink(settings).open()
    server.no_index = None
    sink = strong_sink(with_settings(settings, index="HNSW"))
    sink.open()
    sink.upsert_templates([template("a")])
    assert sink.counts().templates == 1
    sink.close()
