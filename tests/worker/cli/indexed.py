"""An index that a real worker wrote to a Milvus Lite folder, for a test to damage, and `vectail verify` to run on it."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from sinks.block import BlockColumns, BlockId, new_run
from sinks.codec import decode_lines
from sinks.index_spaces import StoredSpace, VectorSpace
from sinks.line import Line
from sinks.lines import all_lines
from sinks.milvus.lite import LocalMilvus
from sinks.milvus.milvus_client import MilvusAddress, MilvusConnection
from sinks.milvus.milvus_settings import MilvusSettings
from sinks.milvus.milvus_sink import MilvusSink
from sinks.row import TemplateId, TemplateRow, TemplateText, line_id
from sinks.sink import BlockFilter
from tests.log_topics import topic_line
from tests.model_fixture import CACHE
from tests.worker.cli.console import EndedVerb
from tests.worker.running import World, wait_until
from tests.world import block
from worker.connections import vector_space
from worker.embedding.loaded import space_of
from worker.embedding.model.prepared import PreparedModel
from worker.embedding.tokenizer import Tokenizer
from worker.service.shutdown import Ending
from worker.settings.tables import DecodeTable, EngineTable, ModelTable

LONG = " ".join(f"word{n} is not at all like it." for n in range(200))
ENTRIES = '[{"message": "one"}, {"message": "two"}, {"message": "three"}]'
LINES = [f"disk {n} is full" if n % 2 else f"login of {n} failed" for n in range(60)]
"""In partition 0; in partition 1 are a long line, an array, a record that is not UTF-8, an empty one and `printer on fire`."""
Verify = Callable[..., EndedVerb]


class Indexed:
    """The index and broker of a worker that has ended: the broker still runs, the folder is unlocked."""

    def __init__(self, world: World, folder: Path, model: PreparedModel) -> None:
        self.world = world
        self.uri = str(folder / "milvus")
        self.settings = world.settings(
            milvus=MilvusSettings(uri=self.uri),
            model=ModelTable(cache=CACHE),
            engine=EngineTable(name="llama"),
            decode=DecodeTable(errors="strict"),
        )
        self._space = vector_space(space_of(model))
        world.send(LINES)
        world.send([LONG, ENTRIES, b"\xff", b"", "printer on fire"], partition=1)
        world.sink = MilvusSink(self.settings.milvus, self._space, consumer_group=world.kafka.group)
        running = world.start(self.settings)
        ledger = running.service.pipeline.indexing.ledger
        wait_until(lambda: sum(ledger.committed().values()) == 65, "all to be committed")
        assert running.stop() is Ending.DRAINED
        world.send(["not read by any worker"] * 3, partition=2)
        self.config = folder / "vectail.toml"
        kafka = world.kafka
        self.config.write_text(
            f"""
            {topic_line(world.topic)}
            [kafka]
            bootstrap_servers = "{kafka.bootstrap_servers}"
            group = "{kafka.group}"
            dead_letter_topic = "{kafka.dead_letter_topic}"
            topic_epoch = "e1"
            [milvus]
            uri = "{self.uri}"
            [decode]
            errors = "strict"
            """
        )
        self.by_id = {line.id: line for line in self.stored()}

    @contextmanager
    def sink(self, collection: str = "vectail", group: str = "") -> Iterator[MilvusSink]:
        """Yield the index for the test to damage."""
        milvus = self.settings.milvus.model_copy(update={"collection": collection})
        sink = MilvusSink(milvus, self._space, consumer_group=group or self.world.kafka.group)
        sink.open()
        try:
            yield sink
        finally:
            sink.close()

    @contextmanager
    def second_view(
        self, space: VectorSpace, model: str, rows: Callable[[Sequence[tuple[TemplateId, TemplateText]]], list[TemplateRow]]
    ) -> Iterator[None]:
        """Give the index a second view, which was asked before, of what `rows` makes of all templates; it is gone afterwards."""
        with self.sink() as sink:
            alone = sink.spaces()
            sink.open_view(space, create=True).upsert(rows(sink.templates.all_above("", 1_000)))
            old = StoredSpace(dim=space.dim, model=model, state="old", since_ms=0)
            assert sink.change_spaces(alone, alone.with_view(space.id, old))
        yield
        with self.sink() as sink:
            sink.drop_view(space.id)
            assert sink.change_spaces(sink.spaces(), alone)

    def drop_template(self, template: str) -> None:
        """Remove a template, which the sink itself cannot do."""
        local = LocalMilvus(Path(self.uri))
        client = MilvusConnection(MilvusAddress(local.address), timeout_s=30.0, write_timeout_s=60.0, consistency="Strong")
        name = f"vectail_templates_{self._space.id[:8]}"
        client.load(name)
        client.delete(name, f'template == "{template}"')
        client.close()
        local.close()

    def stored(self) -> list[Line]:
        """Return the lines of all blocks."""
        with self.sink() as sink:
            return [line for lines in _blocks_of(sink).values() for line in lines]

    def edit(self, change: Callable[[Line], Line | None]) -> None:
        """Damage the stored lines: `change` returns what stands in the place of each; None: nothing."""
        with self.sink() as sink:
            for one, lines in _blocks_of(sink).items():
                changed = [line for line in map(change, lines) if line is not None]
                if changed != lines:
                    if changed:
                        _write(sink, changed, above=one.run)
                    sink.delete_blocks([one])

    def remove(self, *lines: Line) -> None:
        gone = {line.id for line in lines}
        self.edit(lambda line: None if line.id in gone else line)

    def line(self, partition: int, offset: int, sub: int = 0, chunk: int = 0) -> Line:
        return self.by_id[line_id(self.world.topic, "e1", partition, offset, sub, chunk)]


def _blocks_of(sink: MilvusSink) -> dict[BlockId, list[Line]]:
    heads = sink.find_blocks(BlockFilter(), strong=True).heads
    found: dict[BlockId, BlockColumns] = sink.read_columns(heads.ids, ("places", "texts", "fields"), strong=True)
    outer = [one for one in found if not any(one.is_inside(other) for other in found)]
    return {one: all_lines(one.place, decode_lines(found[one])) for one in outer}


def _write(sink: MilvusSink, lines: Sequence[Line], *, above: str) -> None:
    sink.write_blocks([block(lines, new_run(round(time.time() * 1000), 0, above), masks="2")])


@pytest.fixture(scope="module")
def indexed(prepared_model: PreparedModel, words: Tokenizer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Indexed]:
    world = World(prepared_model, words)
    yield Indexed(world, tmp_path_factory.mktemp("verify"), prepared_model)
    world.close()


@pytest.fixture
def verify(run_here: Verify, indexed: Indexed) -> Verify:
    """Run the verb on the index; takes the words after it."""
    return lambda *words: run_here("verify", "--config", str(indexed.config), "--look-again", "0.1", *words)
