"""What every sink must do with templates, run on the fake, on a local Milvus folder and on a real server."""

import numpy as np
import pytest
from numpy.typing import NDArray

from sinks.row import TEMPLATE_TEXT_BYTES, TemplateId
from sinks.sink import BlockFilter, Sink, SinkBusy, SinkCounts, SinkRejected
from tests.template_ids import id_of
from tests.world import DIM, TEMPLATE, block, line, nearest, template, unit

ODD_TEXTS = {
    "nul": "before\x00after",
    "controls": "\x01\x1b[31m\x7f\r\n\t",
    "quotes": """ "double" 'single' \\back\\\\slash """,
    "astral": "\U0001f701 \U0001d518\U0001d52b \U0010ffff",
    "combining": "e\u0301 \u200d\u202e\ufeff",
    "empty": "",
    "spaces": "  \u00a0 ",
    "longest_ascii": "x" * TEMPLATE_TEXT_BYTES,
    "longest_utf8": "é" * (TEMPLATE_TEXT_BYTES // 2) + "x",
}


def test_a_new_sink_is_empty(sink: Sink) -> None:
    assert sink.counts() == SinkCounts(blocks=0, templates=0)
    assert nearest(sink, unit(1.0), 5) == []
    assert sink.templates.vectors([TEMPLATE]) == {}
    assert sink.templates.texts([TEMPLATE]) == {}
    assert sink.templates.stored([TEMPLATE]) == set()
    assert sink.templates.all_above("", 5) == []
    assert sink.retention_s is None


def test_stored_templates_are_counted_and_come_back_as_they_were(sink: Sink) -> None:
    sink.templates.upsert([template("a", unit(1.0)), template("b", unit(0.0, 1.0))])
    assert sink.counts() == SinkCounts(blocks=0, templates=2)
    ids = [id_of(text) for text in ("a", "b", "c")]
    assert sink.templates.texts(ids) == {ids[0]: "a", ids[1]: "b"}
    assert sink.templates.stored(ids) == {*ids[:2]}
    vectors = sink.templates.vectors(ids)
    assert np.array_equal(vectors[ids[1]], unit(0.0, 1.0))


def test_the_same_template_again_changes_nothing_and_the_last_wins(sink: Sink) -> None:
    for vectors in ([unit(1.0)], [unit(0.0, 0.0, 1.0), unit(0.0, 1.0)]):
        sink.templates.upsert([template("a", vector) for vector in vectors])
    assert sink.counts() == SinkCounts(blocks=0, templates=1)
    assert np.array_equal(sink.templates.vectors([id_of("a")])[id_of("a")], unit(0.0, 1.0))


def test_storing_nothing_is_no_error(sink: Sink) -> None:
    sink.templates.upsert([])
    sink.write_blocks([])
    sink.delete_blocks([])
    assert sink.counts() == SinkCounts(blocks=0, templates=0)


@pytest.mark.parametrize("text", ODD_TEXTS.values(), ids=ODD_TEXTS)
def test_odd_texts_come_back_exactly(sink: Sink, text: str) -> None:
    sink.templates.upsert([template(text)])
    assert [hit.text for hit in nearest(sink, unit(1.0), 1)] == [text]
    assert sink.templates.all_above("", 2) == [(id_of(text), text)]
    assert sink.templates.texts([id_of(text)]) == {id_of(text): text}


def test_a_template_that_no_column_takes_is_rejected_and_its_call_stores_nothing(sink: Sink) -> None:
    for text in ("x" * (TEMPLATE_TEXT_BYTES + 1), "é" * (TEMPLATE_TEXT_BYTES // 2 + 1), "\ud800"):
        with pytest.raises(SinkRejected):
            sink.templates.upsert([template("a"), template(text)])
    assert sink.counts() == SinkCounts(blocks=0, templates=0)


@pytest.mark.parametrize("vector", [np.ones(DIM + 1), np.full(DIM, np.nan), np.full(DIM, np.inf)])
def test_a_vector_of_another_dimension_or_not_finite_is_our_fault(sink: Sink, vector: NDArray[np.float64]) -> None:
    with pytest.raises(ValueError, match=r"vector"):
        sink.templates.upsert([template("a"), template("b", vector.astype(np.float32))])
    with pytest.raises(ValueError, match=r"vector"):
        nearest(sink, vector.astype(np.float32), 1)
    assert sink.counts() == SinkCounts(blocks=0, templates=0)


def test_of_many_templates_those_that_are_stored_come_and_all_of_them_in_pages(sink: Sink) -> None:
    rows = {row.template: row for row in (template(f"text {number}", unit(1.0, number)) for number in range(2_500))}
    stored = {one: row for number, (one, row) in enumerate(rows.items()) if number % 2}
    sink.templates.upsert(list(stored.values()))
    assert sink.counts().templates == 1_250  # after a Strong read a Bounded one misses nothing
    vectors = sink.templates.vectors(rows)
    assert vectors.keys() == stored.keys()
    assert all(vector.dtype == np.float32 and np.array_equal(vector, stored[one].vector) for one, vector in vectors.items())
    assert sink.templates.texts(rows) == {one: row.text for one, row in stored.items()}
    assert sink.templates.stored(rows) == stored.keys()
    pages = [sink.templates.all_above("", 500)]
    while pages[-1]:
        pages.append(sink.templates.all_above(pages[-1][-1][0], 500))
    assert [len(page) for page in pages] == [500, 500, 250, 0]
    assert [one for page in pages for one in page] == [(one, stored[one].text) for one in sorted(stored)]
    assert sink.templates.vectors([]) == {}
    assert sink.templates.texts([TemplateId("\ud800")]) == {}


def test_nearest_templates_come_by_cosine_nearest_first(sink: Sink) -> None:
    sink.templates.upsert([template("far", unit(0.0, 1.0)), template("near", unit(1.0, 0.1)), template("against", unit(-1.0))])
    hits = nearest(sink, unit(1.0), 3)
    assert [(hit.template, hit.text) for hit in hits] == [(id_of(text), text) for text in ("near", "far", "against")]
    assert [hit.score for hit in hits] == pytest.approx([float(unit(1.0, 0.1)[0]), 0.0, -1.0], abs=1e-5)
    assert [hit.text for hit in nearest(sink, unit(1.0), 1)] == ["near"]
    assert nearest(sink, unit(1.0), 0) == []
    both = sink.templates.nearest(np.stack([unit(1.0), unit(0.0, 1.0)]), 1)
    assert [[hit.text for hit in hits] for hits in both] == [["near"], ["far"]]


def test_a_closed_sink_is_busy(closed_sink: Sink) -> None:
    stored = block([line(1)])
    for _ in range(2):
        for call in (
            lambda: closed_sink.write_blocks([stored]),
            lambda: closed_sink.delete_blocks([stored.id]),
            lambda: closed_sink.find_blocks(BlockFilter()),
            lambda: closed_sink.read_columns([stored.id], ["texts"]),
            lambda: closed_sink.templates.upsert([template("a")]),
            lambda: nearest(closed_sink, unit(1.0), 1),
            closed_sink.counts,
        ):
            with pytest.raises(SinkBusy):
                call()
        closed_sink.open()
        closed_sink.close()
        closed_sink.close()
