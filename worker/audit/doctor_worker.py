"""Asks the worker that runs on this machine over HTTP, for what only it can see: the folder of Milvus Lite that it holds, its savings.

The doctor's other modules ask it; it may not be there.
"""

import http.client
import json
from collections.abc import Iterator, Mapping
from typing import Any, Final, get_args

from worker.audit.doctor import CHECKS, Check, State
from worker.settings.service_tables import HttpTable

_ANYWHERE: Final[Mapping[str, str]] = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - how to reach one that listens everywhere
_MOST_BYTES: Final = 4 * 1024 * 1024


def ask_worker(table: HttpTable, path: str, *, timeout_s: float) -> dict[str, Any] | None:
    """Return the JSON object that the worker of these settings answers, with status 200 or 503; None without such an answer."""
    if not table.enabled or not table.port:
        return None
    headers = {"Accept": "application/json"}
    if token := table.token.get_secret_value():
        headers["Authorization"] = f"Bearer {token}"
    connection = http.client.HTTPConnection(_ANYWHERE.get(table.host, table.host), table.port, timeout=timeout_s)
    try:
        connection.request("GET", path, headers=headers)
        response = connection.getresponse()
        document = json.loads(response.read(_MOST_BYTES)) if response.status in (http.client.OK, http.client.SERVICE_UNAVAILABLE) else None
    except (OSError, http.client.HTTPException, ValueError):
        return None
    finally:
        connection.close()
    return document if isinstance(document, dict) else None


def checks_of(document: Mapping[str, Any] | None) -> Iterator[Check]:
    """Read the checks of an answer of `/api/doctor`; leaves out what this version does not know."""
    known = {(group, name) for group, names in CHECKS.items() for name in names}
    for one in (document or {}).get("checks", ()):
        if isinstance(one, dict) and (one.get("group"), one.get("name")) in known and one.get("state") in get_args(State):
            yield Check(one["group"], one["name"], one["state"], str(one.get("found", "")), str(one.get("what_to_do", "")))
