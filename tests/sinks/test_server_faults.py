"""What a server may answer: nothing is taken for stored that was not acknowledged, and only a value's own fault rejects it."""

from collections.abc import Callable, Iterator

import numpy as np
import pytest

from sinks.block import Block
from sinks.milvus.fields import blocks_layout
from sinks.milvus.milvus_sink import MilvusSettings, MilvusSink
from sinks.milvus.template_rows import TEXTS_AT_ONCE
from sinks.milvus.writing import block_columns
from sinks.row import TemplateId
from sinks.sink import BlockFilter, SinkBusy, SinkMismatch, SinkRejected
from tests.sinks.settings import strong_sink, with_settings
from tests.sinks.stub_server import StubServer
from tests.template_ids import id_of
from tests.world import SPACE, block, line, nearest, template, unit

ALL = BlockFilter()
SHORT_S, PATIENT_S = 0.5, 10.0
ONE = block([line(1)])


def many(number: int, **changes: bytes) -> list[Block]:
    """Return blocks that are alike but for their numbers."""
    return [ONE._replace(id=ONE.id._replace(first=n, last=n), **changes) for n in range(number)]  # type: ignore[arg-type] # columns only


@pytest.fixture
def remote(server: StubServer) -> Iterator[MilvusSink]:
    sink = MilvusSink(MilvusSettings(uri=server.uri, timeout_s=PATIENT_S), SPACE)
    sink.open()
    yield sink
    sink.close()


@pytest.mark.slow
@pytest.mark.timeout(50)
def test_a_silent_server_does_not_answer_a_ping_however_long_a_read_may_take(server: StubServer) -> None:
    sink = MilvusSink(MilvusSettings(uri=server.uri, timeout_s=600), SPACE)
    sink.open()
    server.tell.clear()
    with pytest.raises(SinkBusy, match="Milvus query failed"):
        sink.ping()
    server.tell.set()
    sink.close()


def test_a_first_write_inserts_and_another_of_the_same_blocks_upserts(server: StubServer, remote: MilvusSink) -> None:
    remote.write_blocks(many(3))
    assert (server.inserts, server.upserts) == (1, 0)
    remote.write_blocks(many(3), again=True)
    assert (server.inserts, server.upserts) == (1, 1)
    assert remote.counts().blocks == 3


@pytest.mark.parametrize(("version", "indexes", "maps"), [("v2.3.5", False, False), ("v2.4.1", True, False), ("v2.6.11", True, True)])
def test_what_filters_name_is_indexed_and_columns_stay_on_disk_where_the_version_can_do_it(
    server: StubServer,
    version: str,
    indexes: bool,  # noqa: FBT001 (a parameter of the test)
    maps: bool,  # noqa: FBT001 (a parameter of the test)
) -> None:
    server.version = version
    sink = strong_sink(MilvusSettings(uri=server.uri))
    sink.open()  # Milvus Lite, behind it, refuses an index of an array, as the first servers of 2.4 do
    sink.write_blocks([ONE])
    sink.close()
    scalars = {name for name, kind in server.indexes.items() if kind == "INVERTED"}
    filtered = {"topic", "partition", "first_offset", "last_offset", "first_ms", "last_ms", "templates", "words", "services", "levels"}
    assert scalars == (filtered if indexes else set())
    assert server.mapped == ({"head", "places", "texts", "fields"} if maps else set())


@pytest.mark.parametrize(("wish", "level"), [({}, 0), ({"consistency": "Bounded"}, 2)])
def test_reads_are_as_consistent_as_the_settings_say_and_no_less_where_it_matters(
    server: StubServer, wish: dict[str, str], level: int
) -> None:
    sink = MilvusSink(MilvusSettings.model_validate({"uri": server.uri, **wish}), SPACE)
    sink.open()

    def asked(read: Callable[[], object]) -> set[int]:
        server.consistency.clear()
        read()
        return set(server.consistency)

    assert asked(lambda: sink.find_blocks(ALL)) == {level}
    assert asked(lambda: sink.read_columns([ONE.id], ["texts"])) == {level}
    assert asked(lambda: nearest(sink, unit(1.0), 1)) == {level}
    for strong in (
        lambda: sink.find_blocks(ALL, strong=True),
        lambda: sink.read_columns([ONE.id], ["texts"], strong=True),
        lambda: sink.read_words([ONE.id]),
        lambda: sink.templates.stored([TemplateId("a")]),
        sink.counts,
    ):
        assert asked(strong) == {0}
    assert asked(lambda: sink.templates.vectors([TemplateId("a")])) == {2}, "a miss costs one embedding, waiting would cost more"
    sink.close()


def test_rows_that_cannot_be_read_are_left_out_and_said_once(server: StubServer) -> None:
    said: list[str] = []
    sink = strong_sink(MilvusSettings(uri=server.uri), say=said.append)
    sink.open()
    good, torn, foreign = many(3)
    sink.write_blocks([good])
    columns = [list(column) for column in block_columns([torn, foreign])]
    columns[0][1], columns[9][0] = "nobody's", "bm9uc2Vuc2U="
    sink._lent.check().insert(blocks_layout("vectail"), [*columns[:-1], np.zeros((2, 2), np.float32)])  # noqa: SLF001 (as others might)
    for _ in range(2):
        found = sink.find_blocks(ALL)
        assert (list(found.heads.ids), found.is_all) == ([good.id], True)
    assert said == ["Milvus collection 'vectail' has rows that are not blocks or cannot be read; they are left out"]
    sink.close()


@pytest.mark.parametrize(
    ("code", "reason", "expected"),
    [
        (8, "quota exceeded[reason=rate type: DMLUpsert]", SinkBusy),
        (1_100, "length of varchar field text exceeds max length, row number: 0: invalid parameter", SinkRejected),
    ],
)
def test_a_refused_write_is_tried_once_and_blamed_by_its_code(
    server: StubServer, remote: MilvusSink, code: int, reason: str, expected: type[Exception]
) -> None:
    server.refuse = (code, reason)
    with pytest.raises(expected):
        remote.write_blocks([ONE])
    assert server.inserts == 1
    server.refuse = None
    remote.write_blocks([ONE])


def test_a_refused_read_is_busy_and_quotes_little_of_a_filter(server: StubServer, remote: MilvusSink) -> None:
    remote.write_blocks([ONE])
    remote.templates.upsert([template("a")])
    services = tuple(f"secret {number} exceeds max length" for number in range(100))
    server.refuse = (1_100, f"cannot parse expression: {services}, error: too many: invalid parameter")
    for read in (
        lambda: remote.find_blocks(BlockFilter(services=services)),
        lambda: remote.read_columns([ONE.id], ["texts"]),
        lambda: remote.read_words([ONE.id]),
        lambda: nearest(remote, unit(1.0), 1),
    ):
        with pytest.raises(
            SinkBusy, match=r"failed with code 1100: cannot parse expression: .* error: too many: invalid parameter$"
        ) as refused:
            read()
        assert len(str(refused.value)) < 220


@pytest.mark.slow
def test_what_does_not_fit_in_one_answer_is_read_in_smaller_ones(server: StubServer, settings: MilvusSettings) -> None:
    server.version = "v2.6.11"
    sink = strong_sink(with_settings(settings, uri=server.uri, bm25="on"))
    sink.open()
    rows, text = 2 * TEXTS_AT_ONCE + 1, "word " + "x" * 1_000
    texts = [f"{number} {text}" for number in range(rows)]
    sink.templates.upsert([template(one) for one in texts])
    server.most_answer_bytes = TEXTS_AT_ONCE * (len(texts[-1]) + 200)
    assert set(sink.templates.texts([id_of(one) for one in texts]).values()) == set(texts)
    assert [one for _, one in sink.templates.all_above("", rows)] == sorted(texts, key=id_of)
    for limit in (3, rows):
        for hits in (sink.templates.matching("word", limit), nearest(sink, unit(1.0), limit)):
            assert len({hit.text for hit in hits} & set(texts)) == limit
    stored = many(300, texts=b"x" * 45_000)
    sink.write_blocks(stored)
    ids = [one.id for one in stored]
    server.most_answer_bytes = 2_000_000
    assert {one: len(columns.texts) for one, columns in sink.read_columns(ids, ["texts"]).items()} == dict.fromkeys(ids, 45_000)
    server.most_answer_bytes = 200
    with pytest.raises(SinkBusy, match="larger than max"):
        sink.read_columns(ids[:2], ["texts"])
    with pytest.raises(SinkBusy, match="larger than max"):
        sink.find_blocks(ALL)
    sink.close()


def test_an_answer_that_comes_too_late_is_busy_and_the_replay_changes_nothing(server: StubServer, remote: MilvusSink) -> None:
    client = remote._lent.check()  # noqa: SLF001
    server.answer.clear()
    client._write_timeout_s = SHORT_S  # noqa: SLF001 (no test should wait so long for an answer that does not come)
    with pytest.raises(SinkBusy, match="DEADLINE_EXCEEDED"):
        remote.write_blocks([ONE])
    server.answer.set()
    client._write_timeout_s = PATIENT_S  # noqa: SLF001
    remote.write_blocks([ONE], again=True)
    assert remote.counts().blocks == 1


def test_a_server_that_goes_away_is_busy(server: StubServer, remote: MilvusSink) -> None:
    server.close()
    with pytest.raises(SinkBusy):
        remote.write_blocks([ONE])
    with pytest.raises(SinkBusy):
        remote.templates.vectors([TemplateId("a")])


def test_a_failure_is_told_by_the_exception_and_not_by_pymilvus(
    server: StubServer, remote: MilvusSink, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    server.refuse = (8, "quota exceeded")
    with pytest.raises(SinkBusy):
        remote.write_blocks([ONE])
    with pytest.raises(SinkBusy):
        remote.counts()
    assert "quota" not in capfd.readouterr().err
    assert "quota" not in caplog.text


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
    sink.templates.upsert([template("a")])
    assert sink.counts().templates == 1
    sink.close()
