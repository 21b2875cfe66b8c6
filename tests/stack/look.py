"""The state of a stack over HTTP: the worker's /readyz, and Prometheus' current alerts."""

import http.client
import json
from collections.abc import Mapping
from typing import Any, NamedTuple

_ASK_S = 20.0
"""The doctor waits for what is away."""


class Readiness(NamedTuple):
    """An answer of /readyz."""

    code: int
    status: str
    checks: Mapping[str, str]

    def wrong(self) -> dict[str, str]:
        """Return the failing checks by name, with their reasons."""
        return {name: said for name, said in self.checks.items() if said != "ok"}


class Alert(NamedTuple):
    """One alert."""

    name: str
    state: str
    """`pending` for as long as the rule's `for`, then `firing`."""
    labels: Mapping[str, str]

    def __str__(self) -> str:
        what = " ".join(self.labels[name] for name in ("dependency", "topic", "partition", "group", "level") if name in self.labels)
        return f"{self.state} {self.name}{f' {what}' if what else ''} ({self.labels.get('severity', 'no severity')})"


def page(address: str, path: str) -> tuple[int, bytes] | None:
    """Return the status code and the body that `host:port` answers; None without an answer."""
    connection = http.client.HTTPConnection(address, timeout=_ASK_S)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read()
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()


def answers_well(address: str, path: str) -> bool:
    """Return whether the answer is 200."""
    answer = page(address, path)
    return answer is not None and answer[0] == http.HTTPStatus.OK


def readiness(worker: str) -> Readiness | None:
    """Return the worker's answer; None without one."""
    answer = page(worker, "/readyz")
    if answer is None:
        return None
    said: dict[str, Any] = json.loads(answer[1])
    return Readiness(answer[0], said["status"], said["checks"])


def document(worker: str, path: str) -> dict[str, Any]:
    """Return a JSON document of the worker's API; empty without an answer."""
    answer = page(worker, path)
    found: dict[str, Any] = {} if answer is None or answer[0] != http.HTTPStatus.OK else json.loads(answer[1])
    return found


def alerts(prometheus: str) -> list[Alert] | None:
    """Return all alerts, pending and firing; None without an answer."""
    answer = page(prometheus, "/api/v1/alerts")
    if answer is None or answer[0] != http.HTTPStatus.OK:
        return None
    found = json.loads(answer[1])["data"]["alerts"]
    return sorted((Alert(one["labels"]["alertname"], one["state"], one["labels"]) for one in found), key=str)
