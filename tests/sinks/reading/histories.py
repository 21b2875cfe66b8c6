"""Random histories of an index: runs, copies, kills in mid-write, merges cut short, logs that were cut, settings that changed."""

from random import Random
from typing import NamedTuple

from sinks.block import Block, BlockId, BlockPlace
from sinks.line import Line
from sinks.lines import cut_of
from sinks.row import TemplateText
from tests.sinks.reading.oracle import Stored
from tests.world import block, run

CHUNK_TEXTS = {1: 3, 2: 4}
"""Pieces of a long line, by chunking setting."""


class History(NamedTuple):
    blocks: list[Block]
    stored: list[Stored]


class Settings(NamedTuple):
    """What a run may do differently from the one before it."""

    cut_logs: bool = False
    """The same offset may hold another text."""
    masks: bool = False
    """The same text may have another template."""
    services: bool = False
    """The same line may have another service or level."""
    times: bool = False
    """The same line may have another time."""
    chunk_templates: bool = True
    """The first chunk of a long line has another template than the others."""


def history(random: Random, settings: Settings) -> History:
    """Return what is stored after a few runs over two partitions."""
    blocks: list[Block] = []
    stored: list[Stored] = []
    for topic, partition in (("logs", 0), ("logs", 1), ("web", 0))[: random.randint(1, 3)]:
        for number in range(random.randint(1, 4)):
            first = random.randint(0, 12)
            entries = _entries(random, settings, topic, partition, range(first, first + random.randint(1, 14)))
            for one in _run(random, entries, run(number + 1)):
                blocks.append(block(one.lines, one.id.run, one.id.first, one.id.last))
                stored.append(one)
    together = list(zip(blocks, stored, strict=True))
    random.shuffle(together)
    return History([one for one, _ in together], [one for _, one in together])


def _entries(random: Random, settings: Settings, topic: str, partition: int, offsets: range) -> list[Line]:
    """Return the pieces of one run, in the order in which they settle."""
    version = random.randint(0, 1) if settings.cut_logs else 0
    masks = random.randint(0, 1) if settings.masks else 0
    service = random.randint(0, 1) if settings.services else 0
    later_ms = random.choice([0, 5_000]) if settings.times else 0
    limit = random.choice(list(CHUNK_TEXTS))
    pieces: list[Line] = []
    for offset in offsets:
        entries = 1 + (offset % 5 == 0) + 2 * (version and offset % 3 == 0)
        for sub in range(entries):
            kind = (offset * 7 + sub) % 4
            chunks = CHUNK_TEXTS[limit] if kind == 3 else 1
            texts = [f"v{version} offset {offset} sub {sub} {chunk} of {chunks}" for chunk in range(chunks)]
            for chunk, text in enumerate(texts):
                template = f"{masks} kind {kind} {'rest' if chunk and settings.chunk_templates else ''}"
                pieces.append(
                    Line(
                        topic=topic,
                        epoch="e1",
                        partition=partition,
                        offset=offset,
                        sub=sub,
                        chunk=chunk,
                        chunks=chunks,
                        text=text,
                        template_text=TemplateText(template),
                        time=1_000 * (offset // 2) + 7 * partition + later_ms,
                        kafka_time=5,
                        service=f"s{(offset + service) % 3}",
                        level="ERROR" if (offset + service) % 4 == 0 else "INFO",
                        cut=cut_of(texts),
                        entries=entries,
                    )
                )
    for _ in range(random.randint(0, 6)):
        at = random.randrange(len(pieces))
        pieces.insert(random.randrange(len(pieces)), pieces.pop(at))
    return pieces


def _run(random: Random, pieces: list[Line], name: str) -> list[Stored]:
    """Return the blocks of one run that are stored: some never arrived, some were merged, and some of the inner ones deleted."""
    numbered: list[list[Line]] = []
    while pieces:
        size = random.randint(1, 6)
        numbered.append(pieces[:size])
        pieces = pieces[size:]
    place = BlockPlace(*numbered[0][0][:3])
    there = [random.random() < 0.85 for _ in numbered]
    stored = {(number, number): lines for number, lines in enumerate(numbered) if there[number]}
    outer: list[tuple[int, int]] = []
    for _ in range(random.randint(0, 4)):
        first = random.randrange(len(numbered))
        last = min(first + random.randint(1, 4), len(numbered) - 1)
        if last > first and all(there[first : last + 1]):
            stored[first, last] = [line for lines in numbered[first : last + 1] for line in lines]
            outer.append((first, last))
    for inner in list(stored):
        if any(first <= inner[0] and inner[1] <= last and (first, last) != inner for first, last in outer) and random.random() < 0.5:
            del stored[inner]
    return [Stored(BlockId(place, name, first, last), lines) for (first, last), lines in stored.items()]
