"""Templates by their words: what every sink with BM25 must answer, and how the others refuse."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from sinks.sink import Sink, SinkBusy, TemplateHit
from tests.contracts.sinks import EACH_SINK_WITH_WORDS, SINKS_WITH_WORDS
from tests.template_ids import id_of
from tests.world import template


@pytest.fixture(params=EACH_SINK_WITH_WORDS)
def wordy(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Sink]:
    with SINKS_WITH_WORDS[request.param](tmp_path, lambda: request.getfixturevalue("milvus")) as sink:
        sink.open()
        yield sink
        sink.close()


def found(hits: list[TemplateHit]) -> list[str]:
    assert all(hit.score > 0 for hit in hits)
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert all(hit.template == id_of(hit.text) for hit in hits)
    return [hit.text for hit in hits]


def test_a_template_is_found_by_a_word_that_it_holds(wordy: Sink) -> None:
    assert wordy.templates.capabilities.ranks_words
    assert wordy.templates.matching("anything", 5) == []
    wordy.templates.upsert([template(f"Receiving block word{number} src dest") for number in range(50)])
    assert found(wordy.templates.matching("word7", 5)) == ["Receiving block word7 src dest"]
    assert found(wordy.templates.matching("where did WORD7 go", 1)) == ["Receiving block word7 src dest"]
    assert wordy.templates.matching("nothing", 5) == []
    assert wordy.templates.matching("word7", 0) == []
    assert len(wordy.templates.matching("receiving", 20)) == 20


def test_more_and_rarer_words_in_common_come_first(wordy: Sink) -> None:
    texts = ["disk full on host a", "disk full on host b", "disk fine on host a", "network fine on host b", "nothing of it"]
    wordy.templates.upsert([template(text) for text in texts])
    assert found(wordy.templates.matching("disk full a", 2))[0] == texts[0]
    assert found(wordy.templates.matching("network", 5)) == [texts[3]]
    assert texts[4] not in found(wordy.templates.matching("disk full on host a", 5))


def test_templates_in_memory_in_segments_and_written_again_are_found_once(wordy: Sink) -> None:
    wordy.templates.upsert([template(f"disk d{number} failed") for number in range(1_200)])
    assert found(wordy.templates.matching("d7", 1)) == ["disk d7 failed"]  # writes out its memory first
    wordy.templates.upsert([template("disk d7 failed"), template("disk d5000 failed")])
    assert found(wordy.templates.matching("d7", 5)) == ["disk d7 failed"]
    assert found(wordy.templates.matching("d5000", 5)) == ["disk d5000 failed"]


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(max_size=60))
@example("")
@example("... !? \u00a0 \x00")
@example("\x00\x01\x1b[31m")
@example('" or 1 == 1 or text == "')
@example("\ud800 lone")
@example("x" * 4_096)
@example("\U0010ffff" * 4_096)
@example("a " * 2_048)
def test_any_text_may_be_asked_for(wordy: Sink, text: str) -> None:
    wordy.templates.upsert([template("disk full"), template("")])
    assert found(wordy.templates.matching(text, 5)) in ([], ["disk full"])


def test_a_text_without_a_word_finds_nothing(wordy: Sink) -> None:
    wordy.templates.upsert([template("..."), template("")])
    for text in ("", " ", "...", "-- !"):
        assert wordy.templates.matching(text, 5) == []


def test_a_closed_sink_finds_nothing(wordy: Sink) -> None:
    wordy.close()
    with pytest.raises(SinkBusy):
        wordy.templates.matching("disk", 5)


def test_a_sink_without_bm25_refuses(sink: Sink) -> None:
    assert not sink.templates.capabilities.ranks_words
    with pytest.raises(ValueError, match=r"(?i)bm25"):
        sink.templates.matching("disk", 5)
