"""Asks the worker that runs on this machine over HTTP, for what only it can see: the folder of Milvus Lite that it holds, its savings.

The doctor's other modules ask it; it may not be there.
"""

import http.client
import json
from collections.abc import Mapping
from typing import Any, Final, get_args

from worker.inspecting.doctor import Group, State, Verdict
from worker.settings.service_tables import HttpTable

_ANYWHERE: Final[Mapping[str, str]] = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - how to reach one that listens everywhere
_MOST_BYTES: Final = 4 * 1024 * 1024


def ask_worker(table: HttpTable, path: str, *, timeout_s: float) -> dict[str, Any]:
    """Return the JSON object that the worker of these settings answers, with status 200 or 503; empty without such an answer."""
    if not table.enabled or not table.port:
        return {}
    headers = {"Accept": "application/json"}
    if token := table.token.get_secret_value():
        headers["Authorization"] = f"Bearer {token}"
    connection = http.client.HTTPConnection(_ANYWHERE.get(table.host, table.host), table.port, timeout=timeout_s)
    try:
        connection.request("GET", path, headers=headers)
        response = connection.getresponse()
        document = json.loads(response.read(_MOST_BYTES)) if response.status in (http.client.OK, http.client.SERVICE_UNAVAILABLE) else None
    except (OSError, http.client.HTTPException, ValueError):
        return {}
    finally:
        connection.close()
    return document if isinstance(document, dict) else {}


def ask_doctor(table: HttpTable, group: Group, *, timeout_s: float) -> dict[str, Verdict]:
    """Return what that worker's doctor says of one group; empty without an answer."""
    document = ask_worker(table, f"/api/doctor?group={group}", timeout_s=timeout_s)
    return {
        str(one.get("name")): Verdict(one["state"], str(one.get("found", "")), str(one.get("what_to_do", "")))
        for one in document.get("checks", ())
        if isinstance(one, dict) and one.get("group") == group and one.get("state") in get_args(State)
    }
