"""Blocks without lines and filters of them, with hostile names and numbers at the ends of their ranges."""

import numpy as np
from hypothesis import strategies as st

from sinks.block import ANY_WORD, Block, BlockId, BlockPlace, Head
from sinks.row import TemplateKey
from sinks.sink import BlockFilter, OffsetSpan, RunSpan

LEAST, MOST = -(1 << 63), (1 << 63) - 1
RUNS = ("0" * 20, "7" * 20, "f" * 20)
NAMES = ("", "sshd", 'a"b', "a\\b", "\\", '"', "\x00", "a\nb\r\t", "'", "é\U0001f701", "{x} $[y] %s", '" or 1 == 1 or topic == "', "*")
KEYS = tuple(map(TemplateKey, (LEAST + 1, -7, -1, 0, 1, 2, 3, 4, MOST)))
WORDS = (ANY_WORD, 1, 2, 3, 4, (1 << 28) - 1)
NUMBERS = (LEAST, -1, 0, 3, 5, 8, MOST)


def _any_block(number: int, draw: np.random.Generator) -> Block:

    def some(values: tuple[int, ...], most: int) -> list[int]:
        return sorted(draw.choice(np.array(values), draw.integers(0, most), replace=False).tolist())

    def span(values: tuple[int, ...]) -> list[int]:
        return sorted(draw.choice(np.array(values), 2).tolist())

    keys = np.unique(np.array([KEYS[number % len(KEYS)], *some(KEYS, 5)], np.int64))
    services, levels = (tuple(sorted(NAMES[i] for i in draw.permutation(len(NAMES))[: draw.integers(0, 4)])) for _ in range(2))
    head = Head(keys, np.ones_like(keys), keys * 0, keys * 0 + 1, services, levels, number)
    place = BlockPlace(("logs", "logs.2", "audit")[number % 3], ("", "e1", "e2")[number % 3 - number % 2], number % 4)
    words = np.array(some(WORDS[number % 4 > 0 :], 5), np.int32)
    (first, last), (first_ms, last_ms) = span(NUMBERS[1:]), span(NUMBERS)
    return Block(BlockId(place, RUNS[number // 2 % 3], number, number), first, last, first_ms, last_ms, 5, head, words, b"p", b"t", b"")


BLOCKS = [_any_block(number, np.random.default_rng(number)) for number in range(120)]
PLACES = sorted({one.id.place for one in BLOCKS})


def _tuples(values: tuple[str, ...], most: int) -> st.SearchStrategy[tuple[str, ...]]:
    return st.lists(st.sampled_from(values), max_size=most).map(tuple)


_BOUND_SET = st.sampled_from([*NUMBERS, LEAST - 1, MOST + 1, 1, 4])
_BOUND = st.none() | _BOUND_SET
FILTERS = st.builds(
    BlockFilter,
    topics=_tuples(("logs", "logs.2", "none", "\ud800", 'x"'), 2),
    epoch=st.sampled_from([None, None, "e1", "e2", "", "e3"]),
    partition=st.sampled_from([None, None, 0, 1, 3, 9]),
    first_offset=_BOUND,
    end_offset=_BOUND,
    since_ms=_BOUND,
    until_ms=_BOUND,
    templates=st.none() | st.lists(st.sampled_from([*KEYS, 99]), max_size=4).map(tuple),
    words=st.lists(st.sampled_from([*WORDS[1:], 77]), max_size=3).map(tuple),
    services=_tuples((*NAMES, "nobody", "\ud800"), 3),
    levels=_tuples((*NAMES, "nobody", "\ud800"), 3),
    spans=st.none() | st.lists(st.builds(OffsetSpan, st.integers(0, 4), _BOUND_SET, _BOUND_SET), max_size=4).map(tuple),
    besides=st.none()
    | st.lists(
        st.builds(
            RunSpan,
            st.sampled_from([*PLACES, BlockPlace("none", "e1", 1)]),
            st.sampled_from([*RUNS, "5" * 20]),
            _BOUND_SET,
            _BOUND_SET,
        ),
        max_size=4,
    ).map(tuple),
    not_topics=_tuples(("logs", "logs.2", "none", "\ud800", 'x"'), 2),
    not_services=_tuples((*NAMES, "nobody", "\ud800"), 3),
    not_levels=_tuples((*NAMES, "nobody", "\ud800"), 3),
)
