"""Groups are summed up alike, however many rows wait for it."""

from collections import Counter

import numpy as np
import pytest

from sinks.reading import count_tally as tally_module
from sinks.reading.count_tally import Groups, Tally

ROWS = 3_000


@pytest.mark.parametrize(("columns", "most_sorted"), [(1, 10), (2, 10), (2, 1 << 30), (0, 10)])
@pytest.mark.parametrize("most_rows", [20, 1 << 30])
def test_many_rows_are_summed_up_as_few_are(monkeypatch: pytest.MonkeyPatch, columns: int, most_sorted: int, most_rows: int) -> None:
    # Given parts of groups, more than wait to be summed up
    monkeypatch.setattr(tally_module, "_MOST_SORTED_ROWS", most_sorted)
    monkeypatch.setattr(tally_module, "_MOST_ROWS", most_rows)
    draw = np.random.default_rng(7)
    keys = [draw.integers(-20, 20, ROWS) * (1 << 57) for _ in range(columns)]
    lines, first_ms = draw.integers(0, 5, ROWS), draw.integers(0, 1 << 40, ROWS)
    tally = Tally()
    tally._most_rows = most_rows  # noqa: SLF001
    # When they are added piece by piece
    for at in range(0, ROWS, 100):
        part = slice(at, at + 100)
        tally.add(Groups([key[part] for key in keys], lines[part], first_ms[part], first_ms[part] + 7))
    # Then each group has the sum of its lines and its first and last time
    groups = tally.groups()
    assert groups is not None
    own = list(zip(*(key.tolist() for key in keys), strict=True)) or [()] * ROWS
    sums: Counter[tuple[int, ...]] = Counter()
    for key, number in zip(own, lines.tolist(), strict=True):
        sums[key] += number
    found = list(zip(*(key.tolist() for key in groups.keys), strict=True)) or [()]
    assert dict(zip(found, groups.lines.tolist(), strict=True)) == {key: number for key, number in sums.items() if number}
    assert found == sorted(found)
    for key, first, last in zip(found, groups.first_ms.tolist(), groups.last_ms.tolist(), strict=True):
        times = [time for one, time in zip(own, first_ms.tolist(), strict=True) if one == key]
        assert (first, last) == (min(times), max(times) + 7)
