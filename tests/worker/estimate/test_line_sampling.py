"""The lines that an estimate reads."""

import os
import random
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from producers.file_lines import FileUnreadable, LineTooLarge, read_files
from worker.estimate.line_sampling import STRETCH_LINES, Line, LineSample, LineStretch


def sampled(*files: Path, lines: int, most_bytes: int = 1_000_000) -> tuple[LineSample, list[LineStretch]]:
    sample = LineSample([str(file) for file in files], sample_lines=lines, max_record_bytes=most_bytes)
    return sample, [stretch for stretches in sample.lists() for stretch in stretches]


def lines_of(stretches: list[LineStretch]) -> list[Line]:
    return [line for stretch in stretches for line in stretch.lines]


def numbered(file: Path, lines: int, *, width: int = 20) -> Path:
    file.write_bytes(b"".join(b"%0*d\n" % (width, number) for number in range(lines)))
    return file


def test_files_with_no_more_lines_than_wanted_are_read_whole_and_in_order(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.write_bytes(b"a\n\nb\r\n")
    second.write_bytes(b"c\nno end")

    sample, stretches = sampled(first, second, lines=5)

    assert (sample.basis, sample.total_bytes) == ("all", 14)
    assert lines_of(stretches) == [b"a", b"", b"b", b"c", b"no end"]
    assert sum(stretch.size_bytes for stretch in stretches) == 14


def test_one_line_more_than_wanted_makes_it_a_sample(tmp_path: Path) -> None:
    assert sampled(numbered(tmp_path / "log", 40), lines=40)[0].basis == "all"
    assert sampled(numbered(tmp_path / "log", 41), lines=40)[0].basis == "sample"


def test_a_last_line_without_an_end_is_a_line_of_each_file(tmp_path: Path) -> None:
    first, second = numbered(tmp_path / "a", 20), numbered(tmp_path / "b", 20)
    first.write_bytes(first.read_bytes() + b"no end")

    assert sampled(first, second, lines=41)[0].basis == "all"
    assert sampled(first, second, lines=40)[0].basis == "sample"


def test_a_sample_is_about_as_many_lines_in_short_stretches_all_over_the_file(tmp_path: Path) -> None:
    sample, stretches = sampled(numbered(tmp_path / "log", 100_000), lines=2_000)

    numbers = [int(line or b"") for line in lines_of(stretches)]
    assert len(numbers) == pytest.approx(2_000, rel=0.05)
    assert numbers == sorted(set(numbers)), "a line came twice, or out of order"
    assert len(stretches) == 2_000 // STRETCH_LINES
    assert all(int(stretch.lines[-1] or b"") - int(stretch.lines[0] or b"") == len(stretch.lines) - 1 for stretch in stretches)
    for tenth in range(10):
        share = sum(tenth * 10_000 <= number < (tenth + 1) * 10_000 for number in numbers) / len(numbers)
        assert share == pytest.approx(0.1, abs=0.01)
    assert sample.total_bytes == 100_000 * 21


def test_lines_are_taken_as_often_whether_they_are_long_or_short(tmp_path: Path) -> None:
    # Random runs of short lines alternate with runs of lines twenty times as long.
    rng = random.Random(5)
    written = [line for _ in range(400) for line in [b"s" * 10] * rng.randint(20, 80) + [b"l" * 200] * rng.randint(20, 80)]
    (tmp_path / "log").write_bytes(b"\n".join(written) + b"\n")

    sample, stretches = sampled(tmp_path / "log", lines=4_000)

    found = lines_of(stretches)
    size_bytes = sum(stretch.size_bytes for stretch in stretches)
    assert (sample.total_bytes or 0) / size_bytes * len(found) == pytest.approx(len(written), rel=0.08)
    assert found.count(b"s" * 10) / len(found) == pytest.approx(written.count(b"s" * 10) / len(written), abs=0.04)


def test_what_comes_at_even_distances_is_met_as_often_as_it_should_be(tmp_path: Path) -> None:
    # As many reports as windows: aligned windows would meet all of them, or none.
    lines = [b"r%018d" % n if n % 500 == 250 else b"x%018d" % n for n in range(100_000)]
    (tmp_path / "log").write_bytes(b"\n".join(lines) + b"\n")

    _, stretches = sampled(tmp_path / "log", lines=2_000)

    found = lines_of(stretches)
    assert sum(line is not None and line.startswith(b"r") for line in found) == pytest.approx(4, abs=3)


def test_every_file_has_its_share(tmp_path: Path) -> None:
    _, stretches = sampled(numbered(tmp_path / "a", 30_000), numbered(tmp_path / "b", 10_000, width=21), lines=1_000)

    widths = [len(line or b"") for line in lines_of(stretches)]
    assert widths.count(20) / len(widths) == pytest.approx(0.74, abs=0.03)


def test_a_line_longer_than_many_windows_is_counted_once_and_not_held(tmp_path: Path) -> None:
    with (tmp_path / "log").open("wb") as file:
        file.write(b"short\n" * 2_000 + b"x" * 3_000_000 + b"\n" + b"short\n" * 2_000)

    _, stretches = sampled(tmp_path / "log", lines=1_000, most_bytes=1_024)

    found = lines_of(stretches)
    assert found.count(None) <= 1
    assert set(found) <= {b"short", None}


def test_a_pipe_gives_its_first_lines_and_no_more_is_waited_for(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read = threading.Event()

    def write() -> None:
        with pipe.open("wb", buffering=0) as out:
            out.write(b"a\nb\nc\n")
            assert read.wait(30), "the sample waits for a fourth line"

    writer = threading.Thread(target=write)
    writer.start()
    sample, stretches = sampled(pipe, lines=3)
    read.set()
    writer.join()

    assert lines_of(stretches) == [b"a", b"b", b"c"]
    assert (sample.basis, sample.total_bytes) == ("first", None)


def test_a_pipe_that_ends_earlier_was_read_whole(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(b"a\nb",))
    writer.start()
    sample, stretches = sampled(pipe, lines=3)
    writer.join()

    assert lines_of(stretches) == [b"a", b"b"]
    assert (sample.basis, sample.total_bytes) == ("all", None)


@pytest.mark.parametrize("file", ["/proc/self/mem", "/proc/self/absent"])
def test_what_cannot_be_read_is_named(file: str) -> None:
    with pytest.raises(FileUnreadable, match=f"{file}: "):
        sampled(Path(file), lines=10)


LINE = st.one_of(st.binary(max_size=12), st.binary(min_size=1020, max_size=1030), st.just(b"\r"), st.just(b"x" * 1024 + b"\r"))


@settings(max_examples=60, deadline=None)
@given(st.lists(LINE, max_size=20), st.sampled_from([b"\n", b"\r\n"]))
def test_lines_are_those_that_feed_would_send(tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], end: bytes) -> None:
    file = tmp_path_factory.mktemp("lines") / "log"
    file.write_bytes(end.join((b"first", *lines)))  # so that it does not begin like a compressed file
    expected = [None if isinstance(line, LineTooLarge) else line for line in read_files([str(file)], max_record_bytes=1024)]

    _, stretches = sampled(file, lines=1_000, most_bytes=1024)

    assert lines_of(stretches) == expected
    assert sum(stretch.size_bytes for stretch in stretches) == file.stat().st_size
