"""Blocks hold every line once and keep every bound, and a builder gives back what it was given, in time."""

import math
from base64 import b64encode

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from sinks.arrow import join_texts
from sinks.block import ANY_WORD, Block, BlockColumns, BlockPlace
from sinks.build import HOUR_MS, NO_ID, BlockBounds, Builder, LineGroup, build
from sinks.codec import decode_lines, encode_head
from sinks.line import Line
from sinks.lines import all_lines, lines_of, take_lines
from sinks.row import TemplateText, template_key
from sinks.words import block_words, field_word
from tests.sinks.any_lines import TIME_MS, any_lines

PLACE = BlockPlace("logs", "0a0b0c0d", 3)
bounds = st.builds(
    BlockBounds,
    lines=st.integers(1, 8),
    words=st.integers(2, 12),
    templates=st.integers(1, 6),
    services=st.integers(1, 4),
    levels=st.integers(1, 3),
    raw_bytes=st.integers(1, 400),
    characters=st.sampled_from([1_400, 60_000]),
)


def lines_in(block: Block) -> list[Line]:
    return all_lines(PLACE, decode_lines(BlockColumns(block.places, block.texts, block.fields)))


@given(any_lines(), bounds)
def test_blocks_hold_every_line_once_within_all_bounds(lines: list[Line], bounds: BlockBounds) -> None:
    columns = lines_of(lines)
    built = build(columns, masks="m1", written_ms=5, bounds=bounds)
    rows = np.concatenate([one.rows for one in built]).tolist()
    assert [lines[row] for row in rows] == sorted(lines, key=lambda line: (line.offset, line.sub, line.chunk))
    for own_rows, block in built:
        own = [lines[row] for row in own_rows.tolist()]
        assert lines_in(block) == own
        part = take_lines(columns, own_rows)
        words = set(block_words(join_texts(part.text), part.template).tolist())
        assert_block_is_of(block, own, words, bounds)


def assert_block_is_of(block: Block, own: list[Line], words: set[int], bounds: BlockBounds) -> None:
    """Compare everything beside the lines with a plain count of them."""
    head = block.head
    assert (block.id, head.written_ms) == (NO_ID, 5)
    assert block.first_offset == min(line.offset for line in own)
    assert block.last_offset == max(line.offset + line.records - 1 for line in own)
    assert (block.first_ms, block.last_ms) == (min(line.time for line in own), max(line.time for line in own))
    assert block.lines == sum(line.chunk == 0 for line in own)
    times = {template_key(line.template): [one.time for one in own if one.template == line.template] for line in own}
    assert head.templates.tolist() == sorted(times)
    assert head.pieces.tolist() == [len(times[key]) for key in sorted(times)]
    assert head.first_ms.tolist() == [min(times[key]) for key in sorted(times)]
    assert head.last_ms.tolist() == [max(times[key]) for key in sorted(times)]
    assert head.services == tuple(sorted({line.service for line in own}))
    assert head.levels == tuple(sorted({line.level for line in own}))
    if any(line.fields and "root" in line.fields for line in own):
        words.add(field_word("user", "root"))
    if any(line.fields and "5" in line.fields for line in own):
        words |= {field_word("user", "a\nb"), field_word("n", "5")}
    found = block.words.tolist()
    assert found == sorted(set(found))
    assert set(found) == words or (len(own) == 1 and ANY_WORD in found and words.issuperset(found[1:]) and len(found) == bounds.words)
    assert len(found) <= bounds.words
    assert len(own) == 1 or len(head.templates) <= bounds.templates
    assert len(own) == 1 or sum(len(((line.text or "") + (line.fields or "")).encode()) for line in own) <= bounds.raw_bytes
    assert len(head.services) <= bounds.services
    assert len(head.levels) <= bounds.levels
    assert len(own) <= bounds.lines
    columns = [b64encode(frame) for frame in (block.places, block.texts, block.fields)]
    assert len(own) == 1 or max(map(len, (*columns, encode_head(head)))) <= bounds.characters


class BuilderMachine(RuleBasedStateMachine):
    """A builder against a plain list of what it holds."""

    def __init__(self) -> None:
        super().__init__()
        self.bounds = BlockBounds(lines=6, raw_bytes=120)
        self.builder = Builder(self.bounds)
        self.waiting: dict[int, tuple[Line, float]] = {}
        self.now_s = 10.0
        self.next_tag = 0

    @rule(passed_s=st.floats(0, 1))
    def wait(self, passed_s: float) -> None:
        self.now_s += passed_s

    @rule(years=st.lists(st.integers(0, 4), min_size=1, max_size=9), step_ms=st.integers(0, HOUR_MS), size=st.integers(0, 50))
    def add(self, years: list[int], step_ms: int, size: int) -> None:
        lines: list[Line] = []
        for year in years:
            time = TIME_MS + year * 365 * 24 * HOUR_MS + step_ms * len(lines)
            lines.append(Line("logs", "", 3, self.next_tag, 0, 0, 1, "x" * size, TemplateText("t"), time, time))
            self.waiting[self.next_tag] = (lines[-1], self.now_s)
            self.next_tag += 1
        self.builder.add(lines_of(lines), np.array([line.offset for line in lines]), self.now_s)

    @rule(passed_s=st.floats(0, 2), flush_s=st.floats(0, 2), everything=st.booleans())
    def take(self, passed_s: float, flush_s: float, *, everything: bool) -> None:
        self.now_s += passed_s
        self.give_back(self.builder.take(self.now_s, flush_s=flush_s, everything=everything))
        late = [tag for tag, (_, since_s) in self.waiting.items() if everything or self.now_s - since_s >= flush_s]
        assert late == []
        assert self.builder.lines <= 4 * (self.bounds.lines - 1)

    @precondition(lambda self: self.waiting)
    @rule()
    def take_full_ones_only(self) -> None:
        groups = self.builder.take(self.now_s, flush_s=math.inf)
        for group in groups:
            sizes = [len(line.text or "") for line in all_lines(PLACE, group.lines)]
            assert len(sizes) == self.bounds.lines or sum(sizes) + 50 > self.bounds.raw_bytes
        self.give_back(groups)

    def give_back(self, groups: list[LineGroup]) -> None:
        for group in groups:
            own = [self.waiting.pop(tag) for tag in group.tags.tolist()]
            assert [line._replace(partition=3) for line in all_lines(BlockPlace("logs", "", 3), group.lines)] == [line for line, _ in own]
            assert group.since_s == min(since_s for _, since_s in own)
            assert len(own) <= self.bounds.lines
            assert len(own) == 1 or sum(len(line.text or "") for line, _ in own) <= self.bounds.raw_bytes

    @invariant()
    def knows_what_it_holds(self) -> None:
        assert self.builder.lines == len(self.waiting)
        assert self.builder.bytes == sum(len(line.text or "") for line, _ in self.waiting.values())
        assert self.builder.oldest_s == min((since_s for _, since_s in self.waiting.values()), default=None)


TestBuilder = BuilderMachine.TestCase
TestBuilder.settings = settings(max_examples=60, stateful_step_count=20)
