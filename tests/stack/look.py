"""What a stack says of itself over HTTP: the worker's /readyz, and the alerts that Prometheus has now."""

import http.client
import json
from collections.abc import Mapping
from typing import Any, NamedTuple

_ASK_S = 5.0


class Readiness(NamedTuple):
    """What /readyz said."""

    code: int
    status: str
    checks: Mapping[str, str]

    def wrong(self) -> dict[str, str]:
        """Return what is not well, by name."""
        return {name: said for name, said in self.checks.items() if said != "ok"}


class Alert(NamedTuple):
    """One alert."""

    name: str
    state: str
    """`pending` until it has been so for as long as the rule says, then `firing`."""
    labels: Mapping[str, str]

    def __str__(self) -> str:
        what = " ".join(self.labels[name] for name in ("dependency", "topic", "partition", "group", "level") if name in self.labels)
        return f"{self.state} {self.name}{f' {what}' if what else ''} ({self.labels.get('severity', 'no severity')})"


def page(address: str, path: str) -> tuple[int, bytes] | None:
    """Return the code and the body that `host:port` answers; None if it does not."""
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
    """Whether the answer is 200."""
    answer = page(address, path)
    return answer is not None and answer[0] == http.HTTPStatus.OK


def readiness(worker: str) -> Readiness | None:
    """Return what the worker says; None when it says nothing."""
    answer = page(worker, "/readyz")
    if answer is None:
        return None
    said: dict[str, Any] = json.loads(answer[1])
    return Readiness(answer[0], said["status"], said["checks"])


def alerts(prometheus: str) -> list[Alert] | None:
    """Return all alerts, pending and firing; None when Prometheus says nothing."""
    answer = page(prometheus, "/api/v1/alerts")
    if answer is None or answer[0] != http.HTTPStatus.OK:
        return None
    found = json.loads(answer[1])["data"]["alerts"]
    return sorted((Alert(one["labels"]["alertname"], one["state"], one["labels"]) for one in found), key=str)
