"""Pieces are stored outside of the stream: templates before lines, embedded where they are missing, blamed as the worker blames."""

from collections.abc import Sequence

import pytest

from sinks.row import LineRow, TemplateRow
from sinks.sink import SinkBusy
from tests.worker.audit.books import Books, pieces_of, record
from worker.audit.expected import ExpectedRow
from worker.audit.repair import RowRefused
from worker.embedding.guarded_engine import EngineFailed


def pieces(books: Books, *lines: str) -> list[ExpectedRow]:
    return pieces_of(books.maker.owed([record(offset, line) for offset, line in enumerate(lines)]))


def test_lines_and_the_templates_that_they_lack_are_stored(books: Books) -> None:
    wanted = pieces(books, "disk full after 1 s", "disk full after 2 s", "login failed")
    mended = books.mender.mend(wanted)
    assert (mended.lines, mended.templates, mended.refused) == (3, 2, [])
    assert sorted(books.sink.lines.values()) == sorted(piece.row for piece in wanted)
    for piece in wanted:
        stored = books.sink.templates[piece.row.template]
        assert stored.text == piece.masked
        assert stored.vector.tolist() == books.engine.embed([books.words.encode([piece.masked]).text(0)])[0].tolist()


def test_the_engine_is_not_loaded_for_templates_that_are_stored(books: Books) -> None:
    books.mender.mend(pieces(books, "disk full"))
    books.sink.lines.clear()
    assert books.loads == 1
    mended = books.mender.mend(pieces(books, "disk full", "disk full"))
    assert (mended.lines, mended.templates, books.loads) == (2, 0, 1)
    assert len(books.engine.calls) == 1


def test_templates_come_before_their_lines(books: Books) -> None:
    seen: list[type] = []

    def note(rows: Sequence[TemplateRow] | Sequence[LineRow]) -> None:
        seen.append(type(rows[0]))

    books.sink.on_upsert = note
    books.mender.mend(pieces(books, "disk full"))
    assert seen == [TemplateRow, LineRow]


def test_templates_alone_are_mended_without_lines(books: Books) -> None:
    mended = books.mender.mend_templates(pieces(books, "disk full", "login failed"))
    assert (mended.lines, mended.templates) == (0, 2)
    assert not books.sink.lines


def test_a_text_that_fails_alone_is_refused_and_the_others_are_stored(books: Books) -> None:
    books.engine.raises_on = {books.words.encode(["poison"]).text(0).tolist()[1]}
    wanted = pieces(books, "disk full", "poison", "login failed")
    mended = books.mender.mend(wanted)
    assert (mended.lines, mended.templates) == (2, 2)
    assert mended.refused == [RowRefused(wanted[1].row, "the engine fails on this text: asked to fail on this text")]
    assert {row.text for row in books.sink.lines.values()} == {"disk full", "login failed"}


def test_an_engine_that_is_broken_is_no_text_s_fault(books: Books) -> None:
    books.engine.wrong = True
    books.engine.vectors_missing = 1
    with pytest.raises(EngineFailed):
        books.mender.mend(pieces(books, "disk full"))
    assert not books.sink.lines


def test_a_line_that_the_sink_refuses_alone_is_told(books: Books) -> None:
    wanted = pieces(books, *(f"disk {n} full" for n in range(120)))
    books.sink.rejected_texts = {"disk 77 full"}
    mended = books.mender.mend(wanted)
    assert (mended.lines, len(books.sink.lines)) == (119, 119)
    assert [(one.row.offset, "told to reject" in one.reason) for one in mended.refused] == [(77, True)]


def test_a_template_that_the_sink_refuses_leaves_none_of_its_lines(books: Books) -> None:
    wanted = pieces(books, "took 1 ms", "took 2 ms", "disk full")
    books.sink.rejected_texts = {wanted[0].masked}
    mended = books.mender.mend(wanted)
    assert [one.row.offset for one in mended.refused] == [0, 1]
    assert [row.text for row in books.sink.lines.values()] == ["disk full"]


def test_more_texts_than_a_batch_holds_are_embedded_in_several(books: Books) -> None:
    words = ("disk", "login", "network", "memory", "battery", "printer", "camera", "window", "door", "table")
    wanted = pieces(books, *(f"{one} {other} {third} failed" for one in words for other in words for third in words))
    mended = books.mender.mend(wanted)
    assert mended.templates == 1000
    assert len(books.engine.calls) > 2
    assert max(sum(lengths) for lengths in books.engine.calls) <= books.engine.batch_tokens


def test_where_rows_go_by_themselves_a_template_is_written_again_with_its_lines(books: Books) -> None:
    books.mender.mend(pieces(books, "disk full"))
    books.sink.lifetime_s = 3600.0
    mended = books.mender.mend(pieces(books, "disk full", "login failed"))
    assert (mended.lines, mended.templates) == (2, 2)
    assert sum(map(len, books.engine.calls)) == 2, "each text was embedded once"


def test_a_busy_sink_is_waited_for(books: Books) -> None:
    books.sink.busy_calls = 3
    mended = books.mender.mend(pieces(books, "disk full"))
    assert mended.lines == 1
    assert len(books.pauses_s) == 3
    assert books.said == ["the sink does not answer (the fake sink is told to be busy); trying again"]


def test_patience_has_an_end(books: Books) -> None:
    books.sink.busy_calls = 1000
    with pytest.raises(SinkBusy):
        books.mender.mend(pieces(books, "disk full"))
    assert 10.0 <= sum(books.pauses_s) < 16.0
    books.sink.busy_calls = 0


def test_rows_that_are_stored_twice_are_stored_once_after_a_rewrite(books: Books) -> None:
    wanted = pieces(books, "disk full", "login failed")
    books.mender.mend(wanted)
    books.sink.doubles = {wanted[0].row.id: 2}
    books.mender.rewrite([piece.row for piece in wanted])
    stored = books.sink.lines_between("logs", 0, 0, 2)
    assert (stored.counted, sorted(stored.rows)) == (2, sorted(piece.row for piece in wanted))
