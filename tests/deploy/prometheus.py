"""A real Prometheus for tests: Debian's, on loopback, with the settings and rules of deploy/prometheus and targets that tests start.

Where it is not installed, the test is skipped at home and fails in CI.
"""

import http.client
import json
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlencode

import yaml

from tests.services.missing import skip_or_fail
from tests.services.ports import free_port
from tests.stack.prometheus import settings_for

_ANSWER_S = 30.0
_STOP_S = 10.0
_ASK_S = 10.0
_AGAIN_S = 0.1


class Prometheus:
    """One server of ours, with an empty memory; ended by its process id.

    Thread: the test's.
    """

    def __init__(self, folder: Path, targets: Mapping[str, int]) -> None:
        """`targets`: job → port of 127.0.0.1; jobs without one are left out. Everything is scraped and evaluated every second."""
        binary = shutil.which("prometheus")
        if binary is None:
            skip_or_fail("prometheus is not installed")
        self._port = free_port()
        self._log = folder / "prometheus.log"
        config = folder / "prometheus.yml"
        config.write_text(yaml.safe_dump(_every_second(targets)), encoding="utf-8")
        options = {
            "config.file": config,
            "storage.tsdb.path": folder / "prometheus",
            "web.listen-address": f"127.0.0.1:{self._port}",
            "log.level": "warn",
        }
        with self._log.open("wb") as output:
            self._process = subprocess.Popen(
                [binary, *(f"--{name}={value}" for name, value in options.items())],
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        try:
            self._await_ready()
        except BaseException:
            self.close()
            raise

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
            assert self._process.poll() is None, self._last_words()
            time.sleep(_AGAIN_S)
        return True

    def close(self) -> None:
        """End it."""
        self._process.terminate()
        try:
            self._process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(_STOP_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _await_ready(self) -> None:
        def is_ready() -> bool:
            try:
                return self._answer("/-/ready")[0] == http.HTTPStatus.OK
            except OSError:
                return False

        assert self.wait_for(is_ready, _ANSWER_S), self._last_words()

    def _get(self, path: str) -> dict[str, Any]:
        status, body = self._answer(path)
        assert status == http.HTTPStatus.OK, body
        found: dict[str, Any] = json.loads(body)["data"]
        return found

    def _answer(self, path: str) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=_ASK_S)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def _last_words(self) -> str:
        return self._log.read_text(encoding="utf-8", errors="replace")[-4000:]


def _every_second(targets: Mapping[str, int]) -> dict[str, Any]:
    """Return the deployed settings with other targets: jobs, paths and rules stay what they are."""
    settings = settings_for({job: f"127.0.0.1:{port}" for job, port in targets.items()})
    settings["global"] = dict.fromkeys(("scrape_interval", "scrape_timeout", "evaluation_interval"), "1s")
    for job in settings["scrape_configs"]:
        for own in ("scrape_interval", "scrape_timeout"):
            job.pop(own, None)
    return settings
