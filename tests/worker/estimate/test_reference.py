"""The tables of the page about sizing are those that the code computes."""

from pathlib import Path

import pytest

from worker.estimate.fleet import ASSUMPTIONS, FleetOptions, group_ends_at_bytes_per_s
from worker.estimate.reference import REFERENCE, fleets_table, gigabyte_table, shown_size

PAGE = (Path(__file__).parents[3] / "docs" / "sizing.md").read_text(encoding="utf-8")
AGAIN = "run `python -m worker.estimate.reference` and put its tables into docs/sizing.md"


def test_the_page_has_the_tables_that_the_code_computes() -> None:
    assert gigabyte_table() in PAGE, AGAIN
    assert fleets_table() in PAGE, AGAIN


def test_the_page_says_where_a_group_ends() -> None:
    end = shown_size(group_ends_at_bytes_per_s(REFERENCE, FleetOptions().headroom))

    assert f"**{end}/s**" in PAGE


@pytest.mark.parametrize("name", ASSUMPTIONS)
def test_the_page_states_every_assumption(name: str) -> None:
    assert f"| `{name}` | {ASSUMPTIONS[name]} |" in PAGE


def test_other_options_make_another_table() -> None:
    assert fleets_table(FleetOptions(headroom=0.0)) not in PAGE


@pytest.mark.parametrize(("size", "shown"), [(999, "999 bytes"), (1e3, "1.0 kB"), (1.64e6, "1.6 MB"), (7.6e15, "7.6 PB")])
def test_sizes_have_the_unit_that_they_fill(size: float, shown: str) -> None:
    assert shown_size(size) == shown
