"""The pages that need no token: `/healthz`, `/readyz`, `/metrics`. They show no log line."""

import json
from collections.abc import Callable, Mapping

from worker.http.responses import Page, PageResponse
from worker.observability.exposition import Exposition
from worker.observability.health import Health, Verdict

_JSON = "application/json"


def pages_of(health: Health, exposition: Exposition) -> Mapping[str, Page]:
    """Return the pages by path."""

    def metrics(accept: str) -> PageResponse:
        body, content_type = exposition.text(accept)
        return PageResponse(200, body, content_type)

    return {"/healthz": _page_of(health.alive), "/readyz": _page_of(health.ready), "/metrics": metrics}


def _page_of(verdict_now: Callable[[], Verdict]) -> Page:
    """Return a page that answers 200 or 503, with all checks."""

    def page(_accept: str) -> PageResponse:
        verdict = verdict_now()
        document = {"status": verdict.status, "checks": dict(verdict.checks)}
        return PageResponse(200 if verdict.is_good else 503, json.dumps(document, ensure_ascii=False).encode("utf-8"), _JSON)

    return page
