"""One embedding space's part of a Redis that several share: keys and frames; `worker.embedding.cache.redis_cache` has the connections."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from sinks.row import Vector
from worker.embedding.cache.cache_tally import CacheTally
from worker.embedding.cache.frame import FrameCodec
from worker.embedding.cache.redis_writer import Frame
from worker.embedding.model.space import CacheKey, EmbeddingSpace


class RedisSpace:
    """Implements `VectorCache`: a vector that it returns was put under the same key in the same space.

    Thread: any.
    """

    def __init__(
        self,
        space: EmbeddingSpace,
        secret: str,
        *,
        fetch: Callable[[Sequence[bytes]], Sequence[bytes | None] | None],
        is_taking: Callable[[], bool],
        write: Callable[[Sequence[Frame]], None],
        tally: CacheTally,
    ) -> None:
        """`fetch` returns the first values of those asked for, None if it does not ask; `is_taking`: whether `write` takes any now."""
        self._prefix = f"vectail:{space.id}:".encode("ascii")
        self._codec = FrameCodec(space.dim, secret)
        self._fetch = fetch
        self._is_taking = is_taking
        self._write = write
        self._tally = tally

    def get_many(self, keys: Iterable[CacheKey]) -> dict[CacheKey, Vector]:
        """Return the vectors received within the budget. They are rows of one array: copy what you keep."""
        wanted = list(dict.fromkeys(keys))
        if not wanted:
            return {}
        stored_keys = [self._prefix + key.encode() for key in wanted]
        values = self._fetch(stored_keys)
        if values is None:
            return {}
        decoded = self._codec.decode(stored_keys[: len(values)], values)
        found = {key: vector for key, vector in zip(wanted, decoded.vectors, strict=False) if vector is not None}
        self._tally.add(hits=len(found), misses=len(wanted) - len(found), corrupt=decoded.corrupt)
        return found

    def put_many(self, vectors: Mapping[CacheKey, Vector]) -> None:
        """Queue copies of vectors to be written; never waits. Raises ValueError for another dimension than the space's."""
        if not vectors:
            return
        if not self._is_taking():
            self._tally.add(dropped=len(vectors))
            return
        keys = [self._prefix + key.encode() for key in vectors]
        frames = self._codec.encode(keys, list(vectors.values()))
        fit = [(key, frame) for key, frame in zip(keys, frames, strict=True) if frame is not None]
        self._tally.add(unfit=len(keys) - len(fit))
        self._write(fit)
