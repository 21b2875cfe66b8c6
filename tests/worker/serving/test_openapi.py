"""`/openapi.json` and docs/api.md say what the app does: the same paths and methods, and answers as they are."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from openapi_spec_validator import validate

from tests.page import stub_documents
from tests.worker.serving.conftest import Serve
from tests.worker.serving.export_lane import ExportLane, lines_at
from tests.worker.serving.schemas import DOCUMENT, check, takes_query
from tests.worker.serving.serving import PATH, Serving, receive
from worker.asking.documents import PageText
from worker.asking.filters import Filters
from worker.asking.question import Query
from worker.serving.api import RequestRules, routes_of
from worker.serving.pending_queries import PendingQueries
from worker.serving.streams import StreamRules
from worker.serving.worker_view import WorkerView
from worker.settings.settings import Settings

NOW_MS = 1_700_000_000_000
DOCUMENTS: dict[str, Any] = {
    "/api/status": stub_documents.status(NOW_MS),
    "/api/lag": stub_documents.lag(NOW_MS),
    "/api/dead-letters": stub_documents.letters(NOW_MS),
    "/api/doctor": stub_documents.doctor(NOW_MS),
    "/api/suggestions": stub_documents.suggestions(NOW_MS),
    "/api/workers": stub_documents.peers(),
    "/api/reindex": stub_documents.reindex(NOW_MS),
}
REPLAYED = {"replayed": 1, "partly": 0, "left": 0, "lines": 3, "unresolved": [{"id": "0/2", "reason": "its bytes were not kept"}]}
PAGES = ("/healthz", "/readyz", "/metrics")
HEALTHY = PageText(b'{"status": "ok", "checks": {"kafka": "ok"}}', "application/json")
ANSWERS: dict[str, Any] = {
    "documents": {path: lambda _given, found=found: found for path, found in DOCUMENTS.items()},
    "actions": {"/api/dead-letters/replay": lambda _given: REPLAYED, "/api/reindex": lambda _given: stub_documents.reindex(NOW_MS)},
    "pages": dict.fromkeys(PAGES, lambda _accept: HEALTHY),
    "settings": Settings(),
}
HEADING = re.compile(r"^## `(.+)`$", re.MULTILINE)
API_PAGE = Path(__file__).parents[3] / "docs" / "api.md"


def serve_all(serve: Serve) -> Serving:
    """Serve everything that a worker serves."""
    return serve(**ANSWERS)


def test_it_is_a_valid_document() -> None:
    validate(DOCUMENT)
    names = [operation["operationId"] for path in DOCUMENT["paths"].values() for operation in path.values()]
    assert len(names) == len(set(names))


def test_it_names_the_paths_and_methods_of_the_app_and_no_others(serve: Serve) -> None:
    assert json.loads(serve_all(serve).get("/openapi.json").value)["paths"] == DOCUMENT["paths"]
    rules = RequestRules(token="", checks_host=True, max_answering=1, max_body_bytes=1, body_s=1, streams=StreamRules())
    queries = PendingQueries(lambda _request: False, max_open=1, timeout_s=1)
    routes = routes_of(queries, rules, WorkerView(take_request=lambda _request: False, **ANSWERS))
    served = {(route.path, method.lower()) for route in routes for method in route.methods or ()}
    named = {(path, method) for path, operations in DOCUMENT["paths"].items() for method in operations}
    assert {one for one in served if one[1] != "head"} == named


def test_all_but_what_it_calls_open_needs_the_token_and_no_foreign_page(serve: Serve) -> None:
    serving = serve(**ANSWERS, token="s3cr3t")  # noqa: S106 - the test's own
    closed = [
        (method.upper(), path)
        for path, operations in DOCUMENT["paths"].items()
        for method, operation in operations.items()
        if operation.get("security") != []
    ]
    assert {path for _, path in closed} == {path for path in DOCUMENT["paths"] if path.startswith("/api/") or path == "/mcp"} - {
        "/api/session"
    }
    for method, path in closed:
        body = b"{}" if method == "POST" else None
        assert serving.refused(body, method=method, path=path).status == 401, path
        assert serving.refused(body, method=method, path=path, Authorization="Bearer s3cr3t2").status == 401, path
        own = {"Authorization": "Bearer s3cr3t"}
        assert serving.refused(body, method=method, path=path, **own, Sec_Fetch_Site="cross-site").status == 403, path


def test_docs_have_a_heading_for_each_path() -> None:
    headings = [name for names in HEADING.findall(API_PAGE.read_text(encoding="utf-8")) for name in names.split("`, `")]
    named = {f"{method.upper()} {path}" for path, operations in DOCUMENT["paths"].items() for method in operations}
    assert sorted(headings) == sorted(named)


@pytest.mark.parametrize("path", DOCUMENTS)
def test_documents_are_as_it_says(serve: Serve, path: str) -> None:
    name = DOCUMENT["paths"][path]["get"]["responses"]["200"]["description"]
    check(name, json.loads(serve_all(serve).get(path).value))


def test_sessions_replays_health_and_errors_are_as_it_says(serve: Serve) -> None:
    serving = serve_all(serve)
    check("Session", json.loads(serving.get("/api/session").value))
    check("Verdict", json.loads(serving.get("/healthz").value))
    check("Replayed", json.loads(receive(serving.send(b"{}", path="/api/dead-letters/replay")).value))
    check("SignedIn", json.loads(receive(serving.send(b'{"token": ""}', path="/api/session")).value))
    check("SignedOut", json.loads(receive(serving.send(None, method="DELETE", path="/api/session")).value))
    for refused in (serving.get("/away"), serving.refused(Content_Type="text/plain"), serving.refused(Sec_Fetch_Site="cross-site")):
        check("Error", json.loads(refused.value))


def test_exported_lines_are_as_it_says(serve: Serve) -> None:
    serving = serve_all(serve)
    serving.replies = ExportLane([one | {"fields": {"a": 1}} for one in lines_at(1, 2)])
    *lines, last = serving.get("/api/export").value.splitlines()
    for line in lines:
        check("Line", json.loads(line))
    check("ExportEnd", json.loads(last))


def test_every_error_that_the_app_gives_is_named_for_its_path(serve: Serve) -> None:
    serving = serve_all(serve)
    responses = DOCUMENT["paths"][PATH]["post"]["responses"]
    for headers, status in (
        ({"Content_Type": "text/plain"}, 415),
        ({"Content_Length": "999999999"}, 413),
        ({"Host": "evil.example"}, 421),
        ({"Origin": "http://evil.example"}, 403),
    ):
        assert serving.refused(b"", **headers).status == status
        assert str(status) in responses


QUERIES: list[tuple[Mapping[str, Any], bool]] = [
    ({"text": "disk", "k": 3, "filters": {"fields": {"pod": "web-1", "status": [502, 503], "ok": True}}}, True),
    ({"as": "counts", "by": ["time", "field:pod"], "buckets": 24}, True),
    ({"as": "counts", "by": [["time", "level"], ["service"]], "facets": True}, True),
    ({"as": "counts", "by": [["time", "level", "topic"]]}, False),
    ({"around": {"topic": "logs", "partition": 0, "offset": 1}}, True),
    ({"as": "counts", "by": ["field"], "filters": {"not_service": ["a"], "not_fields": {"pod": "web-1", "status": [502, 503]}}}, True),
    ({"text": "disk", "filters": {"not_family": ["0123456789abcdef"], "not_template": ["0123456789abcdef" * 2]}}, True),
    ({"text": "disk", "filters": {"not_family": ["disk"]}}, False),
    ({"text": ""}, False),
    ({"texts": "disk"}, False),
    ({"text": "disk", "k": 0}, False),
    ({"text": "disk", "filters": {"since": 1}}, False),
]


@pytest.mark.parametrize(("query", "is_valid"), QUERIES)
def test_the_schema_of_a_query_takes_what_the_worker_takes(query: Mapping[str, Any], is_valid: bool) -> None:  # noqa: FBT001 - a case
    assert takes_query(query) is is_valid
    if is_valid:
        Query.model_validate_json(json.dumps(query))


def test_every_field_of_a_query_is_in_its_schema() -> None:
    shown = DOCUMENT["components"]["schemas"]
    assert set(shown["Query"]["properties"]) == {field.alias or name for name, field in Query.model_fields.items()}
    assert set(shown["Filters"]["properties"]) == set(Filters.model_fields)
