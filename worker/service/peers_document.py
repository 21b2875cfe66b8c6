"""The document at `/api/workers`: the state of every worker in `http.peers`, so that one page shows them all.

1. Only the settings say who is asked, and always for the same path, `/api/status`: no request chooses an address or a path.
2. A peer tells its own state and asks nobody, so there are no loops, whoever lists whom.
3. A peer has `PEER_S`. One that has not answered by then is away, and is not asked again while its last answer is still awaited; so however
   slow peers are, there are never more than `MOST_PEERS` requests to them, and as many name lookups as there are settings.
"""

import http.client
import json
import socket
import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, Generic, NamedTuple, TypeVar

from worker.asking.worker_answers import PeerJson, WorkersJson
from worker.settings.service_tables import HttpTable, PeerAddress

PEER_S: Final = 1.0
MOST_PEERS: Final = 64
_PATH: Final = "/api/status"
_MOST_BYTES: Final = 1024 * 1024
_MOST_CHARACTERS: Final = 200
Found = TypeVar("Found")


class PeersDocument:
    """Asks all peers again for each request.

    Thread: one at a time.
    """

    def __init__(self, table: HttpTable, *, own_name: str) -> None:
        self._peers = table.peers
        self._token = table.token.get_secret_value()
        self._own_name = own_name
        self._lookups: _Threads[list[_Address]] = _Threads()
        self._requests: _Threads[PeerJson] = _Threads()

    def document(self, _params: Mapping[str, str]) -> WorkersJson:
        """Return it; without peers, an empty list."""
        found = self._lookups.run({peer: partial(_addresses_of, peer) for peer in self._peers}, PEER_S)
        addresses = dict.fromkeys(address for peer in self._peers for address in found.get(peer, ()))
        asked = {str(address): partial(_ask_peer, address, self._token) for address in [*addresses][:MOST_PEERS]}
        answers = self._requests.run(asked, PEER_S)
        late = f"no answer within {PEER_S:g} s"
        workers = [answers.get(name) or _away(name, late) for name in asked]
        workers += [_away(peer, "its name is not known" if peer in found else late) for peer in self._peers if not found.get(peer)]
        return {"workers": [{**one, "is_self": one["worker"] == self._own_name} for one in workers]}


class _Address(NamedTuple):
    host: str
    port: int
    name: str
    """As the settings have it."""

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        here = f"{host}:{self.port}"
        return here if here == self.name else f"{self.name} ({here})"


class _Threads(Generic[Found]):
    """Runs calls beside each other and waits so long and no longer; of each key one call at a time.

    Thread: one at a time; the calls have daemon threads of their own.
    """

    def __init__(self) -> None:
        self._running: dict[str, threading.Thread] = {}

    def run(self, calls: Mapping[str, Callable[[], Found]], within_s: float) -> dict[str, Found]:
        """Return what the calls return that end in time; they must not raise."""
        found: dict[str, Found] = {}
        self._running = {key: thread for key, thread in self._running.items() if thread.is_alive()}
        until_s = time.monotonic() + within_s
        for key, call in calls.items():
            if key not in self._running:
                thread = threading.Thread(target=lambda key=key, call=call: found.update({key: call()}), name="peer", daemon=True)
                self._running[key] = thread
                thread.start()
        for key in calls:
            self._running[key].join(max(until_s - time.monotonic(), 0.0))
        return dict(found)


def _addresses_of(peer: PeerAddress) -> list[_Address]:
    """Return all addresses that a name has; an empty list if there are none."""
    host, _, port = peer.rpartition(":")
    try:
        found = socket.getaddrinfo(host.strip("[]"), int(port), type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return []
    return [*dict.fromkeys(_Address(str(place[0]), int(port), peer) for *_, place in found)]


def _ask_peer(address: _Address, token: str) -> PeerJson:
    """Return what a worker says of itself, or why it says nothing."""
    connection = http.client.HTTPConnection(address.host, address.port, timeout=PEER_S)
    headers = {"Accept": "application/json", **({"Authorization": f"Bearer {token}"} if token else {})}
    try:
        connection.request("GET", _PATH, headers=headers)
        response = connection.getresponse()
        body = response.read(_MOST_BYTES)
    except (OSError, http.client.HTTPException) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error) or type(error).__name__
        return _away(str(address), reason)
    finally:
        connection.close()
    if response.status == http.client.UNAUTHORIZED:
        return _away(str(address), "it rejects the token: all workers need the same http.token")
    try:
        document = json.loads(body)
        return _told(str(address), document)
    except (ValueError, KeyError, TypeError, AttributeError):
        return _away(str(address), f"no worker of this version: it answered {response.status}")


def _told(address: str, status: Mapping[str, Any]) -> PeerJson:
    """Return what is shown of a status. Raises KeyError, TypeError or AttributeError for anything else."""
    ready = status["ready"]
    wrong = [f"{name}: {state}" for name, state in ready["checks"].items() if state != "ok"]
    firing = [str(one["name"]) for one in status["conditions"] if one["state"] == "firing"]
    rate = status["rates"]["lines_per_s"]
    return {
        "address": address,
        "worker": str(status["worker"])[:_MOST_CHARACTERS],
        "version": str(status["version"])[:_MOST_CHARACTERS],
        "state": "ready" if ready["status"] == "ready" else "not_ready",
        "reason": "; ".join(wrong)[:_MOST_CHARACTERS],
        "firing": firing[:_MOST_CHARACTERS],
        "partitions": len(status["assignments"]),
        "lines_per_s": None if rate is None else float(rate),
        "is_self": False,
    }


def _away(address: str, reason: str) -> PeerJson:
    return {
        "address": address,
        "worker": "",
        "version": "",
        "state": "away",
        "reason": reason[:_MOST_CHARACTERS],
        "firing": [],
        "partitions": 0,
        "lines_per_s": None,
        "is_self": False,
    }
