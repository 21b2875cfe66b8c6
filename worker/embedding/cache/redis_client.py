"""The one place that speaks to redis-py: a connection of one thread's own, to a server, a master behind sentinels, or a cluster.

`redis_readers` and `redis_writer` give each of their threads one. Whatever the library raises becomes RedisFailed, and after any
failure the connections are closed: nothing that is still on its way can be taken for the answer to a later question. Only commands
that Redis and Valkey have in common: MGET, SET, INFO.
"""

import threading
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

import redis
from redis.backoff import NoBackoff
from redis.cluster import ClusterNode, RedisCluster
from redis.exceptions import RedisClusterException
from redis.retry import Retry
from redis.sentinel import Sentinel

from worker.embedding.cache.redis_address import RedisAddress

CONNECT_S = 1.0
"""For each address. Connecting may take longer than an answer: nobody waits for it, and the next question finds it done."""
_PIECE_KEYS = 512
"""Keys of one MGET: about what is fastest, and 0.5 ms of the server's only thread; who leaves early takes the pieces that have come."""
_TEXT = 200
_LOST_ITS_WAY = (ValueError, LookupError, TypeError, AttributeError, RuntimeError, MemoryError)
"""What redis-py raises on replies that are not those of a Redis, and when another thread closes its connection under it."""


class RedisFailed(Exception):
    """The server did not do what it was asked."""

    def __init__(self, error: Exception) -> None:
        self.kind = type(error).__name__
        self.refused = isinstance(error, redis.ResponseError)
        """It answered, and said no."""
        super().__init__(f"{self.kind}: {_one_line(error)}")


class _Connection(Protocol):
    """What we ask of redis-py's connections, which are without types."""

    def on_connect(self) -> None: ...

    def send_command(self, *words: str, check_health: bool) -> None: ...

    def read_response(self) -> object: ...

    def disconnect(self) -> None: ...


class RedisClient:
    """Connects when first asked and again after each failure; `timeout_s` bounds every wait for a part of an answer.

    Thread: one; `drop` from any.
    """

    def __init__(self, address: RedisAddress, *, name: str, timeout_s: float) -> None:
        """`name` is what `CLIENT LIST` shows; nothing is connected yet."""
        self._address = address
        self._name = name
        self._timeout_s = timeout_s
        self._server: Any = None
        self._lock = threading.Lock()
        self._open: weakref.WeakSet[_Connection] = weakref.WeakSet()

    def connect(self) -> None:
        """Be connected. Raises RedisFailed."""
        if self._server is None:
            with self._told():
                server = self._new_server()
                nodes = map(server.get_redis_connection, server.get_primaries()) if self._address.cluster else [server]
                for node in nodes:
                    node.connection_pool.release(node.connection_pool.get_connection())
                self._server = server

    def get(self, keys: Sequence[bytes]) -> Iterator[list[bytes | None]]:
        """Yield the values in order, a piece at a time. Raises RedisFailed."""
        for start in range(0, len(keys), _PIECE_KEYS):
            piece = list(keys[start : start + _PIECE_KEYS])
            self.connect()
            with self._told():
                values = self._server.mget_nonatomic(piece) if self._address.cluster else self._server.mget(piece)
                if not isinstance(values, list) or len(values) != len(piece):
                    raise redis.InvalidResponse("MGET was not answered with a value for each key")
            yield [value if isinstance(value, bytes) else None for value in values]

    def set(self, frames: Sequence[tuple[bytes, bytes]], ttl_s: float) -> list[RedisFailed | None]:
        """Store values by key; returns for each what is wrong with it. Raises RedisFailed if nobody knows."""
        self.connect()
        with self._told():
            pipeline = self._server.pipeline() if self._address.cluster else self._server.pipeline(transaction=False)
            for key, frame in frames:
                pipeline.set(key, frame, px=round(ttl_s * 1000))
            outcomes = pipeline.execute(raise_on_error=False)
        if any(isinstance(outcome, redis.ReadOnlyError) for outcome in outcomes):
            # Perhaps its name leads to the new master by now.
            self.close()
        return [RedisFailed(outcome) if isinstance(outcome, Exception) else None for outcome in outcomes]

    def memory(self) -> tuple[int, str] | None:
        """Return `maxmemory` in bytes (0: unbounded) and its policy; None where that is not to be had. Raises RedisFailed."""
        self.connect()
        with self._told():
            try:
                told = self._server.info("memory", **({"target_nodes": RedisCluster.DEFAULT_NODE} if self._address.cluster else {}))
            except redis.ResponseError:
                return None
        bound, policy = told.get("maxmemory"), told.get("maxmemory_policy")
        return (bound, str(policy)) if isinstance(bound, int) and policy else None

    def drop(self) -> None:
        """Cut the connections from another thread: whoever waits there fails at once. Does not wait."""
        with self._lock:
            connections = list(self._open)
        for connection in connections:
            connection.disconnect()

    def close(self) -> None:
        """Close the connections; the next question opens new ones."""
        self.drop()
        self._server = None

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except (redis.RedisError, RedisClusterException, OSError, *_LOST_ITS_WAY) as error:
            self.close()
            raise RedisFailed(error) from error

    def _new_server(self) -> Any:  # noqa: ANN401 - Redis and RedisCluster share no type
        address, settings = self._address, self._settings()
        settings |= {"username": address.user, "password": address.password}
        if address.cluster:
            nodes = [ClusterNode(address.host, address.port)]  # type: ignore[no-untyped-call]
            return RedisCluster(startup_nodes=nodes, require_full_coverage=False, redis_connect_func=self._name_it, **settings)
        settings |= {"redis_connect_func": self._begin, "db": address.db}
        if address.sentinels:
            watchers = self._settings() | {"redis_connect_func": self._begin}
            watchers |= {"username": address.sentinel_user, "password": address.sentinel_password}
            sentinel: Any = Sentinel(address.sentinels, sentinel_kwargs=watchers, **settings)  # type: ignore[no-untyped-call]
            return sentinel.master_for(address.service)
        if address.unix_path:
            return redis.Redis(unix_socket_path=address.unix_path, **settings)
        return redis.Redis(host=address.host, port=address.port, **settings)

    def _settings(self) -> dict[str, Any]:
        address = self._address
        settings: dict[str, Any] = {
            "socket_timeout": self._timeout_s,
            "socket_connect_timeout": CONNECT_S,
            "protocol": 2,  # 3 would be one more question for each connection, and tells us nothing
            "driver_info": None,
            "retry": Retry(NoBackoff(), 0),  # a miss is cheaper than a second try
        }
        if address.tls:
            settings |= {"ssl": True, "ssl_ca_certs": address.ca_file, "ssl_certfile": address.cert_file, "ssl_keyfile": address.key_file}
        return settings

    def _begin(self, connection: _Connection) -> None:
        self._note(connection)
        connection.on_connect()
        self._name_it(connection)

    def _name_it(self, connection: _Connection) -> None:
        """Say who we are; a user who may not is none the less welcome."""
        self._note(connection)
        connection.send_command("CLIENT", "SETNAME", self._name, check_health=False)
        try:
            connection.read_response()
        except redis.ResponseError:
            return

    def _note(self, connection: _Connection) -> None:
        with self._lock:
            self._open.add(connection)


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:_TEXT]
