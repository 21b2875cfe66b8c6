"""The only module that uses redis-py: one thread's connection to a server, a master behind sentinels, or a cluster.

`redis_readers` and `redis_writer` give each of their threads one. Whatever the library raises becomes RedisFailed. After any failure
the connections are closed, so that a late reply is never taken for the reply to a later command. It uses only commands that Redis and
Valkey have in common: MGET, SET, INFO.
"""

import threading
import weakref
from collections.abc import Iterator, Mapping, Sequence
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
"""Per address. Connecting may take longer than the read budget: no caller waits for it, and a later fetch finds it done."""
_PIECE_KEYS = 512
"""Keys per MGET: about the fastest, and 0.5 ms of the server's only thread. A caller that leaves early has the pieces received so far."""
_REASON_CHARACTERS = 200
_LIBRARY_CONFUSED = (ValueError, LookupError, TypeError, AttributeError, RuntimeError, MemoryError)
"""What redis-py raises on malformed replies, and when another thread closes the connection that it uses."""


class RedisFailed(Exception):
    """A command failed; the message is one line."""

    def __init__(self, error: Exception) -> None:
        self.name = type(error).__name__
        self.is_refusal = isinstance(error, redis.ResponseError)
        """Whether the server replied with an error."""
        super().__init__(f"{self.name}: {_one_line(error)}")


class _Connection(Protocol):
    """The part of redis-py's untyped connections that is used."""

    def on_connect(self) -> None: ...

    def send_command(self, *words: str, check_health: bool) -> None: ...

    def read_response(self) -> object: ...

    def disconnect(self) -> None: ...


class RedisClient:
    """Connects at first use and again after each failure; `timeout_s` bounds every wait for a part of a reply.

    Thread: one; `drop` from any.
    """

    def __init__(self, address: RedisAddress, *, name: str, timeout_s: float) -> None:
        """`name` is what `CLIENT LIST` shows; does not connect yet."""
        self._address = address
        self._name = name
        self._timeout_s = timeout_s
        self._server: Any = None
        self._lock = threading.Lock()
        self._open: weakref.WeakSet[_Connection] = weakref.WeakSet()

    def connect(self) -> None:
        """Connect unless connected. Raises RedisFailed."""
        if self._server is None:
            with self._translated():
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
            with self._translated():
                values = self._server.mget_nonatomic(piece) if self._address.cluster else self._server.mget(piece)
                if not isinstance(values, list) or len(values) != len(piece):
                    raise redis.InvalidResponse("MGET was not answered with a value for each key")
            yield [value if isinstance(value, bytes) else None for value in values]

    def set(self, frames: Sequence[tuple[bytes, bytes]], ttl_s: float) -> list[RedisFailed | None]:
        """Store values by key; returns the failure of each, or None. Raises RedisFailed if the outcome is unknown."""
        self.connect()
        with self._translated():
            pipeline = self._server.pipeline() if self._address.cluster else self._server.pipeline(transaction=False)
            for key, frame in frames:
                pipeline.set(key, frame, px=round(ttl_s * 1000))
            outcomes = pipeline.execute(raise_on_error=False)
        if any(isinstance(outcome, redis.ReadOnlyError) for outcome in outcomes):
            # The address may lead to the new master by now.
            self.close()
        return [RedisFailed(outcome) if isinstance(outcome, Exception) else None for outcome in outcomes]

    def memory_limit(self) -> tuple[int, str] | None:
        """Return `maxmemory` in bytes (0: unlimited) and its policy; None if the server does not tell. Raises RedisFailed."""
        info = self.info("memory")
        limit, policy = info.get("maxmemory"), info.get("maxmemory_policy")
        return (limit, str(policy)) if isinstance(limit, int) and policy else None

    def info(self, section: str) -> Mapping[str, object]:
        """Return a section of what the server says of itself, of a cluster one node's; empty if it does not tell. Raises RedisFailed."""
        self.connect()
        with self._translated():
            try:
                return dict(self._server.info(section, **({"target_nodes": RedisCluster.DEFAULT_NODE} if self._address.cluster else {})))
            except redis.ResponseError:
                return {}

    def drop(self) -> None:
        """Cut the connections from another thread, so that a wait there fails at once. Never waits."""
        with self._lock:
            connections = list(self._open)
        for connection in connections:
            connection.disconnect()

    def close(self) -> None:
        """Close the connections; the next command opens new ones."""
        self.drop()
        self._server = None

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except (redis.RedisError, RedisClusterException, OSError, *_LIBRARY_CONFUSED) as error:
            self.close()
            raise RedisFailed(error) from error

    def _new_server(self) -> Any:  # noqa: ANN401 - Redis and RedisCluster share no type
        address, settings = self._address, self._settings()
        settings |= {"username": address.user, "password": address.password}
        if address.cluster:
            nodes = [ClusterNode(address.host, address.port)]  # type: ignore[no-untyped-call]
            return RedisCluster(startup_nodes=nodes, require_full_coverage=False, redis_connect_func=self._set_name, **settings)
        settings |= {"redis_connect_func": self._on_connect, "db": address.db}
        if address.sentinels:
            watchers = self._settings() | {"redis_connect_func": self._on_connect}
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
            "protocol": 2,  # 3 would cost one more round trip per connection
            "driver_info": None,
            "retry": Retry(NoBackoff(), 0),  # a miss is cheaper than a second try
        }
        if address.tls:
            settings |= {"ssl": True, "ssl_ca_certs": address.ca_file, "ssl_certfile": address.cert_file, "ssl_keyfile": address.key_file}
        return settings

    def _on_connect(self, connection: _Connection) -> None:
        self._remember(connection)
        connection.on_connect()
        self._set_name(connection)

    def _set_name(self, connection: _Connection) -> None:
        """Set our name; ignored if the user may not."""
        self._remember(connection)
        connection.send_command("CLIENT", "SETNAME", self._name, check_health=False)
        try:
            connection.read_response()
        except redis.ResponseError:
            return

    def _remember(self, connection: _Connection) -> None:
        with self._lock:
            self._open.add(connection)


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:_REASON_CHARACTERS]
