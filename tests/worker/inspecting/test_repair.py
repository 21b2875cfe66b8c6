"""Lines are stored outside the stream: templates before lines, embedded if missing, with faults assigned as the worker does."""

import pytest

from consumers.rejection import Rejection
from sinks.line import Line
from tests.worker.inspecting.audited_index import AuditedIndex, lines_of, record
from worker.embedding.guarded_engine import EngineFailed
from worker.inspecting.repair import RejectedLine, Repaired


def lines(audited: AuditedIndex, *texts: str) -> list[Line]:
    return lines_of(audited.expected_lines.compute_expected([record(offset, text) for offset, text in enumerate(texts)]))


def repair(audited: AuditedIndex, *wanted: Line) -> Repaired:
    return audited.repairer.repair_lines(wanted, audited.origin())


def test_lines_and_the_templates_that_they_lack_are_stored(audited: AuditedIndex) -> None:
    wanted = lines(audited, "disk full after 1 s", "disk full after 2 s", "login failed")
    repaired = repair(audited, *wanted)
    assert (repaired.lines, repaired.templates, repaired.rejected) == (3, 2, [])
    assert audited.lines() == wanted
    for line in wanted:
        stored = audited.sink.templates[line.template]
        assert stored.text == line.template_text
        assert stored.vector.tolist() == audited.engine.embed([audited.words.encode([line.template_text]).text(0)])[0].tolist()


def test_a_template_is_embedded_with_the_prefix_of_the_model(audited: AuditedIndex) -> None:
    audited.document_prefix = "passage: "
    (wanted,) = lines(audited, "disk full")
    repair(audited, wanted)
    (expected,) = audited.engine.embed([audited.words.encode(["passage: disk full"]).text(0)])
    assert audited.sink.templates[wanted.template].vector.tolist() == expected.tolist()


def test_the_engine_is_not_loaded_for_templates_that_are_stored(audited: AuditedIndex) -> None:
    repair(audited, *lines(audited, "disk full"))
    audited.sink.blocks.clear()
    assert audited.loads == 1
    repaired = repair(audited, *lines(audited, "disk full", "disk full"))
    assert (repaired.lines, repaired.templates, audited.loads) == (2, 0, 1)
    assert len(audited.engine.calls) == 1


def test_a_text_that_fails_alone_is_refused_and_the_others_are_stored(audited: AuditedIndex) -> None:
    audited.engine.raises_on = {audited.words.encode(["poison"]).text(0).tolist()[1]}
    wanted = lines(audited, "disk full", "poison", "login failed")
    repaired = repair(audited, *wanted)
    assert (repaired.lines, repaired.templates) == (2, 2)
    assert repaired.rejected == [
        RejectedLine(wanted[1], Rejection("embed", "rejected", "the engine fails on this text: asked to fail on this text"))
    ]
    assert [line.text for line in audited.lines()] == ["disk full", "login failed"]


def test_an_engine_that_is_broken_is_no_text_s_fault(audited: AuditedIndex) -> None:
    audited.engine.wrong = True
    audited.engine.vectors_missing = 1
    with pytest.raises(EngineFailed):
        repair(audited, *lines(audited, "disk full"))
    assert not audited.sink.blocks


def test_a_template_that_the_sink_refuses_leaves_none_of_its_lines(audited: AuditedIndex) -> None:
    wanted = lines(audited, "took 1 ms", "took 2 ms", "disk full")
    audited.sink.rejected_texts = {wanted[0].template_text}
    repaired = repair(audited, *wanted)
    assert [one.line.offset for one in repaired.rejected] == [0, 1]
    assert [line.text for line in audited.lines()] == ["disk full"]


def test_more_texts_than_a_batch_holds_are_embedded_in_several(audited: AuditedIndex) -> None:
    words = ("disk", "login", "network", "memory", "battery", "printer", "camera", "window", "door", "table")
    wanted = lines(audited, *(f"{one} before {other} after {third} failed" for one in words for other in words for third in words))
    repaired = repair(audited, *wanted)
    assert repaired.templates == 1000
    assert len(audited.engine.calls) > 2
    assert max(sum(lengths) for lengths in audited.engine.calls) <= audited.engine.batch_tokens


def test_where_lines_go_by_themselves_a_template_is_written_again_with_its_lines(audited: AuditedIndex) -> None:
    repair(audited, *lines(audited, "disk full"))
    audited.sink.lifetime_s = 3600.0
    repaired = repair(audited, *lines(audited, "disk full", "login failed"))
    assert (repaired.lines, repaired.templates) == (2, 2)
    assert sum(map(len, audited.engine.calls)) == 2, "each text was embedded once"
