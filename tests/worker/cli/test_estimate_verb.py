"""`vectail estimate`: its figures, from the files to the facts that `--json` prints."""

import json
import os
import random
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.engine import FakeEngine
from tests.model_fixture import CACHE
from tests.worker.cli.conftest import RunHere
from worker.cli.estimate_verb import EstimateOptions, estimate_files, parse_rate
from worker.cli.exits import CommandFailed
from worker.estimate.estimate import Rate
from worker.settings.settings import load_settings

Estimate = Callable[..., dict[str, Any]]

MODE_KEYS = {
    "templates_sampled", "templates", "templates_low", "templates_high", "entries_without_embedding_share",
    "tokens_without_embedding_share", "tokens_per_entry_mean", "tokens_per_entry_p50", "tokens_per_entry_p99", "tokens_per_entry_max",
    "chunked_entries", "too_many_chunks_entries", "tokens", "tokens_to_embed", "needed_tokens_per_s", "engine_s", "engine_lines_per_s",
    "redis_bytes", "memory_bytes", "milvus_blocks", "milvus_block_bytes",
    "milvus_bytes_per_line", "milvus_template_bytes",
    "milvus_lite_disk_bytes",
}  # fmt: skip


@pytest.fixture
def estimate() -> Estimate:
    """Estimate files with a fake engine: `estimate(file, sample_lines=100, decode={"format": "json"})`."""

    def run(
        *files: Path | str,
        sample_lines: int = 20_000,
        rate: float = 1_000.0,
        as_topic: str | None = None,
        **tables: Any,  # noqa: ANN401 - as the settings file has them
    ) -> dict[str, Any]:
        settings = load_settings(None, {"model": {"cache": str(CACHE)}, **tables})
        options = EstimateOptions(files=tuple(map(str, files)), sample_lines=sample_lines, rate=Rate(rate), trial_s=0.01, topic=as_topic)
        return dict(estimate_files(settings, options, new_engine=FakeEngine))

    return run


@pytest.fixture
def standard_input() -> Iterator[Callable[[bytes], None]]:
    """Give bytes to standard input; they must fit a pipe."""
    before = os.dup(0)

    def give(text: bytes) -> None:
        reading, writing = os.pipe()
        os.dup2(reading, 0)
        os.close(reading)
        os.write(writing, text)
        os.close(writing)

    yield give
    os.dup2(before, 0)
    os.close(before)


def written(file: Path, lines: int) -> Path:
    """Write lines of a few dozen templates with a time and a number in each."""
    rng = random.Random(3)
    words = [f"{verb} {noun}" for verb in ("opened", "closed", "lost", "found", "sent", "read") for noun in ("port", "disk", "key", "row")]
    with file.open("w", encoding="utf-8") as out:
        for number in range(lines):
            hour, minute, second = number // 3600, number // 60 % 60, number % 60
            out.write(f"2024-05-01 {hour:02}:{minute:02}:{second:02} node {rng.randrange(1000)} {rng.choice(words)}\n")
    return file


def test_the_figures_of_files_that_are_read_whole_are_exact(estimate: Estimate, tmp_path: Path) -> None:
    log = written(tmp_path / "app.log", 2_000)

    facts = estimate(log)

    assert (facts["basis"], facts["files"], facts["lines"], facts["entries"]) == ("all", 1, 2_000, 2_000)
    assert facts["bytes"] == facts["sampled"]["bytes"] == log.stat().st_size
    template, exact = facts["template"], facts["exact"]
    assert (template["templates"], template["templates_low"], template["templates_high"]) == (24, 24, 24)
    assert template["entries_without_embedding_share"] == 1 - 24 / 2_000
    assert (exact["templates"], exact["entries_without_embedding_share"]) == (2_000, 0.0)
    assert template["milvus_blocks"] == exact["milvus_blocks"] == 2
    assert exact["tokens_to_embed"] == exact["tokens"]


def test_a_sample_predicts_the_whole(estimate: Estimate, tmp_path: Path) -> None:
    log = written(tmp_path / "app.log", 8_000)

    facts, truth = estimate(log, sample_lines=1_000), estimate(log)

    assert facts["basis"] == "sample"
    assert facts["sampled"]["lines"] == pytest.approx(1_000, rel=0.05)
    assert facts["lines"] == pytest.approx(8_000, rel=0.02)
    assert facts["template"]["templates"] == truth["template"]["templates"] == 24
    assert facts["exact"]["templates"] == pytest.approx(8_000, rel=0.02)
    for mode in ("template", "exact"):
        for key in ("tokens", "tokens_to_embed", "milvus_template_bytes", "redis_bytes", "milvus_lite_disk_bytes"):
            assert facts[mode][key] == pytest.approx(truth[mode][key], rel=0.05), (mode, key)
        assert facts[mode]["milvus_block_bytes"] == pytest.approx(truth[mode]["milvus_block_bytes"], rel=0.1), mode


def test_the_keys_are_those_that_are_documented(estimate: Estimate, tmp_path: Path) -> None:
    facts = estimate(written(tmp_path / "app.log", 10))

    assert set(facts) == {
        "files", "topic", "bytes", "basis", "lines", "entries", "sampled", "rate_lines_per_s", "mode", "template", "exact", "rests_on",
        "engine", "worker", "workers", "partitions", "kept_days", "milvus_kept_bytes",
    }  # fmt: skip
    assert set(facts["template"]) == set(facts["exact"]) == MODE_KEYS
    assert set(facts["engine"]) == {"name", "tokens_per_s", "measured_tokens", "measured_s", "failed_batches"}
    assert json.loads(json.dumps(facts)) == facts


def test_an_empty_file_is_estimated_honestly(estimate: Estimate, tmp_path: Path) -> None:
    (tmp_path / "empty").touch()

    facts = estimate(tmp_path / "empty")

    assert (facts["lines"], facts["bytes"], facts["template"]["templates"], facts["exact"]["redis_bytes"]) == (0, 0, 0, 0)
    assert facts["template"]["entries_without_embedding_share"] is None
    assert facts["engine"]["tokens_per_s"] is None


def test_standard_input_gives_its_first_lines(estimate: Estimate, standard_input: Callable[[bytes], None]) -> None:
    standard_input(b"a line\n" * 50)

    facts = estimate("-", sample_lines=20)

    assert (facts["basis"], facts["lines"], facts["bytes"]) == ("first", 20, 140)


def test_the_topic_whose_settings_hold_is_the_first_or_the_one_that_is_named(estimate: Estimate, tmp_path: Path) -> None:
    file = tmp_path / "app.jsonl"
    file.write_text("".join(json.dumps({"ts": n, "message": f"disk {n} full"}) + "\n" for n in range(50)))
    topics = [{"name": "plain", "format": "text"}, {"name": "json", "format": "json"}, {"pattern": "exact.*", "mask": {"mode": "exact"}}]

    first, named, fitting = (estimate(file, as_topic=name, topic=topics) for name in (None, "json", "exact.one"))

    assert [facts["topic"] for facts in (first, named, fitting)] == ["plain", "json", "exact.one"]
    assert first["template"]["tokens_per_entry_max"] > named["template"]["tokens_per_entry_max"], "as text the whole object is the line"
    assert named["template"]["tokens_per_entry_max"] == fitting["template"]["tokens_per_entry_max"]


def test_a_model_that_is_not_there_ends_with_2(estimate: Estimate, tmp_path: Path) -> None:
    with pytest.raises(CommandFailed, match="no model in") as failed:
        estimate(written(tmp_path / "log", 1), model={"folder": str(tmp_path), "cache": str(CACHE)})

    assert failed.value.exit_code == 2


def test_the_engine_of_the_settings_is_tried_and_closed(tmp_path: Path) -> None:
    settings = load_settings(None, {"model": {"cache": str(CACHE)}, "engine": {"name": "llama"}})
    threads = threading.active_count()

    facts: dict[str, Any] = dict(estimate_files(settings, EstimateOptions(files=(str(written(tmp_path / "log", 20)),), trial_s=0.001)))

    assert facts["engine"]["name"] == "llama.cpp"
    assert facts["engine"]["measured_tokens"] > 0
    tokens, tokens_per_s = facts["template"]["tokens_to_embed"], facts["engine"]["tokens_per_s"]
    shortest_s, longest_s = tokens / (tokens_per_s + 0.05), tokens / (tokens_per_s - 0.05)
    assert shortest_s - 0.000_51 <= facts["template"]["engine_s"] <= longest_s + 0.000_51, "one digit of speed, three of seconds"
    assert threading.active_count() == threads


@pytest.mark.parametrize(
    ("text", "rate", "lines_per_s"),
    [
        ("5000", Rate(5_000.0, "lines"), 5_000.0),
        ("0.5", Rate(0.5, "lines"), 0.5),
        ("50MB/s", Rate(5e7, "bytes"), 2.5e6),
        ("1.5 gb/s", Rate(1.5e9, "bytes"), 7.5e7),
        ("800kB/s", Rate(8e5, "bytes"), 4e4),
        ("12B/s", Rate(12.0, "bytes"), 0.6),
        ("2TB/s", Rate(2e12, "bytes"), 1e11),
    ],
)
def test_a_rate_is_lines_or_bytes_and_becomes_lines_by_the_mean_line(text: str, rate: Rate, lines_per_s: float) -> None:
    assert parse_rate(text) == rate
    assert rate.lines_per_s(20.0) == lines_per_s
    assert rate.lines_per_s(0.0) == (rate.per_s if rate.unit == "lines" else 0.0)


@pytest.mark.parametrize("text", ["5 furlongs", "", "0", "0MB/s", "-3", "nan", "inf", "50MB", "50 M/s", "1e9", "MB/s"])
def test_what_is_no_rate_is_refused(text: str) -> None:
    with pytest.raises(CommandFailed, match="lines a second like 5000, or bytes a second like 50MB/s") as failed:
        parse_rate(text)

    assert failed.value.exit_code == 2


def test_the_command_prints_json_or_a_screen_with_the_workers_of_the_rate(run_here: RunHere, tmp_path: Path) -> None:
    log = str(written(tmp_path / "app.log", 1_000))

    ended = run_here("estimate", log, "--rate", "2MB/s", "--json")
    facts, shown = json.loads(ended.out), run_here("estimate", log, "--rate", "2MB/s").out

    per_line = facts["worker"]["us_per_line"] + 1.6
    assert facts["workers"] == pytest.approx(facts["rate_lines_per_s"] * per_line / 1e6 / 0.5, abs=1.0)
    assert facts["worker"]["measured_lines"] >= 3_000
    assert " lines/s, 2.0 MB/s: " in shown
    assert max(map(len, shown.splitlines())) <= 80
