"""What is remembered as the newest line of a template is the newest, whatever was written while it was read."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from sinks.milvus.known import MOST_TEMPLATES, NewestKnown, Reading
from sinks.milvus.searching import passes, place_of
from sinks.milvus.sink import MilvusSettings, MilvusSink
from sinks.row import LineRow
from sinks.sink import LineFilter
from tests.sinks.rows import SPACE, line, newest, offsets
from tests.sinks.stub_server import StubServer

ALL = LineFilter()


def remembering(*lines: LineRow) -> NewestKnown:
    known = NewestKnown(lasts_s=1.0)
    with known.reading([one.template for one in lines], 0.0) as reading:
        known.remember(reading, {one.template: one for one in lines})
    return known


def test_what_was_read_is_remembered_for_its_time() -> None:
    known = remembering(line(1, template="a"))
    assert known.answer(["a", "b"], ALL, 1.0) == ({"a": line(1, template="a")}, ["b"])
    assert known.answer(["a", "b"], ALL, 1.001) == ({}, ["a", "b"])


def test_a_line_that_a_filter_stops_is_read_for_unless_all_are_too_old() -> None:
    known = remembering(line(5, template="a", level="WARN"))
    assert known.answer(["a"], LineFilter(levels=("WARN",), until_ms=5_001), 0.0) == ({"a": line(5, template="a", level="WARN")}, [])
    assert known.answer(["a"], LineFilter(levels=("INFO",)), 0.0) == ({}, ["a"])
    assert known.answer(["a"], LineFilter(until_ms=5_000), 0.0) == ({}, ["a"])
    assert known.answer(["a"], LineFilter(since_ms=5_001), 0.0) == ({}, [])


@pytest.mark.parametrize("failed", [False, True], ids=["stored", "nobody knows"])
def test_a_line_written_while_another_was_read_is_not_forgotten(*, failed: bool) -> None:
    known = NewestKnown(lasts_s=1.0)
    old, new = line(1, template="a"), line(2, template="a")
    with known.reading(["a", "b"], 0.0) as reading:
        with pytest.raises(KeyError) if failed else known.storing([]), known.storing([new]):
            if failed:
                raise KeyError
        known.remember(reading, {"a": old, "b": line(3, template="b")})
    assert known.answer(["a", "b"], ALL, 0.0) == ({"b": line(3, template="b")}, ["a"])


def test_deleting_while_a_line_is_read_leaves_nothing_remembered() -> None:
    known = NewestKnown(lasts_s=1.0)
    with known.reading(["a"], 0.0) as reading:
        known.forget()
        known.remember(reading, {"a": line(1, template="a")})
    assert known.answer(["a"], ALL, 0.0) == ({}, ["a"])


def test_a_failed_write_is_forgotten() -> None:
    known = remembering(line(1, template="a"), line(1, id="b", template="b"))
    with pytest.raises(KeyError), known.storing([line(2, template="a")]):
        raise KeyError
    assert known.answer(["a", "b"], ALL, 0.0) == ({"b": line(1, id="b", template="b")}, ["a"])


def test_the_longest_unused_go_when_there_are_too_many_or_too_long_ones() -> None:
    known = remembering(*(line(number, template=f"{number}") for number in range(MOST_TEMPLATES)))
    assert known.answer(["0"], ALL, 0.0)[1] == []
    with known.reading(["new", "long"], 0.0) as reading:
        known.remember(reading, {"new": line(1 << 20, template="new"), "long": line(1 << 21, template="long", text="x" * 4_097)})
    assert known.answer(["0", "1", "2", "new", "long"], ALL, 0.0)[1] == ["1", "long"]
    large = remembering(*(line(number, template=f"{number}", text="x" * 4_096) for number in range(4_100)))
    assert large.answer(["0", "3", "4", "4099"], ALL, 0.0)[1] == ["0", "3"]


class Lent:
    """A reading that is open until it is ended."""

    def __init__(self, known: NewestKnown) -> None:
        self._around = known.reading("ab", 0.0)
        self.reading = self._around.__enter__()

    def end(self) -> None:
        self._around.__exit__(None, None, None)


class Interleaved(RuleBasedStateMachine):
    """Writes, deletes and reads of one store, the reads cut into looking and remembering."""

    is_whole = False

    def __init__(self) -> None:
        super().__init__()
        self.known = NewestKnown(lasts_s=1.0, is_whole=self.is_whole)
        self.stored: dict[str, LineRow] = {}
        self.readings: list[tuple[Reading, dict[str, LineRow], Lent]] = []

    def newest(self) -> dict[str, LineRow]:
        return {one.template: one for one in sorted(self.stored.values(), key=place_of)}

    @rule(
        rows=st.lists(st.tuples(st.integers(0, 5), st.sampled_from("ab"), st.integers(0, 9)), min_size=1, max_size=3), fails=st.booleans()
    )
    def write(self, rows: list[tuple[int, str, int]], *, fails: bool) -> None:
        lines = [line(offset, template=template, time=time) for offset, template, time in rows]
        with pytest.raises(KeyError) if fails else nullcontext(), self.known.storing(lines):
            self.stored |= {one.id: one for one in lines}
            if fails:
                raise KeyError

    @rule(offset=st.integers(0, 5))
    def delete(self, offset: int) -> None:
        self.stored.pop(line(offset).id, None)
        self.known.forget()

    @rule()
    def look(self) -> None:
        lent = Lent(self.known)
        self.readings.append((lent.reading, self.newest(), lent))

    @rule()
    def remember(self) -> None:
        if self.readings:
            reading, found, lent = self.readings.pop(0)
            self.known.remember(reading, found)
            lent.end()

    @invariant()
    def what_is_remembered_is_the_newest(self) -> None:
        newest = self.newest()
        for only in (ALL, LineFilter(since_ms=5), LineFilter(until_ms=5)):
            found, rest = self.known.answer("ab", only, 0.0)
            passing = {one.template: one for one in sorted(self.stored.values(), key=place_of) if passes(one, only)}
            assert found == {one: passing[one] for one in found}
            assert all(one in found or one in rest or one not in passing for one in newest)


class InterleavedFromTheFirstLine(Interleaved):
    """The same, in a folder of which everything is known."""

    is_whole = True


TestInterleaved = Interleaved.TestCase
TestInterleaved.settings = settings(max_examples=50, deadline=None)
TestInterleavedFromTheFirstLine = InterleavedFromTheFirstLine.TestCase
TestInterleavedFromTheFirstLine.settings = settings(max_examples=100, deadline=None)


def test_in_a_new_folder_nothing_has_to_be_read_to_be_known(tmp_path: Path) -> None:
    for is_new in (True, False):
        sink = MilvusSink(MilvusSettings(uri=str(tmp_path / "milvus")), SPACE)
        sink.open()
        if is_new:
            sink.upsert_lines([line(1, template="a"), line(3, template="a"), line(2, template="b")])
        assert offsets(newest(sink, "a", 1, ALL)) == [3]
        assert newest(sink, "c", 1, ALL) == []
        known, rest = sink._known.answer("abc", ALL, 0.0)  # noqa: SLF001
        assert (set(known), rest) == (({"a", "b"}, []) if is_new else ({"a"}, ["b", "c"]))
        sink.close()


def test_a_line_that_is_too_long_to_be_remembered_is_read() -> None:
    known = NewestKnown(lasts_s=1.0, is_whole=True)
    for rows in ([line(0, template="a"), line(1, template="a", text="x" * 5_000)], [line(0, template="a")]):
        with known.storing(rows):
            pass
    assert known.answer("a", ALL, 0.0) == ({}, ["a"])


@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from("abc")), max_size=20))
def test_the_last_time_of_a_template_is_a_guess_for_reads(rows: list[tuple[int, str]]) -> None:
    known = NewestKnown(lasts_s=1.0)
    with known.storing([line(0, template=one, time=time) for time, one in rows]):
        pass
    assert known.times("abc") == {one: time for time, one in rows}


def test_a_line_stored_while_a_server_is_asked_is_the_newest_the_next_time(tmp_path: Path) -> None:
    server = StubServer(tmp_path / "server")
    sink = MilvusSink(MilvusSettings(uri=server.uri), SPACE)
    sink.open()
    sink.upsert_lines([line(1, template="a")])
    server.looked.clear()
    server.tell.clear()
    with ThreadPoolExecutor(1) as thread:
        asked = thread.submit(newest, sink, "a", 1, ALL)
        assert server.looked.wait(10)
        sink.upsert_lines([line(2, template="a")])
        server.tell.set()
        assert offsets(asked.result()) == [1]
    assert offsets(newest(sink, "a", 1, ALL)) == [2]
    sink.close()
    server.close()


def test_what_is_known_is_not_asked_for_again(tmp_path: Path) -> None:
    server = StubServer(tmp_path / "server")
    sink = MilvusSink(MilvusSettings(uri=server.uri), SPACE)
    sink.open()
    sink.upsert_lines([line(1, template="a")])
    queries = []
    for _ in range(20):
        before = server.queries
        assert offsets(newest(sink, "a", 1, ALL)) == [1]
        queries.append(server.queries - before)
    assert queries[0] == 2
    assert 0 in queries[1:]  # on a server it holds for a second, and this machine may be slow
    sink.close()
    server.close()
