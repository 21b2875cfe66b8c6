"""The queries of "Consumer lag" on kafka_exporter and kminion have data in a real Prometheus that scrapes what those have said."""

import math
from collections.abc import Iterator

import pytest

from tests.deploy.pages import RecordedPage
from tests.deploy.prometheus import Prometheus
from tests.deploy.promql import SOURCES, Query, queries

WITHIN_S = 30.0
ASKED = [query for query in queries() if SOURCES[query.source] != "vectail"]


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    with RecordedPage("kafka_exporter.prom") as exporter, RecordedPage("kminion.prom") as kminion:
        folder = tmp_path_factory.mktemp("exporters")
        with Prometheus(folder, {"kafka-exporter": exporter.port, "kminion": kminion.port}) as prometheus:
            yield prometheus


def figures(prometheus: Prometheus, query: Query) -> list[float]:
    return [float(series["value"][1]) for series in prometheus.query(query.text())]


@pytest.mark.parametrize("query", ASKED, ids=str)
def test_a_query_on_an_exporter_has_data(prometheus: Prometheus, query: Query) -> None:

    known: list[float] = []

    def is_known() -> bool:
        known[:] = [figure for figure in figures(prometheus, query) if not math.isnan(figure)]
        return bool(known)

    assert prometheus.wait_for(is_known, WITHIN_S), f"no data: {query.text()}"
    assert min(known) >= 0, "an exporter's -1 is no lag"


@pytest.mark.parametrize(("source", "records"), [(2, 834 + 145 + 1), (3, 1_100 + 100)])
def test_the_lag_is_what_the_exporter_says(prometheus: Prometheus, source: int, records: int) -> None:
    [query] = [query for query in ASKED if query.panel == "Lag" and query.source == source]
    assert prometheus.wait_for(lambda: figures(prometheus, query) == [records], WITHIN_S), figures(prometheus, query)
