"""The `[milvus]` table of the settings file: where Milvus is, how to authenticate, and how to make the two collections.

`worker.settings` reads it from file, environment and flags; the sink checks it against the Milvus that it finds. What is not the user's
to set reaches the sink as a `VectorSpace` (`sinks.index_spaces`).
"""

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr

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


class MilvusSettings(BaseModel):
    """The Milvus index: its address, credentials, collections and indexes."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    uri: str = "http://127.0.0.1:19530"
    """Address of the server, `http://HOST:PORT` or, with TLS, `https://HOST:PORT`; or a local folder, which Milvus Lite uses."""
    collection: str = "vectail"
    """Name of the blocks' collection; those of templates and of what Milvus Lite keeps apart begin with it."""
    token: SecretStr = SecretStr("")
    """API key, or `USER:PASSWORD`. Empty: `user` and `password` are used."""
    user: str = ""
    """User name. Empty, without a `token`: no authentication."""
    password: SecretStr = SecretStr("")
    """Password of `user`."""
    db: str = ""
    """Database on the server. Empty: the server's default database."""
    ca_file: Path | None = None
    """Certificates to trust (PEM), for an `https://` address. Not set: the system's."""
    cert_file: Path | None = None
    """Client certificate (PEM), for a server that asks for one; needs `ca_file` and `key_file`."""
    key_file: Path | None = None
    """Key of the client certificate (PEM)."""
    server_name: str = ""
    """Name in the server's certificate, if it differs from the host in `uri`."""
    index: IndexName = "auto"
    """Index of the templates' vectors. `auto`: the existing one; for a new collection Milvus's own choice (Milvus Lite: FLAT)."""
    vector_type: Literal["FLOAT", "FLOAT16", "BFLOAT16", "INT8"] = "FLOAT"
    """Type of the templates' vectors. The 16-bit types take half the memory (Milvus 2.4 and later), INT8 a quarter (2.6 and later)."""
    bm25: Literal["auto", "on", "off"] = "auto"
    """Whether Milvus ranks templates by their words. `auto`: as the existing collection has it; a new one has it on Milvus 2.5 and later.
    Where Milvus does not, the worker does."""
    consistency: Literal["Strong", "Bounded"] = "Strong"
    """Of searches and counts. `Bounded`: faster on a server, and what was stored in the last seconds may be missing."""
    timeout_s: float = Field(default=10.0, gt=0)
    """Seconds to wait for one answer; then a write is tried again and a search fails. A write to a local folder may take 60 s."""
