"""`vectail counts`: its answer becomes a table."""

import pytest

from tests.worker.cli.conftest import NewScreen
from worker.cli.counts_screen import show_counts, shown_width

TEMPLATE = "0123456789abcdef0123456789abcdef"
FAMILY = "0123456789abcdef"


def row(lines: int, **group: object) -> dict[str, object]:
    return {**group, "lines": lines, "first": 0, "last": 0}


def shown(new_screen: NewScreen, counts: list[dict[str, object]], by: list[str], *, complete: bool = True, **more: object) -> str:
    screen, written = new_screen(80)
    show_counts(screen, {"by": by, "counts": counts, "complete": complete, **more})
    return written.getvalue()


COUNTED: dict[str, object] = {"family": FAMILY, "text": "wrong \x1b password", "score": 0.731}


def test_whose_lines_are_counted_stands_above_the_number(new_screen: NewScreen) -> None:
    families = [COUNTED | {"similarity": "strong", "alike": [{"family": FAMILY, "word": "nadia"}]}, COUNTED | {"similarity": "weak"}]
    told = shown(new_screen, [row(7, level="WARN")], ["level"], families=families).splitlines()
    assert told[0] == "These lines are counted:"
    assert told[1].split("  ") == ["", "strong 0.73", r"wrong \x1b password · and 1 more that differs in one word: nadia"]
    assert told[2].split() == ["weak", "0.73", "wrong", r"\x1b", "password"]
    assert any("█" in line for line in told[3:])
    unsure = shown(new_screen, [row(7, level="WARN")], ["level"], families=families[1:]).splitlines()
    assert unsure[0] == "Nothing fits this well. These lines are counted:"
    unknown = shown(new_screen, [row(7, level="WARN")], ["level"], families=[COUNTED] * 25).splitlines()
    assert (unknown[0], unknown[21]) == ("These lines are counted:", "  and 5 kinds more.")


def test_where_nothing_is_close_nothing_is_counted_and_the_nearest_are_shown(new_screen: NewScreen) -> None:
    told = shown(new_screen, [], ["level"], families=[COUNTED | {"similarity": "none"}], nothing_close=True).splitlines()
    assert told[0] == "Nothing close to this is in the index, so nothing is counted. The nearest:"
    assert len(told) == 2
    assert told[1].split()[:2] == ["none", "0.73"]


def test_buckets_are_a_bar_chart_of_one_day(new_screen: NewScreen) -> None:
    noon_ms = 1_714_564_800_000
    counts = [row(12_000, time=noon_ms), row(6_000, time=noon_ms + 600_000), row(1, time=noon_ms + 1_200_000)]
    told = shown(new_screen, counts, ["time"], bucket_ms=600_000).splitlines()
    assert told[0] == "2024-05-01 UTC · buckets of 10 min"
    bars = {line.split()[0]: (line.split()[1], line.count("█")) for line in told if "█" in line}
    assert bars == {"12:00:00": ("12,000", 24), "12:10:00": ("6,000", 12), "12:20:00": ("1", 1)}


def test_templates_are_shown_by_their_text_and_groups_without_a_name_by_a_dash(new_screen: NewScreen) -> None:
    counts = [row(7, template=TEMPLATE, text="disk \x1b[31m full", level=""), row(3, template=TEMPLATE, text="", level="WARN")]
    told = shown(new_screen, counts, ["template", "level"])
    assert r"disk \x1b[31m full" in told
    assert TEMPLATE in told.replace("\n", "").replace(" ", "")
    assert [line.split()[0] for line in told.splitlines() if "█" in line] == ["-", "WARN"]


def test_families_are_shown_by_name_and_text(new_screen: NewScreen) -> None:
    counts = [row(7, family=FAMILY, text="disk full", name="no \x1b space", level="INFO"), row(3, family=FAMILY, text="", level="WARN")]
    told = shown(new_screen, counts, ["family", "level"]).splitlines()
    assert told[0].split() == ["level", "lines", "family"]
    assert [line.split("█")[-1].strip() for line in told if "█" in line] == [r"no \x1b space  disk full", FAMILY]
    both = shown(new_screen, [row(7, template=TEMPLATE, family=FAMILY, text="disk full")], ["template", "family"]).splitlines()
    assert both[0].split() == ["family", "lines", "template"]
    assert both[1].split()[0] == FAMILY


def test_a_field_has_a_column_of_its_name_and_a_dash_for_lines_without_it(new_screen: NewScreen) -> None:
    counts = [row(7, **{"field:pod\x1b": "web-1"}), row(3, **{"field:pod\x1b": ""})]
    told = shown(new_screen, counts, ["field:pod\x1b"]).splitlines()
    assert told[0].split()[0] == r"pod\x1b"
    assert [line.split()[0] for line in told if "█" in line] == ["web-1", "-"]


def test_above_the_values_of_a_field_stands_how_many_lines_have_it_and_what_its_numbers_are_like(new_screen: NewScreen) -> None:
    numbers = {"lines": 1_500, "min": 0.25, "p50": 12.0, "p95": 340.0, "p99": 900.0, "max": 1234567.0, "error": 0.0}
    found: dict[str, object] = {"lines": 8_000, "with_value": 1_500, "values": 40, "numbers": numbers}
    counts = [row(900, **{"field:ms\x1b": "12"})]

    def told(**differs: object) -> str:
        return " ".join(shown(new_screen, counts, ["field:ms\x1b"], statistics={**found, **differs}).split("  ms")[0].split())

    figures = "min 0.25 p50 12 p95 340 p99 900 max 1,234,567"
    assert told().startswith(rf"ms\x1b is in 1,500 of 8,000 lines (18.8 %). Numbers: {figures}")
    assert f"Numbers in 1,500 of them, percentiles within 1 %: {figures}" in told(with_value=3_000, numbers={**numbers, "error": 0.01})
    assert told(numbers=None).startswith(r"ms\x1b is in 1,500 of 8,000 lines (18.8 %). ms")


def test_names_of_fields_are_a_table(new_screen: NewScreen) -> None:
    told = shown(new_screen, [row(7, field="pod\x1b"), row(3, field="code")], ["field"]).splitlines()
    assert told[0].split() == ["field", "lines"]
    assert [line.split()[:2] for line in told if "█" in line] == [[r"pod\x1b", "7"], ["code", "3"]]


def test_nothing_and_too_little_are_said(new_screen: NewScreen) -> None:
    assert shown(new_screen, [], ["template"]) == "No lines in this span, or none that the filters leave.\n"
    assert shown(new_screen, [], ["template"], complete=False) == "The count is incomplete: a limit or the time-out cut it short.\n"
    assert "incomplete" in shown(new_screen, [row(1, service="a")], ["service"], complete=False)


@pytest.mark.parametrize(("width_ms", "text"), [(5, "5 ms"), (2_000, "2 s"), (90_000, "90 s"), (7_200_000, "2 h"), (86_400_000, "1 d")])
def test_a_width_is_shown_in_its_largest_whole_unit(width_ms: int, text: str) -> None:
    assert shown_width(width_ms) == text
