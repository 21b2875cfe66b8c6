"""Which embedding space an index was filled with, before anybody opens it: a worker loads the model of an index that exists.

Called by `worker.connections`. Locks, creates and loads nothing; a local folder is only read, also while a worker holds it.
"""

import json
from pathlib import Path

from sinks.milvus.access import connect
from sinks.milvus.faults import MilvusFault
from sinks.milvus.fields import SPACE_PROPERTY
from sinks.milvus.lite import local_folder
from sinks.milvus.milvus_settings import MilvusSettings
from sinks.sink import SinkMismatch


def filled_space(settings: MilvusSettings) -> str | None:
    """Return the id of the space; None if there is no index, or if it cannot be asked: why is said by whoever opens it."""
    try:
        folder = local_folder(settings.uri)
        return _of_server(settings) if folder is None else _of_folder(folder, settings)
    except (SinkMismatch, MilvusFault):
        return None


def _of_server(settings: MilvusSettings) -> str | None:
    client = connect(settings, None)
    try:
        found = client.describe(settings.collection)
        return None if found is None else found.properties.get(SPACE_PROPERTY)
    finally:
        client.close()


def _of_folder(folder: Path, settings: MilvusSettings) -> str | None:
    """Read what Milvus Lite keeps of how a collection was created."""
    database = folder / "databases" / settings.db if settings.db else folder
    try:
        created = json.loads((database / "collections" / settings.collection / "schema.json").read_text(encoding="utf-8"))
        return str(created["properties"][SPACE_PROPERTY])
    except (OSError, ValueError, KeyError, TypeError):
        return None
