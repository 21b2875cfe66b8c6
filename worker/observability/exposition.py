"""The figures as Prometheus reads them. The only file that knows its client.

Nothing is kept here: a scrape reads `worker.observability.samples`. Memory, processor time and open files of the process come from the
client itself.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from operator import attrgetter

from prometheus_client import CollectorRegistry, GCCollector, ProcessCollector
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString

from worker.observability.samples import Sample
from worker.runtime.histogram import HistogramSnapshot


class Exposition:
    """Every scrape is of one moment, part by part.

    Thread: any.
    """

    def __init__(self, figures: Callable[[], Iterable[Sample]]) -> None:
        """`figures` returns all values; those of one metric stand together or not."""
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(_Figures(figures))
        ProcessCollector(registry=self._registry)
        GCCollector(registry=self._registry)

    def text(self, accept: str = "") -> tuple[bytes, str]:
        """Return what a scrape gets and its content type, in the format that `accept`, an HTTP header, asks for."""
        encode, content_type = choose_encoder(accept)
        return encode(self._registry), content_type


class _Figures(Collector):
    """Makes families of figures. Thread: any."""

    def __init__(self, figures: Callable[[], Iterable[Sample]]) -> None:
        self._figures = figures

    def collect(self) -> Iterator[Metric]:
        found = sorted(self._figures(), key=attrgetter("metric.name"))
        for _, together in groupby(found, key=attrgetter("metric.name")):
            yield _family(list(together))


def _family(figures: list[Sample]) -> Metric:
    metric = figures[0].metric
    if metric.kind == "histogram":
        histogram = HistogramMetricFamily(metric.name, metric.meaning, labels=metric.labels)
        for figure in figures:
            if isinstance(figure.value, HistogramSnapshot):
                buckets = [(_bound(bound), float(count)) for bound, count in figure.value.buckets]
                histogram.add_metric(figure.labels, buckets, figure.value.total)
        return histogram
    family = (CounterMetricFamily if metric.kind == "counter" else GaugeMetricFamily)(metric.name, metric.meaning, labels=metric.labels)
    for figure in figures:
        if not isinstance(figure.value, HistogramSnapshot):
            family.add_metric(figure.labels, figure.value)
    return family


def _bound(bound: float) -> str:
    """Write a bucket's bound as Go does."""
    return str(floatToGoString(bound))  # type: ignore[no-untyped-call] # it has no types
