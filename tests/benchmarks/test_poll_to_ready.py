"""`python -m benchmarks.poll_to_ready` reads real topics to their end, and its figures are what the processes printed."""

import json
from pathlib import Path
from typing import Any

import orjson
import pytest

from benchmarks.copies import copied, copies, texts_of_files
from benchmarks.poll_to_ready import VALUES, YEARS, check_years, figures_of, main, of_five_years, show_table
from tests.benchmarks.guarded import lacking
from tests.model_fixture import CACHE
from tests.services.kafka import KafkaServer

TEXTS = ["Received block blk_1608999687919862906 of size 91178", "session 1234567 opened", "no digits here", "again 1234567"]


def test_copies_have_other_digits_and_the_same_ones_alike() -> None:
    first, second = list(copies(TEXTS, 8))
    assert first == TEXTS
    assert second == copied(TEXTS, 1)
    assert second[2] == TEXTS[2]
    assert second[1].split()[1] == second[3].split()[1] != "1234567"
    assert [len(text) for text in second] == [len(text) for text in TEXTS]
    assert sum(map(len, copies(TEXTS, 7))) == 7


def test_lines_of_files_are_read_without_empty_ones(tmp_path: Path) -> None:
    file = tmp_path / "some.log"
    file.write_bytes(b"one\n\ntw\xff\n")
    assert texts_of_files([str(file)]) == ["one", "tw\ufffd"]
    assert len(texts_of_files([])) > 1_000
    with pytest.raises(SystemExit, match=r"absent\.log"):
        texts_of_files([str(tmp_path / "absent.log")])


def test_every_kind_of_value_holds_the_line() -> None:
    text = "x" * 137
    assert VALUES["text"](text) == text.encode()
    assert 190 <= len(VALUES["json"](text)) <= 230
    assert 750 <= len(VALUES["fat_json"](text)) <= 800
    assert orjson.loads(VALUES["fat_json"](text))["log"] == orjson.loads(VALUES["json"](text))["message"] == text


def test_files_of_five_years_are_read_line_by_line_in_turn() -> None:
    lines = of_five_years(["one"] * 11)
    times = [(int(line[:4]), line[4:24]) for line in lines]
    assert times[:5] == [(year, "-07-01 00:00:00.000 ") for year in YEARS]
    assert times[10] == (YEARS[0], "-07-01 00:00:00.200 ")
    assert {line[24:] for line in lines} == {"one"}
    check_years([{"years": list(YEARS)}])
    with pytest.raises(SystemExit, match="2026"):
        check_years([{"years": list(YEARS)}, {"years": [2026]}])


def test_ratios_are_taken_within_a_round() -> None:
    one: dict[str, Any] = {"wall_s": 2.0, "cpu_s": 1.0, "stage_s": {"prepare": 0.5, "store": 0.2}, "blocks": 1_000}
    slow, bare = one | {"wall_s": 4.0}, {"wall_s": 1.0, "cpu_s": 0.1}
    found = {"bare": [bare, bare], "text": [one, slow], "json": [one, one], "fat_json": [slow, slow], "two": [one, slow]}
    found["five_years"] = [one | {"blocks": 2_000}] * 2
    figures = figures_of(found, 1_000_000)
    assert figures["cpu_us_per_line"] == 1.0
    assert figures["poll_to_ready_per_s"] == round(1e6 / 3)
    assert figures["two_processes"] == 2.0
    assert (figures["lines_per_block"], figures["five_years_lines_per_block"]) == (1_000, 500)
    assert figures["vs_bare_consume"] == 0.38
    assert figures["stage_us_per_line"] == {"prepare": 0.5, "store": 0.2}
    shown: list[str] = []
    show_table(figures, shown.append)
    assert "two processes do 2.0 times one" in shown[-1]


@pytest.mark.process
def test_the_program_reads_every_record(kafka: KafkaServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VECTAIL_MODEL__CACHE", str(CACHE))
    file = tmp_path / "some.log"
    file.write_text("\n".join(TEXTS))
    printed: list[str] = []
    main(printed.append, [str(file), "--lines", "60", "--rounds", "1", "--json", "--kafka", kafka.bootstrap])
    figures = json.loads(printed[-1])
    assert figures.keys() >= {
        "cpu_us_per_line",
        "json_cpu_us_per_line",
        "fat_json_cpu_us_per_line",
        "poll_to_ready_per_s",
        "json_poll_to_ready_per_s",
        "two_processes",
        "vs_bare_consume",
    }
    assert lacking("benchmarks.poll_to_ready", figures) == []
    assert 0 < figures["five_years_lines_per_block"] <= 60
    assert 0 < figures["lines_per_block"] <= 60
    assert figures["lines"] == 60
