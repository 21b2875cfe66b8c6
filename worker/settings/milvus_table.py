"""The `[milvus]` table of the settings file: where the index is, and what its two collections are to be.

`worker.settings` reads it, `worker.connections` hands it to the sink, which checks it against the Milvus that it finds. A default stands
here and nowhere else.
"""

from pathlib import Path
from typing import Literal

from pydantic import Field, SecretStr

from sinks.milvus.settings import IndexName
from worker.settings.tables import Table


class MilvusTable(Table):
    """Where the index is.

    Thread: any.
    """

    uri: str = "http://127.0.0.1:19530"
    """`http://HOST:PORT`, `https://…` with TLS, or a folder for Milvus Lite."""
    collection: str = "vectail"
    token: SecretStr = SecretStr("")
    user: str = ""
    password: SecretStr = SecretStr("")
    db: str = ""
    ca_file: Path | None = None
    """Certificates to trust; the system's if not set."""
    cert_file: Path | None = None
    key_file: Path | None = None
    """Our own certificate and its key, for a server that asks for one; then with `ca_file`."""
    server_name: str = ""
    """The name in the server's certificate, where the address has another."""
    index: IndexName = "auto"
    """Of the templates' vectors. `auto`: what is there, else Milvus's own choice (Milvus Lite: FLAT)."""
    metric: Literal["COSINE", "IP", "L2"] = "COSINE"
    vector_type: Literal["FLOAT", "FLOAT16", "BFLOAT16", "INT8"] = "FLOAT"
    """Half the memory with the 16-bit ones (Milvus 2.4 and later), a quarter with INT8 (2.6 and later)."""
    bm25: Literal["auto", "on", "off"] = "auto"
    """Whether lines can be searched by their words. `auto`: what is there; a new collection on a server that can (2.5 and later)."""
    partition_key: Literal["", "service", "topic", "level"] = ""
    """Keeps lines of one value together; searches that name a value then read only those."""
    timeout_s: float = Field(default=10.0, gt=0)
    writers: int = Field(default=1, ge=1, le=16)
    batch_rows: int = Field(default=2_000, ge=1, le=16_000)
    retention_days: float | None = Field(default=None, ge=0, le=36_500)
    """Lines are removed so long after they were written, templates after twice that; 0: never; as Milvus has it, if not set. Milvus Lite
    keeps everything."""
