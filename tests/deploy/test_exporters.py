"""The queries of "Consumer lag" on kafka_exporter and kminion have data in a real Prometheus.

It scrapes recorded pages: neither exporter is a package of Debian's or can be built from the Go module proxy.
"""

import math
import re
from collections.abc import Iterator

import pytest

from tests.deploy.pages import FOLDER, recorded_page
from tests.deploy.prometheus import Prometheus
from tests.deploy.promql import SOURCES, Query, queries
from tests.services.compose import image_of

pytestmark = pytest.mark.process

WITHIN_S = 30.0
ASKED = [query for query in queries() if SOURCES[query.source] != "vectail"]


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    with recorded_page("kafka_exporter.prom") as exporter, recorded_page("kminion.prom") as kminion:
        folder = tmp_path_factory.mktemp("exporters")
        with Prometheus(folder, {"kafka-exporter": exporter, "kminion": kminion}) as prometheus:
            yield prometheus


@pytest.mark.parametrize(
    ("service", "version"),
    [("kafka-exporter", r"kafka_exporter (\S+) "), ("kminion", r'kminion_exporter_up\{version="(.*)"\}')],
)
def test_a_recording_is_of_the_version_in_the_compose_file(service: str, version: str) -> None:
    recorded = re.search(version, (FOLDER / f"{service.replace('-', '_')}.prom").read_text(encoding="utf-8"))
    assert recorded is not None
    assert image_of(service).endswith(f":v{recorded[1]}")


def figures(prometheus: Prometheus, query: Query) -> list[float]:
    return [float(series["value"][1]) for series in prometheus.query(query.text())]


def test_a_query_on_an_exporter_has_data(prometheus: Prometheus, subtests: pytest.Subtests) -> None:
    known: dict[Query, list[float]] = {}

    def are_known() -> bool:
        for query in ASKED:
            if not known.get(query):
                known[query] = [figure for figure in figures(prometheus, query) if not math.isnan(figure)]
        return all(known.values())

    prometheus.wait_for(are_known, WITHIN_S)
    for query in ASKED:
        with subtests.test(str(query)):
            assert known[query], f"no data: {query.text()}"
            assert min(known[query]) >= 0, "an exporter's -1 is no lag"


@pytest.mark.parametrize(("source", "records"), [(2, 834 + 145 + 1), (3, 1_100 + 100)])
def test_the_lag_is_what_the_exporter_says(prometheus: Prometheus, source: int, records: int) -> None:
    [query] = [query for query in ASKED if query.panel == "Lag" and query.source == source]
    assert prometheus.wait_for(lambda: figures(prometheus, query) == [records], WITHIN_S), figures(prometheus, query)
