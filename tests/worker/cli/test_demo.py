"""`vectail demo --json`: the real program on a file of difficult lines, then the index on disk; and the folder of `--data`.

The first run gets the file twice; the second run gets it once more, on the same data.
"""

import json
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from producers.log_feed import EXAMPLE_QUERIES
from tests.faults.index import Index, read_index
from tests.worker.cli.conftest import NewScreen
from tests.worker.cli.console import vectail
from worker.cli.demo import demo, next_run_epoch
from worker.cli.exits import CommandFailed
from worker.cli.verb_options import DemoOptions

PLAIN = [b"2024-05-01 10:00:%02d INFO request %d of user-%d was served in %d ms" % (n % 60, n, n % 7, n * 7 % 90) for n in range(200)]
JSON = [b'{"level": "ERROR", "service": "payments", "message": "card %d was declined by the bank"}' % n for n in range(20)]
WORDS = b" ".join(b"word%s then something else happens to thing %s," % (bytes([97 + n % 26]), bytes([97 + n // 26])) for n in range(200))
DIFFICULT = [
    b"a neighbour before",
    b"not UTF-8: \xff\xfe \x80 \xc3",
    b"a neighbour between",
    b"nul \x00 bytes \x00\x00 inside",
    b"=" * 255,
    b"x" * 60_000,
    WORDS,
    "snow ☃ and 日本語 and 🙂".encode(),
    b"  spaces at both ends  ",
    b"a neighbour after",
]
EMPTY = [b"", b""]
TOO_LARGE = b"y" * 10_000_000
SENT = [*PLAIN, *DIFFICULT, *EMPTY, *JSON]
"""One record each; the line that is too large comes before the last of them, and becomes none."""
QUERIES = ("payment was refused", "snow")
FIELDS = [
    "records", "lines", "blocks", "templates", "dead_letters", "dropped", "chunks", "tokens_embedded", "tokens_saved", "cache_hits",
    "topics", "engine", "space", "committed", "seconds", "suggestions", "queries",
]  # fmt: skip
HIT_FIELDS = [
    "score", "similarity", "text", "template", "template_text", "id", "topic", "partition", "offset", "sub", "chunk", "chunks", "time",
    "kafka_time", "service", "level", "family", "family_templates", "family_lines", "family_first", "family_last",
]  # fmt: skip


class Runs(NamedTuple):
    """What two runs on the same data printed, and the index that they left."""

    first: dict[str, Any]
    second: dict[str, Any]
    found: Index


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    folder = tmp_path_factory.mktemp("demo")
    file, data = folder / "app.log", folder / "data"
    file.write_bytes(b"\n".join([*SENT[:-1], TOO_LARGE, SENT[-1]]) + b"\n")
    asked = [word for text in QUERIES for word in ("--query", text)]
    first = vectail("demo", str(file), str(file), "--data", str(data), "--json", "-k", "3", *asked)
    assert (first.exit_code, first.err) == (0, "")
    second = vectail("demo", str(file), "--data", str(data), "--json", "--query", "snow")
    assert (second.exit_code, second.err) == (0, "")
    ends = dict.fromkeys(range(4), len(SENT))
    return Runs(json.loads(first.out), json.loads(second.out), read_index(data / "index.db", "vectail", ends, folder / "copy"))


def texts_of(index: Index, run: str) -> dict[int, str]:
    """Return the lines of a run by the number of their record, each joined from its chunks."""
    texts: dict[int, str] = {}
    for line in sorted((line for line in index.lines if line.id.startswith(f"logs@{run}/")), key=lambda line: line.chunk):
        number = line.offset * 4 + line.partition
        texts[number] = texts.get(number, "") + line.text
    return texts


def expected(value: bytes) -> str:
    return json.loads(value)["message"] if value.startswith(b"{") else value.decode("utf-8", "replace")


def test_standard_output_is_one_object_with_the_promised_fields(runs: Runs) -> None:
    assert list(runs.first) == FIELDS
    wanted = {"text", "complete", "mode", "seconds", "hits", "counted", "behind_records", "indexed_until_ms"}
    assert [query.keys() - {"nothing_close"} for query in runs.first["queries"]] == [wanted] * 2
    hits = [hit for query in runs.first["queries"] for hit in query["hits"]]
    assert {tuple(name for name in hit if name != "alike") for hit in hits} == {tuple(HIT_FIELDS)}


def test_records_are_lines_and_each_has_its_fate(runs: Runs) -> None:
    first = runs.first

    assert first["records"] == 2 * (len(SENT) + 1)
    assert first["dead_letters"] == 2
    assert first["dropped"] == 2 * len(EMPTY)
    assert sum(first["committed"].values()) == 2 * len(SENT)
    assert sorted(first["committed"]) == ["logs/0", "logs/1", "logs/2", "logs/3"]


def test_each_line_is_in_the_index_byte_for_byte_and_no_neighbour_is_lost(runs: Runs) -> None:
    wanted = {number: expected(value) for number, value in enumerate(SENT * 2) if value}

    assert texts_of(runs.found, "run1") == wanted


def test_long_lines_are_several_chunks_and_no_chunk_comes_twice(runs: Runs) -> None:
    lines = [line for line in runs.found.lines if line.id.startswith("logs@run1/")]
    by_record: dict[int, list[int]] = {}
    for line in lines:
        by_record.setdefault(line.offset * 4 + line.partition, []).append(line.chunk)

    assert len({(line.topic, line.partition, line.offset, line.sub, line.chunk) for line in lines}) == len(lines) == runs.first["chunks"]
    assert len(by_record) == sum(line.chunk == 0 for line in lines) == runs.first["lines"]
    assert 0 < runs.first["blocks"] < len(lines)
    assert len(by_record[SENT.index(WORDS)]) > 1
    for number, chunks in by_record.items():
        assert sorted(chunks) == list(range(len(chunks))), number


def test_the_same_file_again_is_the_same_lines_again_and_nothing_new_to_embed(runs: Runs) -> None:
    assert runs.second["lines"] * 2 == runs.first["lines"] * 3
    assert runs.second["templates"] == runs.first["templates"] == len(runs.found.templates)
    assert runs.first["tokens_saved"] > runs.first["tokens_embedded"] > 0
    assert runs.second["tokens_embedded"] <= runs.first["tokens_embedded"] * 0.01
    assert runs.second["cache_hits"] == runs.second["chunks"]
    assert texts_of(runs.found, "run2") == {number: expected(value) for number, value in enumerate(SENT) if value}


def test_the_answers_are_what_was_asked_for(runs: Runs) -> None:
    payment, snow = runs.first["queries"]

    assert [query["text"] for query in (payment, snow)] == list(QUERIES)
    assert payment["complete"]
    assert len(payment["hits"]) == len({hit["template"] for hit in payment["hits"]}) == 3
    best = payment["hits"][0]
    assert best["text"].startswith("card ")
    assert (best["service"], best["level"]) == ("payments", "ERROR")
    assert snow["hits"][0]["text"] == "snow ☃ and 日本語 and 🙂"
    assert 0 < best["score"] <= 1


def test_without_files_a_made_up_stream_is_searched_and_shown_and_nothing_is_left(
    tmp_path: Path, new_screen: NewScreen, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    screen, written = new_screen(80)

    result: dict[str, Any] = demo(DemoOptions(k=2, synthetic_lines=1_000), screen)

    told = written.getvalue()
    assert (result["records"], result["lines"]) == (1_000, 1_000)
    assert f"No --data given: the index lives in {tmp_path}/vectail-demo-" in told
    assert "1,000 lines in " in told
    assert "In the index: 1,000 lines of " in told
    assert [query["text"] for query in result["queries"]] == list(EXAMPLE_QUERIES)
    assert told.count(" fit ") == len(EXAMPLE_QUERIES)
    assert list(tmp_path.iterdir()) == []


def test_every_run_in_a_folder_has_an_epoch_of_its_own(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "index"

    assert [next_run_epoch(folder) for _ in range(3)] == ["run1", "run2", "run3"]


def test_a_folder_with_other_things_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "letters.txt").write_text("dear …")

    with pytest.raises(CommandFailed, match="holds other things already"):
        next_run_epoch(tmp_path)

    assert [file.name for file in tmp_path.iterdir()] == ["letters.txt"]


def test_a_count_that_is_none_is_refused_and_kept(tmp_path: Path) -> None:
    (tmp_path / "runs").write_bytes(b"\xff")

    with pytest.raises(CommandFailed, match="does not hold a number"):
        next_run_epoch(tmp_path)

    assert (tmp_path / "runs").read_bytes() == b"\xff"


def test_a_count_that_a_killed_run_left_half_written_does_no_harm(tmp_path: Path) -> None:
    next_run_epoch(tmp_path)
    (tmp_path / "runs.partial").write_text("")

    assert next_run_epoch(tmp_path) == "run2"
