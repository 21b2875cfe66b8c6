"""Asks the Schema Registry for the schemas that records wait for, on a thread of its own.

`worker.indexing.schema_wait` says what is wanted and is woken by an answer. A registry that does not answer is asked again without end,
with growing pauses, and nothing is rejected meanwhile: only its answer that it has no such schema is about the record.
"""

import threading
import time
from collections.abc import Callable, Collection
from typing import Final, Protocol

from consumers.decode.registry_reader import new_schema
from consumers.decode.registry_schemas import Schemas, Unknown
from consumers.registry import RegistryAway, SchemaNotFound
from consumers.schema import FetchedSchema, SchemaKey
from worker.runtime.retry import BACK_OFF_S, REMIND_S

UNKNOWN_S: Final = 60.0
"""How long the registry's answer that it has no such schema holds."""


class Registry(Protocol):
    """A Schema Registry, as far as this asks it (`consumers.registry.RegistryClient`)."""

    @property
    def address(self) -> str:
        """Where it is."""

    def fetch(self, key: SchemaKey) -> FetchedSchema:
        """Return a schema. Raises SchemaNotFound or RegistryAway."""

    def ping(self) -> None:
        """Raise RegistryAway unless it answers."""


class SchemaLookup:
    """What is wanted is asked for until it is answered or no longer wanted; an outage is one line a minute, and one at its end.

    Thread: `body` its own; the rest from any.
    """

    def __init__(
        self,
        registry: Registry,
        schemas: Schemas,
        *,
        wake: Callable[[], None],
        say: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`wake` tells the thread that wants schemas to look again."""
        self.registry = registry
        self.schemas = schemas
        self._wake = wake
        self._say = say
        self._clock = clock
        self._changed = threading.Condition()
        self._wanted: dict[SchemaKey, None] = {}
        """In the order in which they are asked for."""
        self._attempts = 0
        self._stopped = False
        self._away_since_s: float | None = None
        self._said_s = 0.0

    def want(self, keys: Collection[SchemaKey]) -> None:
        """Say which schemas are missing now, in place of those before."""
        with self._changed:
            for key in [key for key in self._wanted if key not in keys]:
                del self._wanted[key]
            for key in keys:
                self._wanted.setdefault(key)
            self._changed.notify_all()

    @property
    def wanted(self) -> tuple[SchemaKey, ...]:
        """What is missing now, in the order in which it is asked for."""
        with self._changed:
            return tuple(self._wanted)

    def body(self) -> None:
        """Ask until `stop`."""
        attempt = 0
        while (key := self._next()) is not None:
            if self.ask(key):
                attempt = 0
            else:
                self._pause(BACK_OFF_S[min(attempt, len(BACK_OFF_S) - 1)])
                attempt += 1
            with self._changed:
                self._attempts += 1
                self._changed.notify_all()
            self._wake()  # without an answer too: of what waits, some may not be ours any more

    def wait_for_attempt(self, timeout_s: float) -> None:
        """Wait until the registry was asked once more, or until the time is up."""
        with self._changed:
            before = self._attempts
            self._changed.wait_for(lambda: self._stopped or self._attempts > before, timeout_s)

    def ask(self, key: SchemaKey) -> bool:
        """Ask for a schema now; False: the registry does not answer."""
        try:
            schema = new_schema(self.registry.fetch(key))
        except SchemaNotFound:
            schema = Unknown(self._clock() + UNKNOWN_S)
        except RegistryAway as error:
            self._note_away(str(error))
            self._put_last(key)
            return False
        self._note_answer()
        self.schemas.add_schema(key, schema)
        with self._changed:
            self._wanted.pop(key, None)
        return True

    def stop(self) -> None:
        """End `body`, which returns once an open question is answered or timed out."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()

    def _next(self) -> SchemaKey | None:
        """Wait until something is wanted; None: stopped."""
        with self._changed:
            self._changed.wait_for(lambda: self._stopped or self._wanted)
            return None if self._stopped else next(iter(self._wanted))

    def _put_last(self, key: SchemaKey) -> None:
        """Ask for the others first: it may be this schema that the registry fails at."""
        with self._changed:
            if key in self._wanted:
                del self._wanted[key]
                self._wanted[key] = None

    def _pause(self, seconds: float) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._stopped, seconds)

    def _note_away(self, reason: str) -> None:
        now_s = self._clock()
        if self._away_since_s is None:
            self._away_since_s = self._said_s = now_s
            self._say(f"the schema registry {self.registry.address} does not answer ({reason}); records of its schemas wait; trying again")
        elif now_s - self._said_s >= REMIND_S:
            self._said_s = now_s
            lasting_s = now_s - self._away_since_s
            self._say(f"the schema registry has not answered for {lasting_s:.0f} s ({reason}); records wait; trying again")

    def _note_answer(self) -> None:
        if self._away_since_s is not None:
            lasted_s, self._away_since_s = self._clock() - self._away_since_s, None
            self._say(f"the schema registry answers again, after {lasted_s:.0f} s")
