"""Templates by their words: on a sink that ranks them itself and on one that does not, as templates come and go."""

import pytest

from tests.fakes.sink import FakeSink
from tests.world import open_sink, template
from worker.querying.query_words import words_of
from worker.querying.template_index import TemplateIndex, TemplatesFound

TEXTS = ("disk full", "disk full on node disk", "disk failed", "network down", "user <user> failed on node-17")


def in_time() -> bool:
    return False


def matching(index: TemplateIndex, text: str, limit: int = 10) -> TemplatesFound:
    return index.matching(words_of(text), limit, in_time)


def texts(found: TemplatesFound) -> list[str]:
    return [hit.text for hit in found.hits]


def holding(index: TemplateIndex, identifier: str) -> list[str]:
    return texts(index.holding(words_of(identifier).identifiers[0], in_time))


class Clock:
    """A clock that a test moves, and every read of templates too.

    Thread: the test's.
    """

    def __init__(self, sink: FakeSink, read_s: float = 0.0) -> None:
        self.now_s = 0.0
        self._sink = sink
        self._read_s = read_s

    def __call__(self) -> float:
        return self.now_s + self._read_s * self._sink.calls.count("templates.all_above")


def index_of(*stored: str, read_s: float = 0.0) -> tuple[FakeSink, TemplateIndex, Clock]:
    sink = open_sink(template(text) for text in stored)
    clock = Clock(sink, read_s)
    return sink, TemplateIndex(lambda: sink.templates, clock), clock


@pytest.mark.parametrize("text", ["disk", "full disk", "failed node", "NETWORK", "disk full on node", "nothing", "user"])
def test_templates_are_ranked_here_as_a_sink_ranks_them(text: str) -> None:
    _, ours, _ = index_of(*TEXTS)
    sink = open_sink((template(one) for one in TEXTS), ranks_words=True)
    theirs = TemplateIndex(lambda: sink.templates, lambda: 0.0)
    assert texts(matching(ours, text)) == texts(matching(theirs, text))
    assert matching(ours, text).complete
    scores = [hit.score for hit in matching(ours, text).hits]
    assert scores == pytest.approx([hit.score for hit in matching(theirs, text).hits])


def test_more_than_the_limit_is_said() -> None:
    _, index, _ = index_of(*TEXTS)
    cut = matching(index, "disk", 2)
    assert (len(cut.hits), cut.complete) == (2, False)


def test_a_text_of_nothing_but_grammar_asks_for_nothing() -> None:
    sink, index, _ = index_of(*TEXTS)
    sink.calls.clear()
    assert matching(index, "who is it?") == ([], True)
    assert sink.calls == []


@pytest.mark.parametrize("ranks_words", [True, False])
def test_templates_that_hold_an_identifier_whole_are_found(*, ranks_words: bool) -> None:
    stored = ("login of 10.0.0.1 failed", "login of 10.0.0.12 failed", "0 0 1 10", "done")
    sink = open_sink((template(text) for text in stored), ranks_words=ranks_words)
    index = TemplateIndex(lambda: sink.templates, lambda: 0.0)
    assert holding(index, "10.0.0.1") == ["login of 10.0.0.1 failed"]
    assert holding(index, "10.0.0.9") == []


def test_templates_are_read_once_and_again_when_there_are_more() -> None:
    sink, index, _ = index_of("disk full")
    for _ in range(3):
        assert texts(matching(index, "disk")) == ["disk full"]
    assert sink.calls.count("templates.all_above") == 1
    sink.templates.upsert([template("disk failed")])
    assert set(texts(matching(index, "disk"))) == {"disk full", "disk failed"}
    assert texts(matching(index, "failed")) == ["disk failed"]
    assert sink.calls.count("templates.all_above") == 2


def test_reading_takes_a_small_share_of_the_time() -> None:
    sink, index, clock = index_of("disk full", read_s=1.0)
    matching(index, "disk")
    sink.templates.upsert([template("disk failed")])
    for now_s, found in ((10.0, 1), (19.0, 1), (21.0, 2)):
        clock.now_s = now_s
        assert len(matching(index, "disk").hits) == found


def test_after_a_while_they_are_read_again_whatever_their_number() -> None:
    sink, index, clock = index_of("disk full")
    matching(index, "disk")
    sink.templates.clear()
    sink.templates.upsert([template("disk failed")])
    assert texts(matching(index, "disk")) == ["disk full"]
    clock.now_s = 301.0
    assert set(texts(matching(index, "disk"))) == {"disk full", "disk failed"}


def test_one_that_was_counted_and_not_yet_seen_is_looked_for_again() -> None:
    sink, index, _ = index_of("disk full")
    late = template("disk failed")
    whole = sink.templates.all_above
    sink.templates.upsert([late])
    unseen = lambda last, limit: [one for one in whole(last, limit) if one[0] != late.template]  # noqa: E731
    sink.templates.all_above = unseen  # type: ignore[method-assign]
    assert texts(matching(index, "disk")) == ["disk full"]
    sink.templates.all_above = whole  # type: ignore[method-assign]
    assert set(texts(matching(index, "disk"))) == {"disk full", "disk failed"}


def test_many_templates_are_read_page_by_page_up_to_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("worker.querying.template_index._PAGE", 10)
    stored = [f"disk {'a' * n}" for n in range(1, 36)]
    _, index, _ = index_of(*stored)
    assert (len(matching(index, "disk", 100).hits), matching(index, "disk", 100).complete) == (35, True)
    sink = open_sink(template(text) for text in stored)
    bounded = TemplateIndex(lambda: sink.templates, lambda: 0.0, most=20)
    cut = matching(bounded, "disk", 100)
    assert (len(cut.hits), cut.complete) == (20, False)
    assert matching(bounded, "disk", 100) == cut


def test_reading_that_is_cut_short_goes_on_where_it_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("worker.querying.template_index._PAGE", 10)
    sink, index, _ = index_of(*(f"disk {'a' * n}" for n in range(1, 36)))
    sizes = []
    for _ in range(5):
        found = index.matching(words_of("disk"), 100, lambda: True)
        sizes.append((len(found.hits), found.complete))
    assert sizes == [(10, False), (20, False), (30, False), (35, True), (35, True)]
    assert sink.calls.count("templates.all_above") == 4


def test_removed_templates_go_once_they_are_many() -> None:
    gone = [template(f"disk {'a' * (n % 50 + 1)}{'b' * (n // 50)}") for n in range(10_050)]
    sink, index, _ = index_of()
    sink.templates.update({row.template: row for row in gone})
    assert len(matching(index, "disk", 20_000).hits) == len(gone)
    sink.templates.clear()
    sink.templates.upsert([template("disk full")])
    assert texts(matching(index, "disk", 20_000)) == ["disk full"]
