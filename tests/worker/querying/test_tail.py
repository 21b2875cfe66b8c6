"""Tails: new lines of the index, each once, whoever wrote them and whatever time they have."""

import json
from typing import Any

import pytest

from sinks.line import Line
from sinks.lines import cut_of
from sinks.reading.fresh import MOST_TEXTS
from sinks.reading.reader import BlockReader
from tests.world import block, line, open_sink, run, template, unit
from worker.querying.answer_documents import MOST_REPLY_BYTES, json_bytes
from worker.querying.forms import parse_query
from worker.querying.query_words import words_of
from worker.querying.ranking import Index
from worker.querying.search import PreparedQuery
from worker.querying.tail import Tail
from worker.querying.template_index import TemplateIndex


class World:
    """One index, one worker that answers, and what one reader was told last."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.sink = open_sink()
        self.numbers: dict[tuple[str, int], int] = {}
        self.cursor: str | None = None
        self.tail = self.worker()

    def worker(self) -> Tail:
        clock = lambda: self.now_s  # noqa: E731
        return Tail(Index(self.sink, BlockReader(self.sink, clock=clock), TemplateIndex(lambda: self.sink.templates, clock)), clock)

    def write(self, *lines: Line, number: int | None = None, writer: int = 1) -> None:
        partition = lines[0].partition
        at = self.numbers.get((run(writer), partition), 0) if number is None else number
        self.numbers[run(writer), partition] = at + 1
        self.sink.write_blocks([block(lines, run(writer), at)])

    def ask(self, *, again: bool = True, **request: Any) -> Any:  # noqa: ANN401
        self.now_s += 1.0
        after = {"after": self.cursor} if again and self.cursor else {}
        query = parse_query(json.dumps({"as": "tail", **after, **request}).encode())
        is_words = query.text is None or words_of(query.text).is_exact or query.mode == "words"
        answer = self.tail.new_lines(PreparedQuery(query, None if is_words else unit(1.0)), lambda: False)
        assert len(json_bytes(answer)) < MOST_REPLY_BYTES
        self.cursor = answer["cursor"]
        return answer

    def texts(self, **request: Any) -> list[str]:  # noqa: ANN401
        answer = self.ask(**request)
        assert (answer["dropped"], answer["complete"]) == (0, True)
        return [one["text"] for one in answer["lines"]]


@pytest.fixture
def world() -> World:
    return World()


def test_it_begins_with_the_newest_lines_and_goes_on_with_what_is_new(world: World) -> None:
    world.write(*[line(n) for n in range(40)])
    assert world.texts() == [f"line {n}" for n in range(20, 40)]
    assert world.texts() == []
    world.write(line(40), line(41))
    world.write(line(7, partition=3))
    assert world.texts() == ["line 7", "line 40", "line 41"]
    assert world.texts() == []
    assert world.texts(again=False, k=1) == ["line 41"]


def test_a_line_that_was_sampled_and_has_no_text_is_there_from_the_first_answer_on(world: World) -> None:
    world.write(line(1), line(2, text=None), line(3))
    assert world.texts() == ["line 1", None, "line 3"]
    world.write(line(4, text=None))
    assert world.texts() == [None]


def test_lines_of_last_year_are_new_when_they_come(world: World) -> None:
    world.write(line(1, time=1_700_000_000_000))
    world.ask()
    world.write(line(2, time=1_600_000_000_000))
    assert world.texts() == ["line 2"]


def test_of_too_many_lines_errors_are_left_out_last_and_the_others_evenly_and_counted_by_level(world: World) -> None:
    world.ask()
    levels = {10: "ERROR", 20: "FATAL", 30: "WARN", 31: "WARN", 40: "DEBUG"}
    world.write(*[line(n, kafka_time=n, level=levels.get(n, "INFO")) for n in range(50)])
    world.write(*[line(n, partition=1, kafka_time=n) for n in range(30)])
    answer = world.ask(k=9)
    others = sorted(
        (n, partition) for partition, size in ((0, 50), (1, 30)) for n in range(size) if partition or levels.get(n, "DEBUG") == "DEBUG"
    )
    every_15th = {others[at] for at in (15, 30, 45, 60, 75)}
    assert [(one["offset"], one["partition"]) for one in answer["lines"]] == sorted(every_15th | {(n, 0) for n in (10, 20, 30, 31)})
    assert (answer["dropped"], answer["dropped_by_level"]) == (71, {"DEBUG": 1, "INFO": 70})
    world.write(*[line(50 + n, kafka_time=50 + n, level="ERROR" if n % 2 else "WARN") for n in range(8)])
    answer = world.ask(k=2)
    assert [one["offset"] for one in answer["lines"]] == [53, 57]
    assert answer["dropped_by_level"] == {"ERROR": 2, "WARN": 4}
    world.write(*[line(100 + n, text="\x01" * 39_000 + f" {n}") for n in range(4)])
    answer = world.ask()
    assert 0 < len(answer["lines"]) == 4 - answer["dropped"]
    assert answer["lines"][-1]["offset"] == 103


def test_of_very_many_blocks_only_the_newest_that_have_the_most_severe_lines_are_read(world: World) -> None:
    world.ask()
    with_errors = [n for n in range(3 * MOST_TEXTS) if n % 2 == 0]
    for n in range(3 * MOST_TEXTS):
        world.write(*[line(2 * n + at, kafka_time=2 * n + at, level="ERROR" if at and n in with_errors else "INFO") for at in (0, 1)])
    answer = world.ask()
    assert [one["offset"] for one in answer["lines"]] == [2 * n + at for n in with_errors[-MOST_TEXTS:] for at in (0, 1)]
    left_out = {"ERROR": len(with_errors) - MOST_TEXTS, "INFO": 2 * 3 * MOST_TEXTS - len(with_errors) - MOST_TEXTS}
    assert answer["dropped_by_level"] == left_out
    assert answer["dropped"] == sum(left_out.values())


def test_filters_words_and_meaning_say_which_lines_are_followed(world: World) -> None:
    world.sink.templates.upsert([template("disk full", unit(1.0))])
    for n in range(100):
        world.sink.templates.upsert([template(f"other {n}", unit(0.0, 1.0, n))])
    follow: dict[str, dict[str, Any]] = {
        "filters": {"filters": {"service": ["web"]}},
        "words": {"text": "Disk FULL", "mode": "words"},
        "identifier": {"text": "req-100200"},
        "meaning": {"text": "no space left", "mode": "dense"},
    }
    cursors = {name: world.ask(again=False, **request)["cursor"] for name, request in follow.items()}
    world.write(
        line(1, text="x", service="web", template_text="other 99"),
        line(2, text="full is the disk", template_text="other 99"),
        line(3, text="diskfull", template_text="other 99"),
        line(4, text="request req-100200", template_text="other 99"),
        line(5, text="ENOSPC", template_text="disk full"),
    )
    found = {}
    for name, request in follow.items():
        world.cursor = cursors[name]
        found[name] = [one["offset"] for one in world.ask(**request)["lines"]]
    assert found == {"filters": [1], "words": [2], "identifier": [4], "meaning": [5]}


def test_a_line_that_another_run_stored_before_is_not_new(world: World) -> None:
    world.write(line(1), line(2))
    world.ask()
    world.write(line(3))
    assert world.texts() == ["line 3"]
    world.write(line(2), line(3), line(4), writer=2)
    assert world.texts() == ["line 4"]


def test_a_cursor_of_another_worker_begins_again_and_says_that_lines_may_be_missing(world: World) -> None:
    world.write(line(1))
    world.ask()
    world.write(line(2))
    world.tail = world.worker()
    answer = world.ask()
    assert [one["text"] for one in answer["lines"]] == ["line 1", "line 2"]
    assert not answer["complete"]
    world.write(line(3))
    assert world.texts() == ["line 3"]


def test_a_look_asks_for_ids_only_and_serves_all_readers(world: World) -> None:
    world.write(*[line(n) for n in range(5)])
    world.ask()
    world.sink.calls.clear()
    for _ in range(3):
        world.now_s -= 1.0  # at the same moment
        assert world.texts() == []
    world.now_s += 1.0
    assert world.texts(text="disk full") == []
    assert world.sink.calls == ["unseen_blocks"]


def test_a_long_line_is_shown_whole(world: World) -> None:
    world.ask()
    parts = ["one ", "two"]
    world.write(*[line(1, chunk=at, chunks=2, text=text, cut=cut_of(parts)) for at, text in enumerate(parts)])
    assert world.texts() == ["one two"]
