"""Blocks that are built stay within what backends take, and a builder closes them when it should."""

import base64
import hashlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sinks.block import ANY_WORD, Block, BlockColumns, BlockPlace
from sinks.build import DEFAULT_BOUNDS, HOUR_MS, BlockBounds, Builder, LineGroup, build
from sinks.codec import decode_head, decode_lines, encode_head
from sinks.line import LEVEL_BYTES, PIECE_BYTES, SERVICE_BYTES
from sinks.lines import all_lines, hollowed, join_lines, lines_of
from sinks.words import word_keys
from tests.sinks.any_lines import FIELDS
from tests.world import line

TIME = 1_700_000_000_000
YEAR_MS = 365 * 24 * HOUR_MS
VARCHAR = 65_535
"""What Milvus takes."""


def noise(size: int, seed: object = 0) -> str:
    """Return characters that no compression makes smaller than three quarters."""
    bits = hashlib.shake_256(repr(seed).encode()).digest(size)
    return base64.b64encode(bits).decode()[:size]


def longest_of(block: Block) -> int:
    """Return the characters of the longest encoded column, as base64."""
    return max(len(encode_head(block.head)), *(len(base64.b64encode(frame)) for frame in (block.places, block.texts, block.fields)))


def test_one_line_alone_with_more_words_than_fit_may_hold_any() -> None:
    text = " ".join(f"id-{i}" for i in range(5_000))
    (built,) = build(lines_of([line(1, text=text)]), masks="m1", written_ms=TIME)
    words = built.block.words.tolist()
    assert len(words) == DEFAULT_BOUNDS.words
    assert words[0] == ANY_WORD
    assert {word_keys(f"id-{i}")[0] for i in range(5_000)}.issuperset(words[1:])


def test_the_worst_lines_that_pieces_allow_are_within_what_backends_take() -> None:
    worst = [
        line(
            2**62 + i * 2**40,
            text=noise(PIECE_BYTES - 2_000, i),
            fields='{"x":"' + noise(1_900, i) + '"}',
            template_text=noise(40_000, -i),
            service=noise(SERVICE_BYTES, i),
            level=noise(LEVEL_BYTES, i),
            time=(-1) ** i * (2**63 - 1 - i),
            cut=2**64 - 1 - i,
            chunks=256,
            records=2**31 - 1 - i,
        )
        for i in range(40)
    ]
    built = build(lines_of(worst), masks="m1", written_ms=TIME)
    assert sum(len(one.rows) for one in built) == 40
    for _, block in built:
        assert longest_of(block) <= DEFAULT_BOUNDS.characters < VARCHAR


def test_columns_are_bounded_by_their_characters_as_base64() -> None:
    lines = lines_of([line(i, text=noise(1_000, i)) for i in range(2)])
    (whole,) = build(lines, masks="m1", written_ms=TIME)
    most = longest_of(whole.block)
    assert most == len(base64.b64encode(whole.block.texts))
    assert len(build(lines, masks="m1", written_ms=TIME, bounds=BlockBounds(characters=most))) == 1
    assert len(build(lines, masks="m1", written_ms=TIME, bounds=BlockBounds(characters=most - 1))) == 2


def test_a_block_is_as_large_as_a_server_is_sent_it() -> None:
    (built,) = build(lines_of([line(1, text="id-1", fields="{}")]), masks="m1", written_ms=TIME)
    columns = (built.block.places, built.block.texts, built.block.fields)
    assert all(columns)
    assert built.block.size_bytes == sum(len(base64.b64encode(frame)) for frame in columns) + 4 * len(built.block.words) + 40 + 600


def test_a_line_above_all_bounds_is_an_error_of_ours() -> None:
    with pytest.raises(ValueError, match="one line takes"):
        build(lines_of([line(1, template_text=noise(60_000))]), masks="m1", written_ms=TIME)


def test_no_lines_make_no_block() -> None:
    assert build(lines_of([]), masks="m1", written_ms=TIME) == []


def test_names_with_lone_surrogates_become_valid_and_stay_distinct_values() -> None:
    lines = [line(1, service="a\ud800", level="?", template_text="t\ud800"), line(2, service="a?", level="\udfff", template_text="t?")]
    (built,) = build(lines_of(lines), masks="m1", written_ms=TIME)
    decoded = decode_lines(BlockColumns(built.block.places, built.block.texts, built.block.fields))
    assert (decoded.service.values, decoded.level.values, decoded.template.values) == (("a?",), ("?",), ("t?",))
    assert (built.block.head.services, built.block.head.levels, len(built.block.head.templates)) == (("a?",), ("?",), 1)
    assert [one.template for one in all_lines(BlockPlace("logs", "", 0), decoded)] == [one.template for one in lines]


@given(st.lists(st.one_of(FIELDS, st.sampled_from(['{"pod":"a-1"}', '{"pod":"b-2","n":7}', '{"pod":"\\\\"}'])), min_size=1, max_size=12))
def test_the_words_of_fields_are_those_of_every_line_however_often_the_same_ones_are_there(fields: list[str | None]) -> None:
    def words(fields: list[str | None]) -> set[int]:
        (built,) = build(lines_of([line(i, text="x", fields=one) for i, one in enumerate(fields)]), masks="", written_ms=0)
        return set(built.block.words.tolist())

    assert words(fields + fields[::-1]) == set().union(*(words([one]) for one in fields))


def gathered(times: list[int], *, bounds: BlockBounds = DEFAULT_BOUNDS) -> list[LineGroup]:
    builder = Builder(bounds)
    builder.add(lines_of([line(i, time=time) for i, time in enumerate(times)]), np.arange(len(times)), 0.0)
    return builder.take(0.0, flush_s=0.5, everything=True)


def span_ms(group: LineGroup) -> int:
    return int(group.lines.time.max() - group.lines.time.min())


def test_a_line_with_an_odd_clock_gets_a_group_of_its_own() -> None:
    groups = gathered([TIME, TIME + 5, 0, TIME + 10, TIME - 5])
    assert [group.tags.tolist() for group in groups] == [[0, 1, 3, 4], [2]]


def test_lines_within_an_hour_of_each_other_share_a_group_whatever_their_order() -> None:
    half = HOUR_MS // 2
    assert [group.tags.tolist() for group in gathered([TIME, TIME + half, TIME - half])] == [[0, 1, 2]]
    assert [group.tags.tolist() for group in gathered([TIME, TIME + half, TIME - half - 1])] == [[0, 1], [2]]
    assert [group.tags.tolist() for group in gathered([TIME, TIME + HOUR_MS, TIME + HOUR_MS + 1])] == [[0, 1], [2]]


def test_the_hour_of_a_group_begins_with_its_earliest_line_of_all_batches() -> None:
    builder = Builder()
    half = HOUR_MS // 2
    for i, time in enumerate([TIME, TIME + half, TIME + HOUR_MS + 1]):
        builder.add(lines_of([line(i, time=time)]), np.array([i]), 0.0)
    groups = builder.take(0.0, flush_s=0.5, everything=True)
    assert [group.tags.tolist() for group in groups] == [[0, 1], [2]]


def test_interleaved_files_of_five_years_fill_their_blocks() -> None:
    builder = Builder()
    sizes, spans = [], []
    for batch in range(40):
        offsets = range(batch * 1_000, batch * 1_000 + 1_000)
        lines = [line(offset, time=TIME + offset % 5 * YEAR_MS + offset) for offset in offsets]
        builder.add(lines_of(lines), np.array(offsets), 0.0)
        groups = builder.take(0.0, flush_s=0.5)
        sizes += [group.lines.size for group in groups]
        spans += [span_ms(group) for group in groups]
    assert set(sizes) == {1_024}
    assert sum(span <= HOUR_MS for span in spans) >= len(spans) // 2
    assert builder.lines < 4 * 1_024


def test_at_extreme_times_nothing_overflows() -> None:
    groups = gathered([2**63 - 1, -(2**63), 0, 2**63 - 1 - HOUR_MS, -(2**63) + HOUR_MS])
    assert [group.tags.tolist() for group in groups] == [[0, 3], [1, 4], [2]]


def test_lines_that_wait_do_not_hold_the_memory_of_those_that_left() -> None:
    builder = Builder()
    lines = lines_of([line(i) for i in range(1_030)])
    builder.add(lines, np.arange(1_030), 0.0)
    (full,) = builder.take(0.0, flush_s=1.0)
    (rest,) = builder.take(2.0, flush_s=1.0)
    assert (full.lines.size, rest.lines.size) == (1_024, 6)
    assert rest.lines.text.buffers()[2].size < 100
    assert not np.shares_memory(rest.lines.offset, lines.offset)


def test_hollow_entries_are_in_no_head_and_come_back_hollow() -> None:
    hollow = hollowed(lines_of([line(7, service="gone", template_text="gone"), line(9, records=3, entries=2)]))
    (alone,) = build(hollow, masks="", written_ms=5)
    assert (alone.block.lines, alone.block.first_offset, alone.block.last_offset) == (0, 7, 11)
    assert [len(column) for column in alone.block.head[:6]] == [0] * 6
    assert decode_head(encode_head(alone.block.head)).written_ms == 5
    (mixed,) = build(join_lines([lines_of([line(6, service=""), line(8)]), hollow]), masks="", written_ms=5)
    assert (mixed.block.lines, mixed.block.head.pieces.tolist(), mixed.block.head.services) == (2, [2], ("", "sshd"))
    decoded = decode_lines(BlockColumns(mixed.block.places, mixed.block.texts, mixed.block.fields))
    assert decoded.chunks.tolist() == [1, 0, 1, 0]
    assert (decoded.records.tolist(), decoded.entries.tolist()) == ([1, 1, 1, 3], [1, 1, 1, 2])
