"""The only module that uses redis-py: one thread's connection to a server, a master behind sentinels, or a cluster.

The reader, the writer and the probe have one each. Whatever the library raises becomes RedisFailed. After any failure the connections are
closed, so that a late reply is never taken for the reply to a later command. It uses only commands that Redis and Valkey have in common:
MGET, SET, INFO.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

import redis
from redis.backoff import NoBackoff
from redis.cluster import RedisCluster
from redis.driver_info import DriverInfo
from redis.exceptions import RedisClusterException
from redis.retry import Retry
from redis.sentinel import Sentinel

from worker.embedding.cache.redis_address import RedisAddress, RedisFailed

CONNECT_S: Final = 1.0
"""Per address. Connecting may take longer than the read budget: no caller waits for it, and a later fetch finds it done."""
_PIECE_KEYS: Final = 512
"""Keys per MGET: about the fastest, and 0.5 ms of the server's only thread. A caller that leaves early has the pieces received so far."""
_REASON_CHARACTERS: Final = 200
_LIBRARY_CONFUSED: Final = (ValueError, LookupError, TypeError, AttributeError, RuntimeError, MemoryError)
"""What redis-py raises on malformed replies, and when another thread closes the connection that it uses."""


class RedisClient:
    """Connects at first use and again after each failure; `timeout_s` bounds every wait for a part of a reply.

    Thread: one; `drop` from any.
    """

    def __init__(self, address: RedisAddress, *, timeout_s: float) -> None:
        self._address = address
        self._timeout_s = timeout_s
        self._server: Any = None

    def connect(self) -> None:
        """Connect unless connected. Raises RedisFailed."""
        if self._server is None:
            with self._translated():
                self._server = server = self._new_server()
                nodes = map(server.get_redis_connection, server.get_primaries()) if self._is_cluster else [server]
                for node in nodes:
                    node.connection_pool.release(node.connection_pool.get_connection())

    def get(self, keys: Sequence[bytes]) -> Iterator[list[bytes | None]]:
        """Yield the values in order, a piece at a time. Raises RedisFailed."""
        for start in range(0, len(keys), _PIECE_KEYS):
            piece = list(keys[start : start + _PIECE_KEYS])
            self.connect()
            with self._translated():
                values = self._server.mget_nonatomic(piece) if self._is_cluster else self._server.mget(piece)
                if not isinstance(values, list) or len(values) != len(piece):
                    raise redis.InvalidResponse("MGET was not answered with a value for each key")
            yield [value if isinstance(value, bytes) else None for value in values]

    def set(self, frames: Sequence[tuple[bytes, bytes]], ttl_s: float) -> list[RedisFailed | None]:
        """Store values by key; returns the failure of each, or None. Raises RedisFailed if the outcome is unknown."""
        self.connect()
        with self._translated():
            pipeline = self._server.pipeline() if self._is_cluster else self._server.pipeline(transaction=False)
            for key, frame in frames:
                pipeline.set(key, frame, px=round(ttl_s * 1000))
            outcomes = pipeline.execute(raise_on_error=False)
        if any(isinstance(outcome, redis.ReadOnlyError) for outcome in outcomes):
            # The address may lead to the new master by now.
            self.close()
        return [_failed(outcome) if isinstance(outcome, Exception) else None for outcome in outcomes]

    def info(self, section: str) -> Mapping[str, object]:
        """Return a section of what the server says of itself, of a cluster one node's; empty if it does not tell. Raises RedisFailed."""
        self.connect()
        with self._translated():
            try:
                return dict(self._server.info(section, **({"target_nodes": RedisCluster.DEFAULT_NODE} if self._is_cluster else {})))
            except redis.ResponseError:
                return {}

    def drop(self) -> None:
        """Cut the connections from another thread, so that a wait there fails at once. Never waits."""
        if (server := self._server) is not None:
            if self._is_cluster:
                server.disconnect_connection_pools()
            else:
                server.connection_pool.disconnect()

    def close(self) -> None:
        """Close the connections; the next command opens new ones."""
        self.drop()
        self._server = None

    @property
    def _is_cluster(self) -> bool:
        return self._address.kind == "cluster"

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except (redis.RedisError, RedisClusterException, OSError, *_LIBRARY_CONFUSED) as error:
            self.close()
            raise _failed(error) from error

    def _new_server(self) -> Any:  # noqa: ANN401 - Redis and RedisCluster share no type
        address = self._address
        options: dict[str, Any] = {
            "socket_timeout": self._timeout_s,
            "socket_connect_timeout": CONNECT_S,
            "protocol": 2,  # 3 would cost one more round trip per connection
            "driver_info": DriverInfo("vectail", None),  # what `CLIENT LIST` shows
            "retry": Retry(NoBackoff(), 0),  # a miss is cheaper than a second try
            **address.tls,
        }
        if address.kind == "sentinel":
            options |= {"ssl": True} if address.has_tls else {}
            db = int(address.url.rpartition("/")[2] or 0)
            sentinel: Any = Sentinel(  # type: ignore[no-untyped-call]
                address.hosts, sentinel_kwargs=options | address.sentinel_login, **options, **address.login, db=db
            )
            return sentinel.master_for(address.master)
        if self._is_cluster:
            return RedisCluster.from_url(address.url, require_full_coverage=False, **options, **address.login)
        return redis.Redis.from_url(address.url, **options, **address.login)


def _failed(error: Exception) -> RedisFailed:
    reason = " ".join(str(error).split())[:_REASON_CHARACTERS]
    return RedisFailed(type(error).__name__, reason, is_refusal=isinstance(error, redis.ResponseError))
