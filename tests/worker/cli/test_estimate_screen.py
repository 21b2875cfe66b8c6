"""The text that `vectail estimate` prints."""

import re
from pathlib import Path

import pytest

from tests.fakes.engine import FakeEngine
from tests.model_fixture import CACHE
from worker.cli.estimate_screen import shown_bytes, shown_estimate, shown_share
from worker.cli.estimate_verb import EstimateJson, EstimateOptions, estimate_files
from worker.settings.settings import load_settings


@pytest.fixture(scope="module")
def facts(tmp_path_factory: pytest.TempPathFactory) -> EstimateJson:
    """Facts about 1,000 lines of two templates."""
    file = tmp_path_factory.mktemp("screen") / "log"
    file.write_text("".join(f"door {n} {'open' if n % 3 else 'shut'}\n" for n in range(1_000)))
    return facts_of(file)


def facts_of(*files: Path, sample_lines: int = 20_000) -> EstimateJson:
    settings = load_settings(None, {"model": {"cache": str(CACHE)}})
    options = EstimateOptions(files=tuple(map(str, files)), sample_lines=sample_lines, trial_s=0.01)
    return estimate_files(settings, options, new_engine=FakeEngine)


def test_what_is_needed_comes_first_and_then_a_sentence_that_a_newcomer_understands(facts: EstimateJson) -> None:
    needs = facts | {
        "rate_lines_per_s": 400_960.6015,
        "workers": 8,
        "partitions": 16,
        "kept_days": 30.0,
        "milvus_kept_bytes": 38_600 * 10**9,
    }
    lines = shown_estimate(needs, details=False).splitlines()
    assert lines[0] == "For 401,000 lines/s, 5.6 MB/s: 8 workers, 16 partitions a topic."
    assert lines[1] == "30 days of it take about 38.6 TB in Milvus."
    assert lines[2].startswith("Engine: 2 templates once, in ")
    assert lines[-3:] == [
        "Of 1,000 lines, 998 need no embedding: their template came before.",
        "In mode exact it is 0. When the same lines come again, none does.",
        "`--details` shows the figures behind it.",
    ]


def test_what_is_needed_follows_from_the_rate_and_from_how_long_lines_are_kept(facts: EstimateJson) -> None:
    assert (facts["workers"], facts["partitions"], facts["kept_days"]) == (1, 2, 30.0)
    per_line = facts["template"]["milvus_bytes_per_line"]
    assert facts["milvus_kept_bytes"] == pytest.approx((per_line or 0) * 1_000 * 30 * 86_400)


def test_no_rate_of_a_cold_start_stands_beside_that_of_known_lines(facts: EstimateJson) -> None:
    shown = shown_estimate(facts, details=True)
    assert shown.count("lines/s") == 1
    assert re.search(r"\d\.\d{3}", shown) is None, "no figure has more digits than it was measured with"


def test_the_mode_of_the_settings_comes_first(facts: EstimateJson) -> None:
    assert "Of 1,000 lines, 0 need no embedding" in shown_estimate(facts | {"mode": "exact"}, details=False)


def test_both_modes_stand_side_by_side_with_what_each_figure_rests_on(facts: EstimateJson) -> None:
    rows = {line[:37].strip(): line[37:].split() for line in shown_estimate(facts, details=True).splitlines()}

    assert rows["templates"] == ["2", "1,000", "counted"]
    assert rows["lines that need no embedding"] == ["99.8", "%", "0.0", "%", "counted"]
    assert rows["Milvus: blocks of lines"] == ["1", "1", "counted"]
    assert "at least" not in rows


def test_predicted_figures_are_called_so_and_have_bounds(facts: EstimateJson, tmp_path: Path) -> None:
    file = tmp_path / "log"
    file.write_text("".join(f"door {n} open\n" for n in range(3_000)))
    shown = shown_estimate(facts_of(file, sample_lines=300), details=True).splitlines()

    rows = {line[:37].strip(): line[37:].split() for line in shown}
    read = next(line for line in shown if line.startswith("1 file"))
    assert "about " in read
    assert " were read, in " in read
    assert rows["templates"][2] == "predicted"
    assert int(rows["at least"][1].replace(",", "")) <= int(rows["at most"][1].replace(",", ""))
    assert any(line.startswith("Of 1,000 lines, about ") for line in shown)
    assert facts["basis"] == "all"


def test_no_line_is_wider_than_80_columns_however_large_the_figures(facts: EstimateJson) -> None:
    huge = {name: 9_876_543_210 if str(value).isdecimal() else value for name, value in facts["exact"].items()}
    large = facts | {"bytes": 10**15, "lines": 10**11, "basis": "sample", "template": huge, "exact": huge, "rate_lines_per_s": 2_500_000.0}

    for one in (facts, large):
        assert max(len(line) for line in shown_estimate(one, details=True).splitlines()) <= 80


def test_nothing_to_index_is_said_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(b"\n\n\n")

    assert shown_estimate(facts_of(tmp_path / "log"), details=False).splitlines() == [
        "1 file, 3 bytes: 3 lines, all of them read.",
        "Read as the settings of topic logs say.",
        "Not indexed, of those read: 3 empty.",
        "There is nothing to index in it.",
    ]


def test_what_is_left_out_is_said(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(b"fine\n\nbad \xff\n")

    shown = shown_estimate(facts_of(tmp_path / "log"), details=False)

    assert "Not indexed, of those read: 1 empty." in shown
    assert "Not UTF-8: 1 line of those read." in shown


@pytest.mark.parametrize(
    ("size_bytes", "shown"),
    [(0, "0 bytes"), (999, "999 bytes"), (1_000, "1.0 kB"), (1_550_000, "1.6 MB"), (999_999, "1.0 MB"), (5 * 10**18, "5,000.0 PB")],
)
def test_bytes_have_the_unit_that_suits(size_bytes: int, shown: str) -> None:
    assert shown_bytes(size_bytes) == shown


@pytest.mark.parametrize(
    ("share", "shown"), [(None, "-"), (0.0, "0.0 %"), (0.0001, "< 0.1 %"), (0.905, "90.5 %"), (0.9998, "> 99.9 %"), (1.0, "100.0 %")]
)
def test_all_and_nothing_are_only_shown_where_it_is_so(share: float | None, shown: str) -> None:
    assert shown_share(share) == shown
