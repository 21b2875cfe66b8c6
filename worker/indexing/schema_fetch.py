"""The schemas of a list of values, fetched at once.

Tools that decode records (`worker.inspecting`) fetch what a list needs before they decode it, and end if the registry does not answer. The
worker's prepare waits instead (`worker.indexing.schema_wait`).
"""

import math
import time
from collections.abc import Sequence

from consumers.decode.registry_reader import new_schema
from consumers.decode.registry_schemas import Schemas, Unknown
from consumers.decode.registry_wire import find_keys
from consumers.record import Header
from consumers.registry import SchemaNotFound
from worker.indexing.schema_lookup import Registry


class SchemaFetch:
    """Every schema that a list of values names is in `schemas` after `fetch_for`.

    Thread: one.
    """

    def __init__(self, registry: Registry) -> None:
        self.schemas = Schemas()
        self._registry = registry

    def fetch_for(self, value: Sequence[bytes | None], headers: Sequence[tuple[Header, ...]] | None) -> None:
        """Fetch the schemas of n values. Raises RegistryAway."""
        keys = find_keys(value, headers)
        self.schemas.keep(keys)
        for key in self.schemas.missing(keys, time.monotonic()):
            try:
                schema = new_schema(self._registry.fetch(key))
            except SchemaNotFound:
                schema = Unknown(math.inf)
            self.schemas.add_schema(key, schema)
