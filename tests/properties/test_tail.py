"""Whoever follows an index sees every new line once, whatever is merged, overtaken, written twice or written by two at once."""

from collections import Counter
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from sinks.block import BlockId, BlockPlace
from sinks.line import Line
from sinks.reading.arrivals import Watch
from sinks.reading.reader import BlockReader
from sinks.reading.selecting import Selection
from tests.world import block, line, open_sink, run

GRACE_S = 20.0
"""How long an inner block stays beside the one that it was merged into."""


class Writer:
    """A worker that writes one partition's lines as blocks of a run, and merges them."""

    def __init__(self, world: "World", partition: int, number: int, offset: int) -> None:
        self.world = world
        self.partition = partition
        self.run = run(number)
        self.offset = offset
        """The next offset that it reads."""
        self.number = 0
        self.held: list[tuple[int, list[Line]]] = []
        """Blocks that were overtaken by later ones."""
        self.written: dict[tuple[int, int], list[Line]] = {}

    def write(self) -> None:
        random = self.world.random
        lines = [self.world.line(self.partition, self.offset + at) for at in range(random.randint(1, 3))]
        self.offset += len(lines)
        self.world.ends[self.partition] = max(self.offset, self.world.ends[self.partition])
        self.held.append((self.number, lines))
        self.number += 1
        if random.random() < 0.7:
            self.send()

    def send(self) -> None:
        self.world.random.shuffle(self.held)
        for number, lines in self.held:
            self.put(number, number, lines)
        self.held = []

    def put(self, first: int, last: int, lines: list[Line]) -> None:
        self.written[first, last] = lines
        self.world.sink.write_blocks([block(lines, self.run, first, last)])

    def merge(self) -> None:
        """Merge neighbours that were written; the inner ones go a while later."""
        neighbours = [(one, other) for one in self.written for other in self.written if one[1] + 1 == other[0]]
        if neighbours:
            one, other = self.world.random.choice(neighbours)
            merged = sorted([*self.written.pop(one), *self.written.pop(other)], key=lambda line: line.offset)
            self.put(one[0], other[1], merged)
            place = BlockPlace("logs", "0a0b0c0d", self.partition)
            inner = [BlockId(place, self.run, *numbers) for numbers in (one, other)]
            self.world.graves.append((self.world.now_s + GRACE_S, inner))


class World:
    """Two partitions, some workers, and one reader of all."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.now_s = 0.0
        self.sink = open_sink()
        self.graves: list[tuple[float, list[BlockId]]] = []
        self.runs = 0
        self.ends = [0, 0]
        """Of each partition, up to where it was read by anyone."""
        self.writers = [self.writer(partition, 0) for partition in range(2)]

    def writer(self, partition: int, offset: int) -> Writer:
        self.runs += 1
        return Writer(self, partition, self.runs, offset)

    def line(self, partition: int, offset: int) -> Line:
        """Return the line of an offset: the same for all workers, and of any time."""
        return line(offset, partition=partition, time=(offset * 7_919) % 50_000, kafka_time=1_000 * offset)

    def step(self) -> None:
        random = self.random
        self.now_s += random.choice((0.0, 0.6, 1.5))
        for due_s, inner in self.graves:
            if due_s <= self.now_s:
                self.sink.delete_blocks(inner)
        self.graves = [grave for grave in self.graves if grave[0] > self.now_s]
        writer = random.choice(self.writers)
        draw = random.random()
        if draw < 0.6:
            writer.write()
        elif draw < 0.85:
            writer.merge()
        elif draw < 0.95:  # another worker takes over, and reads again what the owner has not committed; that one may not know it yet
            owner = self.owner(writer.partition)
            unsent = [one.offset for _, lines in owner.held for one in lines]
            self.writers.append(self.writer(owner.partition, max(min([owner.offset, *unsent]) - random.randint(0, 4), 0)))
            if random.random() < 0.7:
                owner.send()
                self.writers.remove(owner)

    def owner(self, partition: int) -> Writer:
        """Return the one that may commit: the others have lost the partition."""
        *_, owner = [one for one in self.writers if one.partition == partition]
        return owner

    def everything(self) -> set[tuple[int, int]]:
        for writer in self.writers:
            writer.send()
        for partition in range(2):  # what only those have read that lost the partition is read again
            owner = self.owner(partition)
            while owner.offset < self.ends[partition]:
                owner.write()
            owner.send()
        return {
            (one.place.partition, at)
            for one, stored in self.sink.blocks.items()
            for at in range(stored.first_offset, stored.last_offset + 1)
        }


@given(st.integers(0, 1 << 32))
@settings(max_examples=40, deadline=None)
def test_a_reader_that_keeps_up_sees_every_new_line_once(seed: int) -> None:
    random = Random(seed)  # drawn from the strategy itself, each number takes a hundred times as long
    world = World(random)
    for _ in range(random.randint(0, 25)):
        world.step()
    before = world.everything()
    watch = Watch(world.sink, lambda: world.now_s)
    reader = BlockReader(world.sink, cache_bytes=random.choice([0, 1_000_000]), clock=lambda: world.now_s)
    watch.look()
    end = watch.end
    shown: Counter[tuple[int, int]] = Counter()

    def look() -> None:
        nonlocal end
        watch.look()
        arrivals = watch.since(end)
        assert arrivals.is_all
        found = reader.fresh_lines(arrivals.blocks, watch.has_seen, Selection(), 10_000)
        assert (found.complete, found.dropped) == (True, 0)
        assert [one.kafka_time for one in found.lines] == sorted(one.kafka_time for one in found.lines)
        shown.update((one.partition, one.offset) for one in found.lines)
        end = arrivals.end

    for _ in range(60):
        world.step()
        if random.random() < 0.3:
            look()
    after = world.everything()
    for _ in range(2):
        world.now_s += 1.0
        look()
    assert shown == Counter(after - before)
