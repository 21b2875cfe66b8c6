"""The schemas of a Schema Registry that are known, ready to read values with.

Pure: nothing here asks a registry. A thread of its own (`worker.indexing.schema_lookup`) puts schemas in; `worker.indexing.schema_wait`
sees to it that every schema is there before a value of it is read, and `consumers.decode.registry_reader` reads.
"""

import threading
from collections.abc import Collection, Iterable
from typing import NamedTuple, Protocol

from consumers.schema import SchemaKey

_MOST_KEPT = 1_000


class UnusableSchema(Exception):
    """Values of this schema cannot be read; one line."""


class NotOfSchema(Exception):
    """A value is not what its schema describes; one line that contains nothing of it."""


class NotUtf8(NotOfSchema):
    """A value has a string that is not valid UTF-8, and is read if that may be mended."""


class TooManyValues(Exception):
    """A value may hold more than it is allowed to; one line."""


class ValueSchema(Protocol):
    """Reads values of one schema.

    Thread: one.
    """

    def read(self, body: bytes, indexes: bytes | None, *, strict: bool, most_values: int) -> bytes | str | None:
        """Return a value as JSON, or as text, or None if it holds nothing. Raises NotOfSchema or TooManyValues.

        `indexes`: what a header says after the schema's id; None: the value says it. `strict`: raise NotUtf8 rather than mend a string.
        `most_values`: how many the elements of arrays and maps may be, those within them included.
        """


class Unknown(NamedTuple):
    """The registry says that there is no such schema.

    Thread: any.
    """

    until_s: float
    """When it is asked again."""


class Unusable(NamedTuple):
    """The registry has it, but values of it cannot be read.

    Thread: any.
    """

    reason: str


Schema = ValueSchema | Unknown | Unusable


class Schemas:
    """Keeps the schemas that were needed last; those in use are never forgotten.

    Thread: any; `find` and `keep` from one, that which reads values.
    """

    def __init__(self, *, most: int = _MOST_KEPT) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._schemas: dict[SchemaKey, Schema] = {}
        """The one needed last comes last."""
        self._in_use: frozenset[SchemaKey] = frozenset()

    def find(self, key: SchemaKey) -> Schema | None:
        """Return a schema; None: not known yet."""
        return self._schemas.get(key)

    def add_schema(self, key: SchemaKey, schema: Schema) -> None:
        """Put a schema in, or another in its place; a reader finds one of the two."""
        with self._lock:
            self._schemas[key] = schema
            self._forget()

    def keep(self, keys: Collection[SchemaKey]) -> None:
        """Say which schemas are in use now, in place of those before."""
        with self._lock:
            self._in_use = frozenset(keys)
            for key in self._in_use:
                if key in self._schemas:
                    self._schemas[key] = self._schemas.pop(key)
            self._forget()

    def missing(self, keys: Iterable[SchemaKey], now_s: float) -> set[SchemaKey]:
        """Return those of the schemas that must be asked for."""
        found = ((key, self._schemas.get(key)) for key in keys)
        return {key for key, schema in found if schema is None or (isinstance(schema, Unknown) and schema.until_s <= now_s)}

    def __len__(self) -> int:
        """Return how many are kept."""
        return len(self._schemas)

    def _forget(self) -> None:
        surplus = len(self._schemas) - self._most
        if surplus > 0:
            for key in [key for key in self._schemas if key not in self._in_use][:surplus]:
                del self._schemas[key]
