"""The oracle finds each fault: a correct index passes, and the same index with one fault does not."""

import re
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.faults.index import Index, Line
from tests.faults.oracle import judge
from tests.faults.records import BASE_MS, Sent, content, strange
from tests.faults.stored_lines import template_id
from tests.faults.topics import PARTITIONS, Letter
from tests.faults.truth import LEAST_COSINE, Truth, truth_of
from worker.embedding.model.prepared import PreparedModel

TOPIC, EPOCH = "logs", "0123abcd"
RECORDS = 60
ENDS = dict.fromkeys(range(PARTITIONS), RECORDS)
SENT = [Sent(n % PARTITIONS, n // PARTITIONS, BASE_MS + n, content(n), EPOCH) for n in range(RECORDS)]
LETTERS = [
    Letter(EPOCH, s.partition, s.offset, s.content.value, s.content.reason, is_cut=False) for s in SENT if s.content.fate == "dead_letter"
]


@pytest.fixture(scope="module")
def truth(model: PreparedModel) -> Truth:
    return truth_of(model)


@pytest.fixture(scope="module")
def right(truth: Truth) -> Index:
    """The index that a worker would have stored; long lines have two chunks."""
    lines: list[Line] = []
    texts: dict[str, str] = {}
    for sent in SENT:
        for entry in sent.content.entries:
            half = len(entry.text) // 2
            chunks = [entry.text[:half], entry.text[half:]] if len(entry.text) > 1_000 else [entry.text]
            for number, chunk in enumerate(chunks):
                masked = re.sub(r"\d+ ms\b|\d+", "", chunk)
                texts[template := template_id(masked)] = masked
                lines.append(
                    Line(
                        f"{TOPIC}@{EPOCH}/{sent.partition}/{sent.offset}/{entry.sub}/{number}",
                        template,
                        masked,
                        chunk,
                        *(sent.time_ms, entry.service, entry.level),
                        *(TOPIC, EPOCH),
                        *(sent.partition, sent.offset, entry.sub, number, len(chunks), 0, sent.time_ms),
                    )
                )
    vectors = truth.embed(list(texts.values()))
    return Index(lines, list(texts), texts, dict(zip(texts, vectors, strict=True)))


def _with(index: Index, place: int, **changes: object) -> Index:
    lines = list(index.lines)
    lines[place] = lines[place]._replace(**changes)  # type: ignore[arg-type]
    return index._replace(lines=lines)


def _moved(index: Index, place: int, **where: int) -> Index:
    """Return the index with one line moved to the id and columns of another record."""
    line = index.lines[place]._replace(**where)  # type: ignore[arg-type]
    return _with(index, place, **where, id=f"{TOPIC}@{EPOCH}/{line.partition}/{line.offset}/{line.sub}/{line.chunk}")


LIES: dict[str, Callable[[Index], Index]] = {
    "twice": lambda index: index._replace(lines=[*index.lines, index.lines[0]]),
    "a template twice": lambda index: index._replace(templates=[*index.templates, index.templates[0]]),
    "another text": lambda index: _with(index, 0, text="cache replayed order id=1 by holwi after 3905 ms"),
    "another time": lambda index: _with(index, 0, time=0),
    "another service": lambda index: _with(index, 3, service="nobody"),
    "another epoch": lambda index: _with(index, 0, epoch="99999999", id=index.lines[0].id.replace(EPOCH, "99999999")),
    "another Kafka time": lambda index: _with(index, 0, kafka_time=0),
    "an id of another place": lambda index: _with(index, 0, id=index.lines[1].id + "0"),
    "a line where a record was dropped": lambda index: _moved(index, 0, partition=7 % PARTITIONS, offset=7 // PARTITIONS),
    "a line where nothing was sent": lambda index: _moved(index, 0, offset=RECORDS),
    "a copy where nothing was sent": lambda index: index._replace(copies=(_moved(index, 0, offset=RECORDS).lines[0],)),
    "no template": lambda index: index._replace(templates=index.templates[1:]),
}
WRONG_VECTORS: dict[str, Callable[[Index], Index]] = {
    "another line's template": lambda index: _with(index, 0, template=index.lines[1].template),
    "a vector of another text": lambda index: _vector(index, index.vectors[index.templates[1]]),
    "a vector of another length": lambda index: _vector(index, index.vectors[index.templates[0]] * np.float32(1.01)),
    "a text under another's id": lambda index: index._replace(
        texts=index.texts | {index.templates[0]: index.texts[index.templates[0]] + "."}
    ),
}


def _vector(index: Index, vector: NDArray[np.float32]) -> Index:
    return index._replace(vectors=index.vectors | {index.templates[0]: vector})


def test_what_is_right_passes(right: Index, truth: Truth) -> None:
    verdict = judge(SENT, TOPIC, right, LETTERS)
    assert verdict.lost_below(ENDS) == []
    assert len(verdict.done) + len(verdict.dropped) == RECORDS
    truth.check(right)


@pytest.mark.parametrize("lie", LIES)
def test_a_wrong_line_is_found(right: Index, lie: str) -> None:
    with pytest.raises(AssertionError):
        judge(SENT, TOPIC, LIES[lie](right), LETTERS)


@pytest.mark.parametrize("lie", WRONG_VECTORS)
def test_a_wrong_vector_is_found(right: Index, truth: Truth, lie: str) -> None:
    wrong = WRONG_VECTORS[lie](right)
    assert judge(SENT, TOPIC, wrong, LETTERS).lost_below(ENDS) == []
    with pytest.raises(AssertionError):
        truth.check(wrong)


def test_the_model_of_these_tests_tells_any_two_templates_apart(truth: Truth) -> None:
    entries = [entry.text for number in range(600) for make in (content, strange) for entry in make(number).entries]
    vectors = truth.embed(sorted({re.sub(r"\d+ ms\b|\d+", "", text) for text in entries}))
    alike = vectors @ vectors.T
    np.fill_diagonal(alike, 0)
    assert len(vectors) > 1_000
    assert 1 - alike.max() > 10 * (1 - LEAST_COSINE)


def test_what_is_missing_is_lost_where_it_is_committed_and_only_there(right: Index) -> None:
    without = right._replace(lines=right.lines[1:])
    verdict = judge(SENT, TOPIC, without, LETTERS[1:])
    lost = [(0, 0), (LETTERS[0].partition, LETTERS[0].offset)]
    assert verdict.lost_below(ENDS) == sorted(lost)
    assert verdict.lost_below({0: 0, LETTERS[0].partition: LETTERS[0].offset}) == []
    assert (0, 1) in verdict.stored_above({0: 1})


def test_a_letter_of_what_could_be_stored_or_with_other_bytes_is_found(right: Index) -> None:
    row = next(sent for sent in SENT if sent.content.fate == "rows")
    wrong = Letter(EPOCH, row.partition, row.offset, row.content.value, "undecodable: not valid UTF-8", is_cut=False)
    for letter in (
        wrong,
        LETTERS[0]._replace(value=b"other"),
        LETTERS[0]._replace(reason="because"),
        LETTERS[0]._replace(epoch="99999999"),
    ):
        with pytest.raises((AssertionError, KeyError)):
            judge(SENT, TOPIC, right, [letter])


def test_lines_of_a_topic_that_is_gone_may_stay_and_count_for_nothing(right: Index) -> None:
    assert judge([], TOPIC, right, LETTERS, SENT).done == set()
    recreated = [sent._replace(epoch="99999999") for sent in SENT]
    assert len(judge(recreated, TOPIC, right, LETTERS, SENT).lost_below(ENDS)) > RECORDS // 2
