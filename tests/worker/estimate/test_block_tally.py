"""What lines take in the index is what the blocks of them take that the worker would write."""

from base64 import b64encode

from sinks.block import Lines
from sinks.lines import lines_of
from tests.world import block, line
from worker.estimate.block_tally import BlockTally

CUTS = ((0, 1_024), (1_024, 2_048), (2_048, 2_500))


def lines(number: int, *, first: int = 0, pieces: int = 1, prefix: str = "") -> Lines:
    return lines_of(
        [
            line(n, chunk=chunk, chunks=pieces, text=f"{prefix}line {n} of {chunk}", template_text=f"line {chunk}", time=n)
            for n in range(first, first + number)
            for chunk in range(pieces)
        ]
    )


def test_full_blocks_are_built_at_once_and_the_rest_at_the_end() -> None:
    tally = BlockTally()
    tally.add_lines(lines(600))
    assert tally.blocks == 0
    tally.add_lines(lines(600, first=600))
    assert tally.blocks == 1
    tally.finish()
    tally.finish()
    assert tally.blocks == 2


def test_each_line_is_in_one_block_whatever_lists_they_came_in() -> None:
    whole, parts = BlockTally(), BlockTally()
    whole.add_lines(lines(2_500))
    for first in range(0, 2_500, 500):
        parts.add_lines(lines(500, first=first))
    for tally in (whole, parts):
        tally.finish()
    blocks = [block([line(n, text=f"line {n} of 0", template_text="line 0", time=n) for n in range(*some)], masks="") for some in CUTS]
    assert whole.server_bytes == parts.server_bytes == sum(one.size_bytes for one in blocks)


def test_the_sizes_are_those_of_the_block() -> None:
    tally = BlockTally()
    tally.add_lines(lines(2))
    tally.add_lines(lines(1, first=2))
    tally.finish()
    alike = block([line(n, text=f"line {n} of 0", template_text="line 0", time=n) for n in range(3)], masks="")
    assert tally.server_bytes == alike.size_bytes
    columns = sum(len(b64encode(frame)) for frame in (alike.places, alike.texts, alike.fields))
    assert columns < tally.folder_bytes


def test_every_chunk_is_a_line() -> None:
    tally = BlockTally()
    tally.add_lines(lines(400, pieces=3))
    tally.finish()
    assert tally.blocks == 2


def test_without_a_line_there_is_no_block() -> None:
    tally = BlockTally()
    tally.add_lines(lines(0))
    tally.finish()
    assert (tally.blocks, tally.server_bytes, tally.folder_bytes) == (0, 0, 0.0)
