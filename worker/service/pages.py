"""The pages that need no token: `/healthz`, `/readyz`, `/metrics`. They show no log line."""

import json
from collections.abc import Callable, Mapping

from worker.asking.documents import Page, PageText
from worker.watching.exposition import Exposition
from worker.watching.health import Health, HealthVerdict

_JSON = "application/json"


def pages_of(health: Health, exposition: Exposition) -> Mapping[str, Page]:
    """Return the pages by path."""

    def metrics(accept: str) -> PageText:
        body, content_type = exposition.text(accept)
        return PageText(body, content_type)

    return {"/healthz": _page_of(health.alive), "/readyz": _page_of(health.ready), "/metrics": metrics}


def _page_of(verdict_now: Callable[[], HealthVerdict]) -> Page:
    """Return a page with all checks, good if all pass."""

    def page(_accept: str) -> PageText:
        verdict = verdict_now()
        document = {"status": verdict.status, "checks": dict(verdict.checks)}
        return PageText(json.dumps(document, ensure_ascii=False).encode("utf-8"), _JSON, verdict.is_good)

    return page
