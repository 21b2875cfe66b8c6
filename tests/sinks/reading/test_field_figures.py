"""Figures of a field, against every line's value by itself."""

import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sinks.reading.counting import CountQuery
from sinks.reading.field_figures import ERROR, FieldFigures, NumberFigures, OtherValues, field_figures
from sinks.reading.reader import BlockReader
from tests.fakes.sink import FakeSink
from tests.world import blocks, line, open_sink

NUMBERS = st.floats(allow_nan=False, allow_infinity=False, allow_subnormal=False) | st.integers(-1000, 1000).map(float)


def by_hand(numbers: list[float], share: int) -> float:
    """Return the least number that is at least as large as those of so many lines in a hundred."""
    return next(one for one in sorted(numbers) if 100 * sum(other <= one for other in numbers) >= share * len(numbers))


@given(st.lists(NUMBERS, min_size=1, max_size=60), st.integers(0, 60))
def test_percentiles_are_exact_or_within_the_error_that_is_said(numbers: list[float], most: int) -> None:
    counts = Counter(numbers)
    others = OtherValues()
    for number, lines in list(counts.items())[most:]:
        others.add(repr(number), lines)
    found = field_figures([(repr(number), lines) for number, lines in list(counts.items())[:most]], others).numbers
    assert found is not None
    assert (found.lines, found.least, found.greatest) == (len(numbers), min(numbers), max(numbers))
    assert found.error == (ERROR if len(counts) > most else 0)
    for got, share in ((found.p50, 50), (found.p95, 95), (found.p99, 99)):
        assert math.isclose(got, by_hand(numbers, share), rel_tol=found.error * 1.02, abs_tol=1e-300)


@pytest.mark.parametrize("text", ["", "true", "null", "nan", "Infinity", "1e999", "1_000", " 1", "0x1", "1.", "٣", "007", "12 ms"])
def test_what_json_would_not_write_as_a_number_is_none(text: str) -> None:
    assert field_figures([(text, 3)], OtherValues()).numbers is None


def sink_of(values: list[str]) -> FakeSink:
    """Return an index of a line for each value, the first one in two pieces."""
    lines = [line(at, fields=f'{{"ms":{value}}}' if value else None) for at, value in enumerate(values)]
    lines[:1] = [lines[0]._replace(chunk=chunk, chunks=2) for chunk in range(2)]
    sink = open_sink()
    sink.write_blocks(blocks(lines, 10))
    return sink


def test_a_field_is_counted_over_all_lines_whatever_its_values_are(monkeypatch: pytest.MonkeyPatch) -> None:
    values = [*map(str, range(1, 41)), '"40"', "true", '""', "", "", "4e1"]
    reader = BlockReader(sink_of(values))
    found = reader.count(CountQuery(by=("field:ms",), top=1))
    numbers = NumberFigures(42, 1.0, 21.0, 40.0, 40.0, 40.0, 0.0)
    assert (found.figures, found.complete) == (FieldFigures(46, 43, 42, has_all_values=True, numbers=numbers), True)
    assert reader.count(CountQuery(by=("service", "field:ms"))).figures is None
    assert reader.count(CountQuery(by=("field",))).figures is None
    monkeypatch.setattr("sinks.reading.count_keys.MOST_VALUES", 5)
    cut = reader.count(CountQuery(by=("field:ms",), top=1))
    assert not cut.complete
    assert cut.figures is not None
    assert cut.figures[:4] == (46, 43, 4, False), "lines are counted whatever becomes of their values"
    assert cut.figures.numbers is not None
    assert (cut.figures.numbers.lines, cut.figures.numbers.least, cut.figures.numbers.greatest) == (42, 1.0, 40.0)
    assert cut.figures.numbers.p50 == pytest.approx(21, rel=ERROR)
