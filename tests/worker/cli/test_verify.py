"""`vectail verify` on an index that a real worker wrote to a Milvus Lite folder: each test damages the index, then repairs it."""

import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import typer

from sinks.block import BlockColumns, BlockId, BlockPlace, new_run
from sinks.build import build
from sinks.codec import decode_lines
from sinks.line import Line
from sinks.lines import all_lines, lines_of
from sinks.milvus.client import Client
from sinks.milvus.lite import LocalMilvus
from sinks.milvus.settings import MilvusSettings
from sinks.milvus.sink import MilvusSink
from sinks.row import line_id
from sinks.sink import BlockFilter
from tests.model_fixture import CACHE
from tests.worker.cli.conftest import NewScreen
from tests.worker.cli.console import EndedVerb, in_one_line
from tests.worker.running import World, wait_until
from worker.cli.app import run_app
from worker.cli.options import TYPER_SETTINGS
from worker.cli.verify_commands import verify_app
from worker.cli.verify_screen import show_verified
from worker.connections import vector_space
from worker.embedding.loaded import space_of
from worker.embedding.model.prepared import PreparedModel
from worker.embedding.tokenizer import Tokenizer
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
        ledger = running.service.pipeline.log_ledger
        wait_until(lambda: sum(ledger.committed().values()) == 65, "all to be committed")
        assert running.stop() == 0
        world.send(["not read by any worker"] * 3, partition=2)
        self.config = folder / "vectail.toml"
        kafka = world.kafka
        self.config.write_text(
            f"""
            [kafka]
            bootstrap_servers = "{kafka.bootstrap_servers}"
            topics = {json.dumps(kafka.topics)}
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

    def drop_template(self, template: str) -> None:
        """Remove a template, which the sink itself cannot do."""
        local = LocalMilvus(Path(self.uri))
        client = Client(local.address, token="", db="", timeout_s=30.0, write_timeout_s=60.0, consistency="Strong")
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
            for block, lines in _blocks_of(sink).items():
                changed = [line for line in map(change, lines) if line is not None]
                if changed != lines:
                    if changed:
                        _write(sink, block.place, changed, above=block.run)
                    sink.delete_blocks([block])

    def add(self, *lines: Line, run: str = "") -> None:
        """Write lines of one partition in a block of their own, under the latest run or a given one."""
        with self.sink() as sink:
            _write(sink, BlockPlace(*lines[0][:3]), lines, above=max(one.run for one in _blocks_of(sink)), run=run)

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


def _write(sink: MilvusSink, place: BlockPlace, lines: Sequence[Line], *, above: str, run: str = "") -> None:
    now_ms = round(time.time() * 1000)
    (built,) = build(lines_of(lines), masks="2", written_ms=now_ms)
    sink.write_blocks([built.block._replace(id=BlockId(place, run or new_run(now_ms, 0, above), 0, 0))])


@pytest.fixture(scope="module")
def indexed(prepared_model: PreparedModel, words: Tokenizer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Indexed]:
    world = World(prepared_model, words)
    yield Indexed(world, tmp_path_factory.mktemp("verify"), prepared_model)
    world.close()


@pytest.fixture
def verify(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], indexed: Indexed) -> Verify:
    """Run the verb on the index; takes the words after it."""
    own = typer.Typer(**TYPER_SETTINGS)
    own.callback()(lambda: None)
    own.add_typer(verify_app)

    def run(*words: str) -> EndedVerb:
        monkeypatch.setattr(sys, "argv", ["vectail", "verify", "--config", str(indexed.config), "--look-again", "0.1", *words])
        exit_code = run_app(own)
        out, err = capsys.readouterr()
        return EndedVerb(exit_code, out, err)

    return run


def found(ended: EndedVerb, exit_code: int = 1) -> dict[str, Any]:
    """Return what `--json` printed, with the number of problems of each kind found under `kinds`."""
    assert ended.exit_code == exit_code, ended
    result: dict[str, Any] = json.loads(ended.out)
    assert result["complete"] is (exit_code == 0)
    return result | {"kinds": {kind: number for kind, number in result["problems"].items() if number}}


def places(result: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    return [(one["kind"], one["partition"], one["offset"], one["sub"], one["chunk"]) for one in result["findings"]]


def repaired(verify: Verify, kinds: Mapping[str, int]) -> None:
    """Repair, check that exactly these problems were repaired, and that the next run finds none."""
    repair = found(verify("--repair", "--json"), 0)
    assert repair["kinds"] == kinds
    assert all(one["repaired"] for one in repair["findings"])
    again = found(verify("--json"), 0)
    assert again["kinds"] == {}
    assert again["lines"] == again["sound_lines"]


def test_an_untouched_index_is_complete(verify: Verify, indexed: Indexed) -> None:
    ended = verify("--json")
    result = found(ended, 0)
    assert ended.err == ""
    assert (result["records"], result["lines"], result["sound_lines"]) == (65, len(indexed.by_id), len(indexed.by_id))
    assert (result["dead_letter_pieces"], result["not_committed"], result["findings"]) == (1, 3, [])
    assert [(one["partition"], one["first_offset"], one["end_offset"], one["not_committed"]) for one in result["ranges"]] == [
        (0, 0, 60, 0), (1, 0, 5, 0), (2, 0, 0, 3), (3, 0, 0, 0)
    ]  # fmt: skip


def test_a_person_reads_that_it_is_complete_and_what_is_not_committed(verify: Verify, indexed: Indexed) -> None:
    ended = verify()
    assert (ended.exit_code, ended.err) == (0, "")
    assert f"Complete: 65 records, {len(indexed.by_id)} lines in " in ended.out
    assert "not yet committed: 3" in ended.out
    assert "dead letters instead of lines: 1" in ended.out


def test_lines_that_are_gone_are_found_and_written_again(verify: Verify, indexed: Indexed) -> None:
    indexed.remove(indexed.line(0, 7), indexed.line(1, 1, 2))
    result = found(verify("--json"))
    assert places(result) == [("gap", 0, 7, None, None), ("missing", 1, 1, 2, 0)]
    repaired(verify, {"gap": 1, "missing": 1})
    assert indexed.line(0, 7) in indexed.stored()


def test_a_changed_text_is_found_told_and_written_again(verify: Verify, indexed: Indexed) -> None:
    wrong = indexed.line(0, 3)._replace(text="nothing happened", level="INFO")
    indexed.edit(lambda line: wrong if line.id == wrong.id else line)
    ended = verify()
    assert ended.exit_code == 1
    assert "1 lines that differ from what their record says:" in ended.out
    assert f"{indexed.world.topic}/0@3 entry 0 chunk 0  differs in text, level" in ended.out
    assert "Not complete: 1 problem in 65 records" in ended.out
    assert in_one_line(ended) == "1 problem; --repair repairs what it can"
    repaired(verify, {"changed": 1})


def test_foreign_lines_are_found_and_removed(verify: Verify, indexed: Indexed) -> None:
    indexed.add(indexed.line(0, 3)._replace(sub=9), indexed.line(0, 4)._replace(sub=2))
    assert sorted(places(found(verify("--json")))) == [("foreign", 0, 3, 9, 0), ("foreign", 0, 4, 2, 0)]
    repaired(verify, {"foreign": 2})


def test_copies_are_told_and_are_no_problem(verify: Verify, indexed: Indexed) -> None:
    indexed.add(indexed.line(0, 3), indexed.line(0, 4), run=f"{1:020x}")
    ended = verify("--repair")
    assert ended.exit_code == 0
    assert "stored twice after a crash or a repair, which readers see once: " in ended.out
    assert found(verify("--json"), 0)["copies"] >= 2


def test_a_block_that_does_not_fit_its_lines_is_found_and_written_again(verify: Verify, indexed: Indexed) -> None:
    with indexed.sink() as sink:
        (built,) = build(lines_of([indexed.line(0, 5), indexed.line(0, 6)]), masks="2", written_ms=1)
        run = new_run(round(time.time() * 1000), 0)
        place = BlockPlace(indexed.world.topic, "e1", 0)
        sink.write_blocks([built.block._replace(id=BlockId(place, run, 0, 0), lines=7, places="AAAA")])
    result = found(verify("--json"))
    assert [(one["kind"], one["partition"], one["offset"]) for one in result["findings"]] == [("damaged", 0, 5)]
    assert "cannot be read" in result["findings"][0]["detail"]
    repaired(verify, {"damaged": 1})


def test_lines_of_an_earlier_topic_of_the_name_are_left_alone(verify: Verify, indexed: Indexed) -> None:
    old = indexed.line(0, 3)._replace(epoch="e0", text="long ago")
    indexed.add(old)
    result = found(verify("--repair", "--json"), 0)
    assert (result["kinds"], result["other_epoch_lines"]) == ({}, 1)
    assert old in indexed.stored()
    indexed.remove(old)


def test_a_missing_template_is_found_and_embedded_again(verify: Verify, indexed: Indexed) -> None:
    line = indexed.line(1, 4)
    indexed.drop_template(line.template)
    assert places(found(verify("--json"))) == [("template", 1, 4, 0, 0)]
    repaired(verify, {"template": 1})
    with indexed.sink() as sink:
        assert sink.template_texts([line.template]) == {line.template: line.text}


def test_chunks_of_another_chunk_size_are_found_and_removed(verify: Verify, indexed: Indexed, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as other:
        other.setenv("VECTAIL_MODEL__MAX_TOKENS", "128")
        found(verify("--repair", "--json"), 0)
    kinds = found(verify("--json"))["kinds"]
    chunks = indexed.line(1, 0).chunks
    assert kinds["changed"] == chunks
    assert kinds["left_over"] >= chunks - 1
    assert kinds.keys() == {"changed", "left_over"}
    repaired(verify, kinds)


def test_a_dead_letter_that_is_missing_is_a_gap_and_is_written(verify: Verify, indexed: Indexed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VECTAIL_KAFKA__DEAD_LETTER_TOPIC", f"{indexed.world.kafka.dead_letter_topic}-empty")
    indexed.world._producer.partition_count(f"{indexed.world.kafka.dead_letter_topic}-empty", timeout_s=30)  # noqa: SLF001 - makes it
    result = found(verify("--json"))
    assert places(result) == [("gap", 1, 2, None, None)]
    assert result["findings"][0]["detail"] == "no dead letter (undecodable: not valid UTF-8)"
    repaired(verify, {"gap": 1})


@pytest.mark.parametrize(("given", "records"), [
    (("--from", "10"), 50), (("--from", "10", "--to", "20"), 10), (("--to", "latest"), 65), (("--to", "3"), 6),
    (("--from", "latest"), 0), (("--to", "earliest"), 0),
])  # fmt: skip
def test_a_part_is_verified_and_never_more_than_is_committed(verify: Verify, given: tuple[str, ...], records: int) -> None:
    assert found(verify(*given, "--json"), 0)["records"] == records


def test_damage_outside_of_the_part_is_not_seen(verify: Verify, indexed: Indexed) -> None:
    indexed.remove(indexed.line(0, 20))
    for words in (("--to", "20"), ("--from", "21")):
        assert found(verify(*words, "--repair", "--json"), 0)["kinds"] == {}
    repaired(verify, {"gap": 1})


def test_an_index_is_its_groups_and_a_group_that_has_committed_nothing_owes_nothing(
    verify: Verify, indexed: Indexed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VECTAIL_KAFKA__GROUP", "another")
    ended = verify()
    assert ended.exit_code == 2
    assert "consumer group" in in_one_line(ended)
    with indexed.sink("others", "another"):
        pass
    monkeypatch.setenv("VECTAIL_MILVUS__COLLECTION", "others")
    ended = verify()
    assert ended.exit_code == 0
    assert "Nothing to verify" in ended.out
    assert "not yet committed: 68" in ended.out
    assert found(verify("--to", "latest", "--json"))["kinds"] == {"gap": 66}, "asked for by name, all of it is"


def test_a_folder_that_a_worker_holds_is_one_line(verify: Verify, indexed: Indexed) -> None:
    with indexed.sink():
        ended = verify()
    assert ended.exit_code == 2
    assert indexed.uri in in_one_line(ended)


@pytest.mark.parametrize(("name", "value", "exit_code", "line"), [
    ("VECTAIL_MILVUS__URI", "./no-index-here", 2, "no-index-here"),
    ("VECTAIL_KAFKA__BOOTSTRAP_SERVERS", "127.0.0.1:9", 1, "kafka at 127.0.0.1:9"),  # of the discard protocol: nobody listens
    ("VECTAIL_MODEL__DIMS", "128", 2, "dim"),
])  # fmt: skip
def test_what_is_wrong_outside_is_one_line(
    verify: Verify, monkeypatch: pytest.MonkeyPatch, name: str, value: str, exit_code: int, line: str
) -> None:
    monkeypatch.setenv(name, value)
    ended = verify("--patience", "1")
    assert ended.exit_code == exit_code
    assert line in in_one_line(ended)


@pytest.mark.parametrize("given", [("--from", "yesterday"), ("--to", "all"), ("--from", "-1x")])
def test_a_place_that_is_none_is_refused(verify: Verify, given: tuple[str, ...]) -> None:
    ended = verify(*given)
    assert ended.exit_code == 2
    assert "give earliest, latest" in in_one_line(ended)


def test_of_many_problems_the_first_are_shown(new_screen: NewScreen) -> None:
    screen, written = new_screen(100)
    finding = {"kind": "gap", "topic": "logs", "partition": 0, "sub": None, "chunk": None, "id": "", "detail": "its row\x1b[2J is missing"}
    kinds = ("gap", "missing", "changed", "template", "left_over", "foreign", "damaged")
    show_verified(screen, {
        "complete": False, "records": 1_000, "lines": 0, "seconds": 1.0, "not_committed": 0, "dead_letter_pieces": 0, "expired_lines": 4,
        "other_epoch_lines": 0, "other_masks_lines": 0, "compacted_lines": 2, "copies": 0, "ranges": [],
        "problems": dict.fromkeys(kinds, 0) | {"gap": 1_000}, "left": dict.fromkeys(kinds, 0) | {"gap": 400},
        "findings": [finding | {"offset": offset, "number": 1, "repaired": False} for offset in range(900)],
    })  # fmt: skip
    lines = written.getvalue().splitlines()
    assert lines[0] == "1,000 records that are neither in the index nor among the dead letters, 400 not repaired:"
    assert lines[1] == r"  logs/0@0  its row\x1b[2J is missing"
    assert len(lines) == 1 + 10 + 1 + 1 + 2
    assert lines[11].startswith("  … and 990 more")
    assert lines[12] == "Not complete: 400 problems in 1,000 records, 0 lines in 1.0 s."
