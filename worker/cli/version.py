"""`vectail version`: what runs here; the libraries named are those whose behaviour a report of a fault depends on."""

import platform
from importlib.metadata import PackageNotFoundError, version

from worker.runtime.kafka_admin import librdkafka_version
from worker.runtime.version import VERSION

_LIBRARIES = ("confluent-kafka", "pymilvus", "milvus-lite", "llama-cpp-python")


def versions() -> dict[str, str]:
    """Return the version of everything, by name; imports none of it but the Kafka client."""
    installed = {name: _installed(name) for name in _LIBRARIES}
    return {"vectail": VERSION, "python": platform.python_version(), "librdkafka": librdkafka_version(), **installed}


def _installed(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
