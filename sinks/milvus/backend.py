"""What the Milvus in front of us can do, decided from its version before anything is created, and what the settings make of it.

Called by the sink's `open`. A wish that this Milvus cannot fulfil is a `SinkMismatch` of one line that names the setting.
"""

import re
from typing import NamedTuple

from sinks.milvus.fields import CollectionFound, IndexParams, Kind, VectorChoice
from sinks.milvus.milvus_settings import MilvusSettings
from sinks.sink import SinkMismatch

_INDEX_SINCE = {
    "FLAT": (2, 0),
    "IVF_FLAT": (2, 0),
    "IVF_SQ8": (2, 0),
    "IVF_PQ": (2, 0),
    "HNSW": (2, 0),
    "DISKANN": (2, 2),
    "SCANN": (2, 3),
    "GPU_CAGRA": (2, 4),
    "HNSW_SQ": (2, 5),
    "HNSW_PQ": (2, 5),
    "HNSW_PRQ": (2, 5),
    "IVF_RABITQ": (2, 6),
    "AISAQ": (2, 6),
}
_LOCAL_INDEXES = ("FLAT", "IVF_FLAT", "IVF_SQ8", "HNSW", "HNSW_SQ")
"""Milvus Lite takes any name, and then builds none of the others."""
_VECTOR_SINCE = {"FLOAT": (2, 0), "FLOAT16": (2, 4), "BFLOAT16": (2, 4), "INT8": (2, 6)}
_KINDS: dict[str, Kind] = {"FLOAT": "vector", "FLOAT16": "float16", "BFLOAT16": "bfloat16", "INT8": "int8"}
_INVERTED_SINCE = (2, 4)
_BM25_SINCE = (2, 5)
_MAPPED_SINCE = (2, 5)
"""Before, only whole collections could be mapped from files."""
_NEWEST = (99, 0)
_CLUSTERS = 1_024
_PROBES = 64
_PQ_DIVISORS = (8, 4, 2, 1)


class Backend(NamedTuple):
    """What one Milvus can do.

    Thread: any.
    """

    local: bool
    version: tuple[int, int]
    """A server's; one that says nothing counts as the newest."""

    @property
    def name(self) -> str:
        """What a message calls it."""
        return "Milvus Lite" if self.local else "this Milvus" if self.version == _NEWEST else f"Milvus {self.version[0]}.{self.version[1]}"

    @property
    def scalar_index(self) -> str | None:
        """Type of the scalar indexes; None where they do not exist or gain nothing (in a local folder)."""
        return "INVERTED" if not self.local and self.version >= _INVERTED_SINCE else None

    @property
    def bm25(self) -> bool:
        """Whether a collection may have a BM25 function."""
        return self.local or self.version >= _BM25_SINCE

    @property
    def maps_files(self) -> bool:
        """Whether single columns can be mapped from files instead of held in memory."""
        return not self.local and self.version >= _MAPPED_SINCE


def backend(version: str, *, local: bool) -> Backend:
    """Read a server's version (`v2.3.5`, `2.6.1-dev`)."""
    numbers = re.search(r"(\d+)\.(\d+)", version)
    return Backend(local, (int(numbers[1]), int(numbers[2])) if numbers and not local else _NEWEST)


def choose(settings: MilvusSettings, capable: Backend) -> VectorChoice:
    """Check what the settings wish of the templates against what there is. Raises SinkMismatch."""
    vectors = ["FLOAT"] if capable.local else [name for name, since in _VECTOR_SINCE.items() if capable.version >= since]
    _refuse_unless(settings.vector_type in vectors, "milvus.vector_type", settings.vector_type, capable, vectors)
    indexes = list(_LOCAL_INDEXES) if capable.local else [name for name, since in _INDEX_SINCE.items() if capable.version >= since]
    _refuse_unless(settings.index in ("auto", *indexes), "milvus.index", settings.index, capable, ["auto", *indexes])
    is_free = settings.index == "auto"
    index = "FLAT" if capable.local else "AUTOINDEX"
    if settings.vector_type == "INT8":
        if not is_free and not settings.index.startswith("HNSW"):
            raise SinkMismatch(f"milvus.index is {settings.index}: INT8 vectors have auto, HNSW, HNSW_SQ, HNSW_PQ, HNSW_PRQ")
        index = "HNSW"
    return VectorChoice(_KINDS[settings.vector_type], index if is_free else settings.index, any_index=is_free)


def has_bm25(settings: MilvusSettings, capable: Backend, templates: CollectionFound | None) -> bool:
    """Whether the templates have (or get) a BM25 function; `templates` is the collection that is there. Raises SinkMismatch.

    Milvus Lite has it where it is asked for: it scores each of its segments by how rare a word is in that one, and the worker does better.
    """
    if settings.bm25 == "on" and not capable.bm25:
        raise SinkMismatch(f"milvus.bm25 is on: {capable.name} has no BM25, servers have it from 2.5 on")
    if settings.bm25 != "auto":
        return settings.bm25 == "on"
    if templates is not None:
        return "sparse" in templates.fields
    return capable.bm25 and not capable.local


def build_params(index: str, dim: int) -> IndexParams:
    """Return what an index is built with; servers before 2.5 have no defaults."""
    parts = dim // next(divisor for divisor in _PQ_DIVISORS if dim % divisor == 0)
    if index.startswith("IVF") or index == "SCANN":
        extra: dict[str, IndexParams] = {"IVF_PQ": {"m": parts, "nbits": 8}, "IVF_RABITQ": {"refine": True, "refine_type": "SQ8"}}
        return {"nlist": _CLUSTERS, **extra.get(index, {})}
    if index.startswith("HNSW"):
        finer: dict[str, IndexParams] = {
            "HNSW_SQ": {"sq_type": "SQ8"},
            "HNSW_PQ": {"m": parts, "nbits": 8},
            "HNSW_PRQ": {"m": parts, "nbits": 8, "nrq": 2},
        }
        return {"M": 16, "efConstruction": 200, **finer.get(index, {})}
    return {}


def search_params(index: str, limit: int) -> IndexParams:
    """Return how far a search for `limit` rows looks around in an index."""
    if index.startswith("HNSW"):
        return {"ef": max(_PROBES, limit)}
    if index.startswith("IVF") or index == "SCANN":
        return {"nprobe": _PROBES}
    return {"search_list": max(2 * _PROBES, limit)} if index in ("DISKANN", "AISAQ") else {}


def _refuse_unless(possible: bool, setting: str, value: str, capable: Backend, there: list[str]) -> None:  # noqa: FBT001 (a condition)
    if not possible:
        raise SinkMismatch(f"{setting} is {value}: {capable.name} has {', '.join(there)}")
