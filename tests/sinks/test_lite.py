"""A local Milvus folder: what is wrong with it is said in one line, and what a killed process left behind is repaired."""

import os
import signal
import stat
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from sinks.milvus.lite import LocalMilvus, local_folder
from sinks.milvus.milvus_sink import MilvusSettings, MilvusSink
from sinks.sink import BlockFilter, SinkBroken, SinkBusy, SinkMismatch
from tests.services.processes import stopped
from tests.sinks.conftest import ROOT, StartWriter
from tests.sinks.lite_folder import Opened
from tests.sinks.local_writer import DELETED_EVERY, numbered
from tests.sinks.settings import strong_sink, with_settings
from tests.worker.running import wait_until
from tests.world import SPACE, block, blocks, line, nearest, template, unit


def acknowledged(writer: "subprocess.Popen[str]", at_least: int) -> list[int]:
    """Wait until the writer has said that this many blocks are stored; returns the numbers that it said."""
    assert writer.stdout is not None
    heard = []
    for said in writer.stdout:
        if said.strip() != "open":
            heard.append(int(said))
            if heard[-1] >= at_least:
                return heard
    pytest.fail("the writer ended early")


def stored_numbers(sink: MilvusSink) -> set[int]:
    """Return the numbers of the blocks that are found; all of them can be read, and are what was written."""
    ids = sink.find_blocks(BlockFilter()).heads.ids
    columns = sink.read_columns(ids, ["places", "texts"])
    assert columns.keys() == set(ids)
    assert all(columns[one].texts == numbered(one.first).texts for one in ids)
    return {one.first for one in ids}


def children_of(pid: int) -> list[int]:
    """Return the processes that a process has started and that have not ended."""
    return [int(one) for tasks in Path(f"/proc/{pid}/task").glob("*/children") for one in tasks.read_text().split()]


def is_served(sink: MilvusSink) -> bool:
    """Say whether the sink takes its folder for open."""
    try:
        sink.ping()
    except SinkBroken:
        return False
    except SinkBusy:
        return True  # its process does not answer, and has not ended yet
    return True


def answers(sink: MilvusSink) -> bool:
    """Say whether a ping is answered; on a busy machine one may not be."""
    try:
        sink.ping()
    except SinkBusy:
        return False
    return True


def one_line(error: pytest.ExceptionInfo[SinkMismatch]) -> str:
    assert "\n" not in str(error.value)
    return str(error.value)


@pytest.mark.process
@pytest.mark.parametrize("at_least", [20, 100, 450])
def test_what_was_acknowledged_is_there_after_kill_9(folder: Path, sink: MilvusSink, start_writer: StartWriter, at_least: int) -> None:
    writer = start_writer(folder, 0)
    heard = acknowledged(writer, at_least)
    writer.kill()
    assert writer.stdout is not None
    heard += [int(said) for said in writer.stdout]  # acknowledged between our reading and its end
    writer.wait()
    deletes = [-said for said in heard if said < 0]
    stored, begun, done = max(heard), max(deletes, default=0), max((one for one in deletes if -one != heard[-1]), default=0)
    sink.open()
    found = stored_numbers(sink)
    kept = {number for number in range(stored) if number >= begun or number % DELETED_EVERY == DELETED_EVERY - 1}
    assert kept <= found
    assert {number for number in found if number < done} <= kept
    sink.close()
    heads, filters, columns = Opened(folder).slots()
    assert len(found) <= heads <= columns <= filters <= heads + 4  # one call's blocks were on their way; slots are used again
    assert heads < stored or stored < 2 * DELETED_EVERY


@pytest.mark.process
def test_a_failed_write_is_the_last_and_nothing_acknowledged_is_lost(folder: Path, sink: MilvusSink, start_writer: StartWriter) -> None:
    writer = start_writer(folder, 1_600_000)
    said, _ = writer.communicate(timeout=120)
    words = said.split()
    stored = max(int(word) for word in words if word.isdigit())
    assert 0 < stored < DELETED_EVERY
    assert words[-5:] == ["broken", "broken", "broken", "broken", "closed"]
    assert writer.returncode == 0
    assert list(folder.rglob("wal_data_*.arrow"))  # nothing was tidied up after the failure
    sink.open()
    assert stored_numbers(sink) >= set(range(stored))


@pytest.mark.process
def test_half_written_index_files_are_repaired_at_open(folder: Path, sink: MilvusSink) -> None:
    sink.open()
    rows = [template("a", unit(1.0)), template("b", unit(0.0, 1.0))]
    sink.templates.upsert(rows)
    sink.write_blocks(blocks([line(1), line(2)], 1))
    sink.close()
    sink.open()  # builds the indexes of what `close` wrote out
    sink.close()
    indexes = list(folder.rglob("*.idx"))
    assert len(indexes) == 1  # blocks have none
    for path in indexes:
        path.write_bytes(path.read_bytes()[:100])
    indexes[0].with_suffix(".sidx").write_bytes(b"half")
    sink.open()
    assert sink.repaired_files == 2
    assert sink.counts().blocks == 2
    assert [hit.template for hit in nearest(sink, unit(1.0), 2)] == [row.template for row in rows]


@pytest.mark.process
def test_a_collection_whose_creation_was_cut_short_is_created_again(folder: Path, sink: MilvusSink) -> None:
    (folder / "collections" / "vectail").mkdir(parents=True)
    (folder / "collections" / "vectail_columns").mkdir()
    (folder / "collections" / "vectail_columns" / "schema.json.tmp").write_text("{")
    sink.open()
    sink.write_blocks([block([line(1)])])
    assert sink.counts().blocks == 1


@pytest.mark.process
def test_a_folder_of_another_process_is_refused(folder: Path, sink: MilvusSink, start_writer: StartWriter) -> None:
    writer = start_writer(folder, 0)
    acknowledged(writer, 1)
    with pytest.raises(SinkMismatch) as error:
        sink.open()
    assert one_line(error) == f"Milvus folder {folder} is in use by another process"
    writer.kill()
    writer.wait()
    sink.open()


@pytest.mark.process
def test_a_new_folder_is_for_its_owner_only(folder: Path, sink: MilvusSink) -> None:
    sink.open()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


@pytest.mark.process
def test_the_process_that_serves_a_folder_does_without_pandas_and_a_client(sink: MilvusSink) -> None:
    """They would be half of its start, and 45 MB."""
    sink.open()
    sink.templates.upsert([template("disk full")])
    mapped = Path(f"/proc/{sink.local_pid}/maps").read_text()
    assert "/pyarrow/" in mapped
    assert "/pandas/" not in mapped


@pytest.mark.process
def test_the_process_that_serves_a_folder_ends_with_the_one_that_opened_it(
    folder: Path, sink: MilvusSink, start_writer: StartWriter
) -> None:
    writer = start_writer(folder, 0)
    acknowledged(writer, 1)
    (server,) = children_of(writer.pid)
    for harmless in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        os.kill(server, harmless)  # the worker is told, too, and still writes
    acknowledged(writer, 1)
    writer.kill()
    writer.wait()
    try:
        wait_until(lambda: not Path(f"/proc/{server}").exists(), "the server's end")
    finally:
        with suppress(ProcessLookupError):
            os.kill(server, signal.SIGKILL)
    sink.open()
    assert sink.local_pid is not None
    assert not children_of(sink.local_pid)


FORKS = """
import os, sys, time
from pathlib import Path
from sinks.milvus.lite import LocalMilvus
served = LocalMilvus(Path(sys.argv[1]))
forked = os.fork()
if forked:
    print(served.pid, forked, flush=True)
    os._exit(0)
time.sleep(600)
"""
"""Dies while a process that it forked still holds what it held."""


@pytest.mark.process
def test_the_process_that_serves_a_folder_ends_though_a_forked_one_lives(folder: Path, sink: MilvusSink) -> None:
    with subprocess.Popen([sys.executable, "-c", FORKS, str(folder)], cwd=ROOT, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        server, forked = map(int, program.stdout.readline().split())
        try:
            wait_until(lambda: not Path(f"/proc/{server}").exists(), "the server's end")
            sink.open()
        finally:
            for pid in (server, forked):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)


@pytest.mark.process
def test_a_folder_can_be_closed_twice_and_after_it_was_abandoned(folder: Path) -> None:
    for end in (LocalMilvus.close, LocalMilvus.abandon):
        served = LocalMilvus(folder)
        seen = [served.has_ended]
        end(served)
        seen.append(served.has_ended)
        served.close()
        served.abandon()
        assert seen == [False, True]


@pytest.mark.process
def test_a_folder_whose_process_was_killed_breaks_the_sink_and_the_next_start_finds_all(settings: MilvusSettings, sink: MilvusSink) -> None:
    sink.open()
    sink.write_blocks([block([line(1)])])
    assert sink.local_pid is not None
    os.kill(sink.local_pid, signal.SIGKILL)
    wait_until(lambda: not is_served(sink), "its end")
    for call in (sink.counts, lambda: sink.find_blocks(BlockFilter()), lambda: sink.write_blocks([block([line(2)], first=2)])):
        with pytest.raises(SinkBroken, match="has ended; nothing more is written to this folder"):
            call()
    sink.close()
    other = strong_sink(settings)
    other.open()
    assert other.counts().blocks == 1
    other.close()


@pytest.mark.process
@pytest.mark.timeout(50)
def test_a_folder_whose_process_hangs_does_not_answer_a_ping_until_it_goes_on(settings: MilvusSettings) -> None:
    sink = strong_sink(with_settings(settings, timeout_s=600))
    sink.open()
    wait_until(lambda: answers(sink), "a first answer")
    sink.write_blocks([block([line(1)])])
    assert sink.local_pid is not None
    with stopped(sink.local_pid), pytest.raises(SinkBusy, match="Milvus query failed"):
        sink.ping()
    wait_until(lambda: answers(sink), "an answer")
    sink.write_blocks([block([line(2)], first=2)])
    assert sink.counts().blocks == 2
    sink.close()


@pytest.mark.process
@pytest.mark.timeout(50)
def test_a_ping_waits_for_no_write_and_for_no_flush(sink: MilvusSink) -> None:
    sink.open()
    turns = sink._lent._turns  # noqa: SLF001 (of the folder)
    with turns.write(), turns.flush():
        wait_until(lambda: answers(sink), "an answer")


@pytest.mark.process
def test_a_folder_answers_no_ping_before_it_is_open_and_after_it_is_closed(sink: MilvusSink) -> None:
    for _ in range(2):
        with pytest.raises(SinkBusy, match="is not open"):
            sink.ping()
        sink.open()
        wait_until(lambda: answers(sink), "an answer")
        sink.close()


def test_the_database_file_of_milvus_lite_2_is_refused(folder: Path, sink: MilvusSink) -> None:
    folder.write_bytes(b"SQLite format 3\x00")
    with pytest.raises(SinkMismatch) as error:
        sink.open()
    assert one_line(error).startswith(f"Milvus folder {folder} is a file")
    assert folder.read_bytes() == b"SQLite format 3\x00"


@pytest.mark.process
def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    sink = MilvusSink(MilvusSettings(uri=str(tmp_path / "file" / "milvus")), SPACE)
    with pytest.raises(SinkMismatch) as error:
        sink.open()
    assert one_line(error) == f"Milvus folder {tmp_path / 'file' / 'milvus'} cannot be written: Not a directory"


@pytest.mark.process
def test_a_folder_that_cannot_be_read_is_refused_and_let_go(folder: Path, settings: MilvusSettings, sink: MilvusSink) -> None:
    sink.open()
    sink.close()
    schema = folder / "collections" / "vectail" / "schema.json"
    good = schema.read_text()
    schema.write_text("{")
    with pytest.raises(SinkMismatch) as error:
        sink.open()
    assert one_line(error).startswith(f"Milvus folder {folder} cannot be used: ")
    schema.write_text(good)
    other = strong_sink(settings)
    other.open()
    other.close()


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("http://127.0.0.1:19530", None),
        ("https://milvus.example", None),
        ("unix:/run/milvus.sock", None),
        ("/var/lib/vectail", Path("/var/lib/vectail")),
        ("file:///var/lib/vectail", Path("/var/lib/vectail")),
        ("data/milvus.db", Path("data/milvus.db").absolute()),
    ],
)
def test_what_has_no_scheme_is_a_folder(uri: str, path: Path | None) -> None:
    assert local_folder(uri) == path


@pytest.mark.parametrize("uri", ["localhost:19530", "milvus.example:443", ""])
def test_an_address_without_a_scheme_is_refused(uri: str) -> None:
    with pytest.raises(SinkMismatch, match="http://"):
        local_folder(uri)
