"""The metrics in the formats of Prometheus. The only file that imports its client.

Nothing is stored here: each scrape reads `worker.service.samples`. Memory, processor time and open files of the process come from
the client itself.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from operator import attrgetter

from prometheus_client import CollectorRegistry, GCCollector, ProcessCollector
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString

from worker.runtime.histogram import HistogramSnapshot
from worker.watching.metrics import Sample


class Exposition:
    """Every scrape reads the current values.

    Thread: any.
    """

    def __init__(self, read_samples: Callable[[], Iterable[Sample]]) -> None:
        """`read_samples` returns all samples, in any order."""
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(_SampleCollector(read_samples))
        ProcessCollector(registry=self._registry)
        GCCollector(registry=self._registry)

    def text(self, accept: str = "") -> tuple[bytes, str]:
        """Return the body of a scrape and its content type, in the format that the HTTP header `accept` asks for; plain if it is odd."""
        try:
            encode, content_type = choose_encoder(accept)
        except (TypeError, ValueError):  # it compares versions that are not numbers with numbers
            encode, content_type = choose_encoder("")
        return encode(self._registry), content_type


class _SampleCollector(Collector):
    """Groups samples by metric.

    Thread: any.
    """

    def __init__(self, read_samples: Callable[[], Iterable[Sample]]) -> None:
        self._read_samples = read_samples

    def collect(self) -> Iterator[Metric]:
        found = sorted(self._read_samples(), key=attrgetter("metric.name"))
        for _, together in groupby(found, key=attrgetter("metric.name")):
            yield _family(list(together))


def _family(samples: list[Sample]) -> Metric:
    metric = samples[0].metric
    if metric.type == "histogram":
        histogram = HistogramMetricFamily(metric.name, metric.help, labels=metric.labels)
        for sample in samples:
            if isinstance(sample.value, HistogramSnapshot):
                buckets = [(_bound(bound), float(count)) for bound, count in sample.value.buckets]
                histogram.add_metric(sample.labels, buckets, sample.value.total)
        return histogram
    family = (CounterMetricFamily if metric.type == "counter" else GaugeMetricFamily)(metric.name, metric.help, labels=metric.labels)
    for sample in samples:
        if not isinstance(sample.value, HistogramSnapshot):
            family.add_metric(sample.labels, sample.value)
    return family


def _bound(bound: float) -> str:
    """Return a bucket's bound in Go's notation, as Prometheus expects."""
    return str(floatToGoString(bound))  # type: ignore[no-untyped-call] # it has no types
