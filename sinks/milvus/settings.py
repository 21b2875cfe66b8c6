"""What the Milvus sink is told: where Milvus is, who we are there, and what the two collections must be.

Made by the worker from its own settings; nothing here is read from anywhere.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

IndexName = Literal[
    "auto",
    "FLAT",
    "IVF_FLAT",
    "IVF_SQ8",
    "IVF_PQ",
    "IVF_RABITQ",
    "HNSW",
    "HNSW_SQ",
    "HNSW_PQ",
    "HNSW_PRQ",
    "SCANN",
    "DISKANN",
    "AISAQ",
    "GPU_CAGRA",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class MilvusSettings:
    """Where Milvus is and what it must hold.

    Thread: any.
    """

    uri: str
    """`http://HOST:PORT`, or a local folder."""
    dim: int
    space: str
    """Embedding-space id; collections of another one are refused."""
    space_parts: Mapping[str, str] = field(default_factory=dict)
    """What the space is made of, for that refusal: name → value."""
    collection: str = "vectail"
    token: str = field(default="", repr=False)
    user: str = ""
    password: str = field(default="", repr=False)
    db: str = ""
    ca_file: str = ""
    """Certificates to trust, for an `https://` address; the system's if not set."""
    cert_file: str = ""
    key_file: str = ""
    """Our own certificate and its key, for a server that asks for one."""
    server_name: str = ""
    """The name in the server's certificate, where the address has another."""
    index: IndexName = "auto"
    metric: Literal["COSINE", "IP", "L2"] = "COSINE"
    vector_type: Literal["FLOAT", "FLOAT16", "BFLOAT16", "INT8"] = "FLOAT"
    """These three are of the templates' vector; scores are cosines whatever the metric."""
    bm25: Literal["auto", "on", "off"] = "auto"
    """Whether lines can be searched by their words; `auto`: what is there, and a new collection on a server that can."""
    partition_key: Literal["", "service", "topic", "level"] = ""
    timeout_s: float = 10.0
    consistency: Literal["Bounded", "Strong"] = "Bounded"
    """Of reads; counts are always Strong."""
    retention_s: float | None = None
    """A server removes a line so long after its last write, a template after twice that; None: never. A local folder keeps everything."""
