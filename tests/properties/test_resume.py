"""Resume against a plain oracle: random histories of earlier runs, and which records a new run passes over.

The histories hold copies, torn entries, merged blocks with their inner ones beside them, changed texts, levels, times, cuts and masks,
lost template rows. The oracle reads all blocks as lists of lines. Passing over a record is always justified by it; and while no window is
empty, every record that may be passed over is.
"""

from collections import defaultdict
from collections.abc import Sequence
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from sinks.block import Block, BlockColumns, BlockId, BlockPlace
from sinks.codec import decode_lines
from sinks.line import Line
from sinks.lines import all_lines, cut_of
from sinks.row import TemplateText
from tests.sinks.reading import oracle
from tests.worker.indexing.resuming import EPOCH, TOPIC, Resuming
from tests.world import block, line, run

PLACE = BlockPlace(TOPIC, EPOCH, 0)
MOST_OFFSETS = 24
TEXT = "one two three four"
Entry = tuple[int, int]
"""Offset and sub."""
Written = list[tuple[BlockId, list[Line]]]


def entries_of(offset: int) -> int:
    return 1 + (offset % 5 == 0)


def entry_lines(random: Random, entry: Entry, changed: float) -> list[Line]:
    """Return an entry as some version of the worker writes it: more often than `changed` the present one."""

    def choose(usual: object, *others: object) -> object:
        return random.choice(others) if random.random() < changed else usual

    offset, sub = entry
    long = (offset + sub) % 4 == 0
    text = choose(f"{TEXT} {offset}", f"{TEXT} {offset} cut and grown again")
    words = str(text).split(" ")
    texts = [text] if not long else choose([words[0], " ".join(words[1:])], [" ".join(words[:2]), " ".join(words[2:])], [text])
    assert isinstance(texts, list)
    values = {
        "time": choose(1_000 * offset, 1_000 * offset + 1),
        "kafka_time": 1_000 * offset,
        "level": choose("INFO", "WARN"),
        "service": choose("sshd", ""),
    }
    return [
        line(
            offset,
            sub=sub,
            chunk=n,
            chunks=len(texts),
            cut=cut_of(texts),
            text=text,
            template_text=choose(f"k{n}", f"m{n}"),
            entries=entries_of(offset),
            **values,
        )
        for n, text in enumerate(texts)
    ]


def write_history(random: Random, *, changed: float, torn: float) -> list[Block]:
    """Return the blocks of one to four earlier runs: each wrote some entries, in any order, some of them in part."""
    stored: list[Block] = []
    for number in range(random.randint(1, 4)):
        first = random.randint(0, MOST_OFFSETS // 2)
        pieces: list[Line] = []
        for offset in range(first, random.randint(first, MOST_OFFSETS)):
            for sub in range(entries_of(offset)):
                lines = entry_lines(random, (offset, sub), changed)
                pieces += lines if random.random() > torn else random.sample(lines, random.randint(0, len(lines)))
        if random.random() < 0.5:
            random.shuffle(pieces)
        size = random.randint(1, 9)
        parts = [pieces[at : at + size] for at in range(0, len(pieces), size)]
        stored += [block(part, run(number + 1), at) for at, part in enumerate(parts)]
        if len(parts) > 2 and random.random() < 0.5:
            begin = random.randint(0, len(parts) - 2)
            end = random.randint(begin + 1, len(parts) - 1)
            stored.append(block([one for part in parts[begin : end + 1] for one in part], run(number + 1), begin, end))
            if random.random() < 0.5:  # the inner ones are deleted by now, or some of them
                stored = [one for one in stored if not one.id.is_inside(stored[-1].id) or random.random() < 0.5]
    return stored


def read_by_oracle(written: Written) -> dict[Entry, list[Line]]:
    got: dict[Entry, list[Line]] = defaultdict(list)
    for one in sorted(oracle.union(oracle.Stored(*one) for one in written), key=lambda one: one.chunk):
        got[one.offset, one.sub].append(one)
    return got


def is_the_same(stored: Sequence[Line], wanted: Sequence[Line]) -> bool:
    """Whether two versions of an entry differ in their templates at most."""
    return [one._replace(template_text=TemplateText("")) for one in stored] == [
        one._replace(template_text=TemplateText("")) for one in wanted
    ]


@settings(max_examples=150, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    window_records=st.sampled_from([1, 2, 5, 9, 1_000]),
    changed=st.sampled_from([0.0, 0.02, 0.2]),
    torn=st.sampled_from([0.0, 0.3]),
    lost=st.sets(st.sampled_from(["k0", "k1", "m0"])),
)
def test_a_record_is_passed_over_exactly_if_readers_get_what_would_be_written(
    seed: int, window_records: int, changed: float, torn: float, lost: set[str]
) -> None:
    random = Random(seed)
    stored = write_history(random, changed=changed, torn=torn)
    rig = Resuming(*stored, window_records=window_records)
    rig.store_templates(*({"k0", "k1", "m0", "m1"} - lost))
    got = read_by_oracle(written_of(stored))

    position = random.randint(0, MOST_OFFSETS)
    offsets = [offset for offset in range(position, MOST_OFFSETS + 5) if random.random() < 0.8]
    passed_over: set[Entry] = set()
    wanted: dict[Entry, list[Line]] = {}
    while offsets:
        receipts = []
        for _ in range(random.randint(1, 3)):
            some = offsets[: random.randint(1, 6)]
            del offsets[: len(some)]
            receipts += [rig.admit(*some)] if some else []
        assert rig.resume.look_back(receipts)
        for receipt in receipts:
            entries = [(offset, sub) for offset in receipt.records.offset.tolist() for sub in range(entries_of(offset))]
            wanted |= {entry: entry_lines(random, entry, 0.0) for entry in entries}
            lines = [one for entry in entries for one in wanted[entry]]
            skips = {((one.offset, one.sub), skipped) for one, skipped in zip(lines, rig.skips(receipt, lines), strict=True)}
            assert len(skips) == len(entries), "a record is passed over whole"
            passed_over |= {entry for entry, skipped in skips if skipped}
    is_stored = {
        entry
        for entry, lines in wanted.items()
        if is_the_same(got.get(entry, ()), lines) and lost.isdisjoint(one.template_text for one in got[entry])
    }
    may_be = {(offset, sub) for offset, sub in is_stored if all((offset, other) in is_stored for other in range(entries_of(offset)))}
    assert passed_over <= may_be
    if window_records > MOST_OFFSETS or not stored:
        assert passed_over == may_be


def written_of(stored: Sequence[Block]) -> Written:
    return [(one.id, all_lines(PLACE, decode_lines(BlockColumns(one.places, one.texts, one.fields)))) for one in stored]
