"""Stored vectors that are not the model's are found, told and written again; the others are not touched."""

from collections.abc import Collection

import numpy as np
import pytest
from numpy.typing import NDArray

from sinks.row import TemplateId, TemplateRow, Vector
from tests.template_ids import id_of
from tests.worker.inspecting.audited_index import AuditedIndex
from worker.embedding.guarded_engine import EngineFailed
from worker.inspecting.vector_audit import VectorReport

TEXTS = ("disk full", "login failed", "printer on fire")
_WORDS = ("disk", "login", "network", "memory", "battery", "printer", "camera", "window")
MANY = [f"{one} before {other} after {third} failed" for one in _WORDS for other in _WORDS for third in _WORDS]


@pytest.fixture
def stored(audited: AuditedIndex) -> AuditedIndex:
    audited.index_records(*TEXTS)
    return audited


def compare(audited: AuditedIndex, number: int = 200, *, repair: bool = False) -> VectorReport:
    with audited.vector_auditor() as auditor:
        return auditor.compare_sample(number, repair=repair)


def forge(audited: AuditedIndex, text: str, vector: NDArray[np.float32]) -> NDArray[np.float32]:
    """Store another vector; returns the one that was there."""
    row = audited.sink.templates[id_of(text)]
    audited.sink.templates[row.template] = row._replace(vector=vector)
    return row.vector


def axis(number: int) -> NDArray[np.float32]:
    vector = np.zeros(384, np.float32)
    vector[number] = 1.0
    return vector


def turned(vector: NDArray[np.float32], cosine: float) -> NDArray[np.float32]:
    """Return a vector of length 1 that has this cosine with another one."""
    beside = axis(0) - vector[0] * vector
    beside /= np.linalg.norm(beside)
    return np.asarray(cosine * vector + np.sqrt(1 - cosine**2) * beside, np.float32)


def test_a_repair_writes_the_model_s_vector_and_nothing_else(stored: AuditedIndex) -> None:
    right = forge(stored, "login failed", axis(7))
    written: list[str] = []
    stored.sink.on_write = lambda rows: written.extend(row.text for row in rows if isinstance(row, TemplateRow))
    report = compare(stored, repair=True)
    assert ([one.repaired for one in report.wrong], report.left) == ([True], 0)
    assert written == ["login failed"]
    assert stored.sink.templates[id_of("login failed")].vector.tolist() == right.tolist()
    assert compare(stored)._replace(worst_cosine=None) == VectorReport(3, [])


@pytest.mark.parametrize(("cosine", "wrong"), [(0.991, 0), (0.989, 1), (-1.0, 1)])
def test_the_bound_is_a_cosine(stored: AuditedIndex, cosine: float, wrong: int) -> None:
    vector = stored.sink.templates[id_of("disk full")].vector
    forge(stored, "disk full", turned(vector, cosine))
    assert len(compare(stored).wrong) == wrong


def test_a_vector_of_zeros_or_of_another_length_is_judged_by_its_direction(stored: AuditedIndex) -> None:
    forge(stored, "disk full", np.zeros(384, np.float32))
    forge(stored, "login failed", stored.sink.templates[id_of("login failed")].vector * np.float32(0.5))
    (wrong,) = compare(stored).wrong
    assert (wrong.text, wrong.cosine) == ("disk full", 0.0)


def test_a_vector_that_cannot_be_read_is_wrong_and_one_whose_template_is_gone_is_not(
    stored: AuditedIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = stored.sink.templates.vectors
    gone = id_of("printer on fire")

    def unreadable(templates: Collection[TemplateId]) -> dict[TemplateId, Vector]:
        stored.sink.templates.pop(gone, None)
        return {one: vector for one, vector in usual(templates).items() if one != id_of("disk full")}

    monkeypatch.setattr(stored.sink.templates, "vectors", unreadable)
    report = compare(stored, repair=True)
    assert (report.templates, report.worst_cosine) == (2, 0.0)
    assert [(one.text, one.cosine, one.repaired) for one in report.wrong] == [("disk full", None, True)]
    assert gone not in stored.sink.templates, "what has expired is not written again"


def test_a_text_that_the_model_has_no_vector_for_cannot_be_repaired(stored: AuditedIndex) -> None:
    stored.engine.raises_on = {stored.words.encode(["login failed"]).text(0).tolist()[1]}
    report = compare(stored, repair=True)
    assert [(one.text, one.cosine, one.repaired) for one in report.wrong] == [("login failed", None, False)]
    assert report.left == 1


def test_a_broken_engine_accuses_no_vector(stored: AuditedIndex) -> None:
    with stored.vector_auditor() as auditor:
        stored.engine.wrong = True
        stored.engine.vectors_missing = 1
        with pytest.raises(EngineFailed):
            auditor.compare_sample(10, repair=True)
    assert stored.sink.calls.count("templates.upsert") == 1


@pytest.mark.parametrize("shift", [0, 1 << 123])
def test_a_sample_is_spread_over_all_ids_and_is_no_larger_than_asked(
    audited: AuditedIndex, monkeypatch: pytest.MonkeyPatch, shift: int
) -> None:
    audited.index_records(*MANY)
    asked: list[str] = []
    usual = audited.sink.templates.vectors

    def noted(templates: Collection[TemplateId]) -> dict[TemplateId, Vector]:
        asked.extend(templates)
        return usual(templates)

    monkeypatch.setattr(audited.sink.templates, "vectors", noted)
    with audited.vector_auditor(lambda _bits: shift) as auditor:
        report = auditor.compare_sample(100)
    assert report.templates == len(asked)
    assert 90 <= report.templates <= 100
    assert {one[0] for one in asked} == set("0123456789abcdef")
    assert (min(asked) == min(audited.sink.templates)) is (shift == 0), "it begins elsewhere"
