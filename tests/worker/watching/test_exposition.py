"""The format of a scrape: what its `Accept` header asks for, and the plain one if the header makes no sense."""

import pytest

from tests.rows import rows
from worker.watching import metrics as m
from worker.watching.exposition import Exposition
from worker.watching.metrics import Sample

PLAIN = "text/plain; version=0.0.4; charset=utf-8"
OPEN_METRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"
ODD = (*rows("watching/odd_accept_headers"), f"application/openmetrics-text;version={'9' * 5_000}x", "," * 10_000)


@pytest.fixture
def exposition() -> Exposition:
    return Exposition(lambda: [Sample(m.ADMITTED_TOTAL, 3, ("logs",))])


def test_an_odd_accept_header_is_answered_like_an_empty_one(exposition: Exposition, subtests: pytest.Subtests) -> None:
    for accept in ("", *ODD):
        with subtests.test(accept=accept[:60]):
            body, content_type = exposition.text(accept)
            assert content_type == PLAIN
            assert b'\nvectail_records_admitted_total{topic="logs"} 3.0\n' in body


def test_a_known_format_is_answered_as_asked(exposition: Exposition) -> None:
    body, content_type = exposition.text("application/openmetrics-text;version=1.0.0,text/plain;q=0.5")
    assert content_type.startswith(OPEN_METRICS)
    assert body.endswith(b"# EOF\n")


def test_a_fault_of_rendering_is_not_taken_for_an_odd_header() -> None:
    def fail() -> list[Sample]:
        raise TypeError("planted")

    with pytest.raises(TypeError, match="planted"):
        Exposition(fail).text()
