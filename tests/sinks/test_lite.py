"""A local Milvus folder: what is wrong with it is said in one line, and what a killed process left behind is repaired."""

import subprocess
from pathlib import Path

import pytest

from sinks.milvus.lite import local_folder
from sinks.milvus.sink import MilvusSettings, MilvusSink
from sinks.sink import LineFilter, SinkMismatch
from tests.sinks.conftest import StartWriter
from tests.sinks.rows import DIGEST, SPACE, line, nearest, newest, offsets, template, unit
from tests.sinks.settings import strong_sink


def acknowledged(writer: "subprocess.Popen[str]", at_least: int) -> int:
    """Wait until the writer has said that so many lines are stored."""
    assert writer.stdout is not None
    for said in writer.stdout:
        if said.strip() != "open" and int(said) >= at_least:
            return int(said)
    pytest.fail("the writer ended early")


def one_line(error: pytest.ExceptionInfo[SinkMismatch]) -> str:
    """Return the message, which must be one line."""
    assert "\n" not in str(error.value)
    return str(error.value)


@pytest.mark.process
@pytest.mark.parametrize("at_least", [500, 4_500, 11_000])
def test_all_acknowledged_lines_are_there_after_kill_9(folder: Path, sink: MilvusSink, start_writer: StartWriter, at_least: int) -> None:
    writer = start_writer(folder, 0)
    stored = acknowledged(writer, at_least)
    writer.kill()
    assert writer.stdout is not None
    stored = max([stored, *(int(said) for said in writer.stdout)])  # acknowledged between our reading and its end
    writer.wait()
    sink.open()
    assert sink.counts().lines >= stored
    assert offsets(newest(sink, DIGEST, 3, LineFilter(until_ms=1_000 * stored))) == [stored - 1, stored - 2, stored - 3]


@pytest.mark.process
def test_a_failed_write_is_the_last_and_nothing_acknowledged_is_lost(folder: Path, sink: MilvusSink, start_writer: StartWriter) -> None:
    writer = start_writer(folder, 600_000)
    said, _ = writer.communicate(timeout=120)
    words = said.split()
    stored = max(int(word) for word in words if word.isdigit())
    assert stored > 0
    assert words[-5:] == ["broken", "broken", "broken", "broken", "closed"]
    assert writer.returncode == 0
    assert list(folder.rglob("wal_data_*.arrow"))  # nothing was tidied up after the failure
    sink.open()
    assert sink.counts().lines >= stored
    assert offsets(newest(sink, DIGEST, 1, LineFilter(until_ms=1_000 * stored))) == [stored - 1]


def test_half_written_index_files_are_repaired_at_open(folder: Path, sink: MilvusSink) -> None:
    sink.open()
    sink.upsert_templates([template("a", unit(1.0)), template("b", unit(0.0, 1.0))])
    sink.upsert_lines([line(1), line(2)])
    sink.close()
    sink.open()  # builds the indexes of what `close` wrote out
    sink.close()
    indexes = list(folder.rglob("*.idx"))
    assert len(indexes) == 2
    for path in indexes:
        path.write_bytes(path.read_bytes()[:100])
    indexes[0].with_suffix(".sidx").write_bytes(b"half")
    sink.open()
    assert sink.repaired_files == 3
    assert offsets(newest(sink, DIGEST, 5, LineFilter())) == [2, 1]
    assert [hit.digest for hit in nearest(sink, unit(1.0), 2)] == ["a", "b"]


def test_a_collection_whose_creation_was_cut_short_is_created_again(folder: Path, sink: MilvusSink) -> None:
    (folder / "collections" / "vectail").mkdir(parents=True)
    (folder / "collections" / "vectail_templates").mkdir()
    (folder / "collections" / "vectail_templates" / "schema.json.tmp").write_text("{")
    sink.open()
    sink.upsert_lines([line(1)])
    assert sink.counts().lines == 1


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


def test_a_closed_folder_can_be_opened_again(settings: MilvusSettings, sink: MilvusSink) -> None:
    sink.open()
    sink.upsert_lines([line(1)])
    sink.close()
    other = strong_sink(settings)
    other.open()
    assert other.counts().lines == 1
    other.close()


def test_the_database_file_of_milvus_lite_2_is_refused(folder: Path, sink: MilvusSink) -> None:
    folder.write_bytes(b"SQLite format 3\x00")
    with pytest.raises(SinkMismatch) as error:
        sink.open()
    assert one_line(error).startswith(f"Milvus folder {folder} is a file")
    assert folder.read_bytes() == b"SQLite format 3\x00"


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    sink = MilvusSink(MilvusSettings(uri=str(tmp_path / "file" / "milvus")), SPACE)
    with pytest.raises(SinkMismatch) as error:
        sink.open()
    assert one_line(error) == f"Milvus folder {tmp_path / 'file' / 'milvus'} cannot be written: Not a directory"


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
