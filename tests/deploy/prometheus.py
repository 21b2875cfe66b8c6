"""A real Prometheus for tests: Debian's, on loopback, with the settings and rules of deploy/prometheus and targets that tests start.

Where it is not installed, the test is skipped at home and fails in CI.
"""

import http.client
import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlencode

from tests.services.missing import ServerMissing, skip_or_fail
from tests.services.ports import free_port
from tests.stack.look import answers_well, page
from tests.stack.parts import ProgramPart
from tests.stack.prometheus import command

_AGAIN_S = 0.1


class Prometheus:
    """One server of ours, with an empty memory; ended by its process id.

    Thread: the test's.
    """

    def __init__(self, folder: Path, targets: Mapping[str, int]) -> None:
        """`targets`: job → port of 127.0.0.1; jobs without one are left out. Everything is scraped and evaluated every second."""
        self._at = f"127.0.0.1:{free_port()}"
        addresses = {job: f"127.0.0.1:{port}" for job, port in targets.items()}
        try:
            words = command(folder, self._at, addresses, every_s=1)
        except ServerMissing as missing:
            skip_or_fail(str(missing))
        self._part = ProgramPart(
            "prometheus", self._at, lambda: words, folder / "prometheus.log", answers=lambda: answers_well(self._at, "/-/ready")
        )
        self._part.start()

    def query(self, expr: str) -> list[dict[str, Any]]:
        """Return the series of an instant query. Raises AssertionError when it is refused."""
        found: list[dict[str, Any]] = self._get(f"/api/v1/query?{urlencode({'query': expr})}")["result"]
        return found

    def rules(self) -> list[dict[str, Any]]:
        """Return every rule with its health and its last error."""
        return [rule for group in self._get("/api/v1/rules")["groups"] for rule in group["rules"]]

    def wait_for(self, enough: Callable[[], bool], most_s: float) -> bool:
        """Poll; returns whether it became true in time."""
        until_s = time.monotonic() + most_s
        while not enough():
            if time.monotonic() > until_s:
                return False
            assert self._part.lives, "Prometheus has ended"
            time.sleep(_AGAIN_S)
        return True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._part.close()

    def _get(self, path: str) -> dict[str, Any]:
        answer = page(self._at, path)
        assert answer is not None, "Prometheus does not answer"
        status, body = answer
        assert status == http.HTTPStatus.OK, body
        found: dict[str, Any] = json.loads(body)["data"]
        return found
