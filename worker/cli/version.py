"""`vectail version`: the versions that a bug report needs, of vectail, its masks, Python and the libraries that decide its behaviour."""

import platform
from importlib.metadata import PackageNotFoundError, version

from worker.runtime.kafka_admin import librdkafka_version
from worker.runtime.process import vectail_version
from worker.settings.masks_version import masks_version

_LIBRARIES = ("confluent-kafka", "pymilvus", "milvus-lite", "llama-cpp-python", "onnxruntime")


def versions() -> dict[str, str]:
    """Return versions by name; of the libraries, imports only the Kafka client."""
    installed = {name: _installed(name) for name in _LIBRARIES}
    return {
        "vectail": vectail_version(),
        "masks": masks_version(),
        "python": platform.python_version(),
        "librdkafka": librdkafka_version(),
        **installed,
    }


def _installed(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
