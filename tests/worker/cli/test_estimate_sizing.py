"""The sizing part of `vectail estimate`: rates, costs and fleets, from the command line to what is printed."""

import json
from pathlib import Path

import pytest

from tests.fakes.engine import FakeEngine
from tests.model_fixture import CACHE
from tests.worker.cli.conftest import RunHere
from tests.worker.cli.console import EndedVerb
from worker.cli.estimate import EstimateOptions, estimate_files
from worker.cli.estimate_sizing import Rate, parse_rate
from worker.cli.estimate_sizing_screen import rate_name, shown_number, sizing_lines
from worker.cli.exits import CommandFailed
from worker.settings.settings import load_settings


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One thousand lines of 20 bytes and two templates."""
    file = tmp_path_factory.mktemp("sizing") / "app.log"
    file.write_text("".join(f"door {n:08} {'open' if n % 3 else 'shut'} \n" for n in range(1_000)))
    return file


def estimated(run_here: RunHere, log: Path, *words: str) -> EndedVerb:
    ended = run_here("estimate", str(log), *words)
    assert ended.exit_code == 0, ended.err
    return ended


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        ("5000", Rate(5_000.0, "lines")),
        ("0.5", Rate(0.5, "lines")),
        ("50MB/s", Rate(5e7, "bytes")),
        ("1.5 gb/s", Rate(1.5e9, "bytes")),
        ("800kB/s", Rate(8e5, "bytes")),
        ("12B/s", Rate(12.0, "bytes")),
        ("2TB/s", Rate(2e12, "bytes")),
    ],
)
def test_a_rate_is_lines_or_bytes(text: str, rate: Rate) -> None:
    assert parse_rate(text) == rate


@pytest.mark.parametrize("text", ["5 furlongs", "", "0", "0MB/s", "-3", "nan", "inf", "50MB", "50 M/s", "1e9", "MB/s"])
def test_what_is_no_rate_is_refused(text: str) -> None:
    with pytest.raises(CommandFailed, match="lines a second like 5000, or bytes a second like 50MB/s") as failed:
        parse_rate(text)

    assert failed.value.exit_code == 2


def test_a_rate_becomes_the_other_unit_by_the_mean_line() -> None:
    assert (Rate(100.0).bytes_per_s(20.0), Rate(100.0).lines_per_s(20.0)) == (2_000.0, 100.0)
    assert (Rate(100.0, "bytes").bytes_per_s(20.0), Rate(100.0, "bytes").lines_per_s(20.0)) == (100.0, 5.0)
    assert Rate(100.0, "bytes").lines_per_s(0.0) == 0.0


def test_json_has_costs_fleet_and_assumptions(run_here: RunHere, log: Path) -> None:
    words = ("--rate", "2MB/s", "--retention-days", "10", "--headroom", "0.2", "--gpu-tokens-per-s", "1000", "--json")
    facts = json.loads(estimated(run_here, log, *words).out)

    assert facts["rate_lines_per_s"] == 100_000.0
    assert facts["sized_for"] == {"retention_days": 10.0, "headroom": 0.2, "gpu_tokens_per_s": 1_000.0}
    assert facts["per_gb"]["lines"] == 50_000_000
    assert facts["per_gb"]["worker_core_s"] == pytest.approx(50 * (facts["worker"]["us_per_line"] + 1.6), abs=0.1)
    assert facts["fleet"]["bytes_per_s"] == 2e6
    assert facts["fleet"]["gpus"] == 1
    blocks_per_gb, kept_s = facts["per_gb"]["milvus_block_bytes"], 10 * 86_400 * 1.1
    assert facts["fleet"]["milvus_bytes"] == pytest.approx(blocks_per_gb * 2e-3 * kept_s, rel=1e-6)
    assert [one["bytes_per_s"] for one in facts["fleets"]] == [1e6, 1e7, 1e8, 1e9, 1e10]
    assert facts["worker"]["measured_lines"] >= 3_000
    assert {"headroom", "brokers", "milvus_memory", "gpu"} <= facts["assumptions"].keys()


def test_a_person_sees_costs_the_fleet_and_where_a_group_ends(run_here: RunHere, log: Path) -> None:
    shown = estimated(run_here, log, "--rate", "2MB/s", "--fleets").out

    assert "A gigabyte of these lines, in mode template" in shown
    assert "2.0 MB/s, kept 30 days, 50% of every capacity free" in shown
    assert "One consumer group with one collection takes about" in shown
    assert "1 MB/s    10 MB/s   100 MB/s     1 GB/s    10 GB/s" in shown
    assert max(map(len, shown.splitlines())) <= 80
    assert "10 GB/s" not in estimated(run_here, log).out


@pytest.mark.parametrize(("set_days", "asked", "days"), [(None, None, 30.0), (0, None, 30.0), (7, None, 7.0), (7, 2.0, 2.0)])
def test_the_retention_is_that_of_the_option_then_of_the_settings(
    log: Path, set_days: float | None, asked: float | None, days: float
) -> None:
    index = {} if set_days is None else {"retention_days": set_days}
    settings = load_settings(None, {"model": {"cache": str(CACHE)}, "index": index})
    options = EstimateOptions(files=(str(log),), trial_s=0.01, retention_days=asked)

    assert estimate_files(settings, options, new_engine=FakeEngine)["sized_for"]["retention_days"] == days


def test_where_nothing_is_indexed_there_are_no_costs(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(b"\n\n")
    settings = load_settings(None, {"model": {"cache": str(CACHE)}})

    facts = estimate_files(settings, EstimateOptions(files=(str(tmp_path / "log"),), trial_s=0.01), new_engine=FakeEngine)

    assert (facts["per_gb"], facts["fleet"], facts["fleets"]) == (None, None, [])
    assert list(sizing_lines(facts, with_fleets=True)) == []


def test_numbers_are_short() -> None:
    assert [shown_number(one) for one in (None, 3, 3.14, 1_234.5, 62e6)] == ["-", "3", "3.1", "1,234", "62.0 M"]
    assert [rate_name(one) for one in (1e6, 1e9, 1.5e6)] == ["1 MB/s", "1 GB/s", "1.5 MB/s"]
