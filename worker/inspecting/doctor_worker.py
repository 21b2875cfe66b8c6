"""Asks the worker that runs on this machine over HTTP, for what only it can see or do: it holds the folder of Milvus Lite.

The doctor's other modules and `vectail reindex` ask it; it may not be there.
"""

import http.client
import json
from collections.abc import Mapping
from typing import Any, Final, NamedTuple, get_args

from worker.inspecting.doctor import Group, State, Verdict
from worker.settings.service_tables import HttpTable

_ANYWHERE: Final[Mapping[str, str]] = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - how to reach one that listens everywhere
_MOST_BYTES: Final = 4 * 1024 * 1024


class WorkerAway(Exception):
    """No worker answers at the address of the settings; the message says where, and why."""


class WorkerAnswer(NamedTuple):
    """What a worker answered."""

    status: int
    """HTTP's."""
    document: dict[str, Any]
    """Empty if it is no JSON object."""


def request_worker(table: HttpTable, path: str, body: Mapping[str, object] | None = None, *, timeout_s: float) -> WorkerAnswer:
    """GET a path of the worker of these settings, or POST `body` to it. Raises WorkerAway.

    What is posted needs no CSRF value: that guards the cookie of a browser, and this sends the token itself.
    """
    if not table.enabled or not table.port:
        reason = "http.port is 0, any free one" if table.enabled else "http.enabled is false"
        raise WorkerAway(f"these settings do not say where a worker answers ({reason})")
    headers = {"Accept": "application/json"}
    if body is not None:
        headers["Content-Type"] = "application/json"
    if token := table.token.get_secret_value():
        headers["Authorization"] = f"Bearer {token}"
    host = _ANYWHERE.get(table.host, table.host)
    connection = http.client.HTTPConnection(host, table.port, timeout=timeout_s)
    try:
        connection.request("GET" if body is None else "POST", path, None if body is None else json.dumps(body), headers)
        response = connection.getresponse()
        return WorkerAnswer(response.status, _json_object(response.read(_MOST_BYTES)))
    except (OSError, http.client.HTTPException) as error:
        raise WorkerAway(f"no worker answers at {host}:{table.port} ({getattr(error, 'strerror', None) or error})") from None
    finally:
        connection.close()


def ask_worker(table: HttpTable, path: str, *, timeout_s: float) -> dict[str, Any]:
    """Return the JSON object that the worker of these settings answers, with status 200 or 503; empty without such an answer."""
    try:
        answer = request_worker(table, path, timeout_s=timeout_s)
    except WorkerAway:
        return {}
    return answer.document if answer.status in (http.client.OK, http.client.SERVICE_UNAVAILABLE) else {}


def _json_object(text: bytes) -> dict[str, Any]:
    try:
        document = json.loads(text)
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}


def ask_doctor(table: HttpTable, group: Group, *, timeout_s: float) -> dict[str, Verdict]:
    """Return what that worker's doctor says of one group; empty without an answer."""
    document = ask_worker(table, f"/api/doctor?group={group}", timeout_s=timeout_s)
    return {
        str(one.get("name")): Verdict(one["state"], str(one.get("found", "")), str(one.get("what_to_do", "")))
        for one in document.get("checks", ())
        if isinstance(one, dict) and one.get("group") == group and one.get("state") in get_args(State)
    }
