"""`POST /api/lookup`: what kind of line a pasted one is, asked of the query lane like everything else."""

import json
from typing import Any

import pytest

from tests.template_ids import id_of
from tests.worker.serving.conftest import Serve
from tests.worker.serving.schemas import check
from tests.worker.serving.serving import receive
from worker.asking.refusals import QueryReply, error_document
from worker.asking.requests import QueryRequest
from worker.settings.settings import Settings

MASKED = "disk is full"
OLD_MS, DAY_MS = 1_600_000_000_000, 86_400_000


def family(**more: object) -> dict[str, Any]:
    return {"template": id_of(MASKED), "text": MASKED, "lines": 7, "first": OLD_MS, "last": OLD_MS, "example": None, **more}


def answers(templates: list[dict[str, Any]], begins_ms: int, asked: list[dict[str, Any]]) -> Any:  # noqa: ANN401 - a function of Serving
    def reply(request: QueryRequest) -> QueryReply:
        query = json.loads(request.value or b"{}")
        asked.append(query)
        wanted = query.get("filters", {}).get("template")
        found = [one for one in templates if wanted is None or one["template"] in wanted]
        counts = [{"topic": "logs", "lines": 9, "first": begins_ms, "last": begins_ms}]
        answer = {"counts": counts, "by": ["topic"]} if query["as"] == "counts" else {"templates": found}
        return QueryReply(json.dumps({**answer, "complete": True, "seconds": {}}).encode(), "answered")

    return reply


@pytest.mark.parametrize(
    ("first_ms", "begins_ms", "is_new"),
    [(OLD_MS, OLD_MS, False), (OLD_MS + 3, OLD_MS, True), (OLD_MS + 3, OLD_MS + 2, None)],
    ids=["old", "new", "in an index that begins later"],
)
def test_a_line_whose_kind_is_known_tells_how_often_it_came_and_whether_it_is_new(
    serve: Serve, first_ms: int, begins_ms: int, is_new: object
) -> None:
    serving = serve(settings=Settings())
    serving.replies = answers([family(first=first_ms), family(template="0" * 32)], begins_ms, [])
    found = receive(serving.send(json.dumps({"line": "disk 7 is full", "new_since_ms": OLD_MS + 1}), path="/api/lookup"))
    document = json.loads(found.value)
    check("LookedUp", document)
    assert (document["found"], document["is_new"], document["masked"][0]["text"]) == (True, is_new, MASKED)
    assert [(one["template"], one["lines"]) for one in document["templates"]] == [(id_of(MASKED), 7)]


def test_of_an_unknown_kind_the_nearest_come_and_the_line_is_no_question_with_operators(serve: Serve) -> None:
    serving = serve(settings=Settings())
    asked: list[dict[str, Any]] = []
    serving.replies = answers([family(template="0" * 32)], OLD_MS, asked)
    line = "disk 7 is -full " + "x" * 5_000
    document = json.loads(receive(serving.send(json.dumps({"line": line}), path="/api/lookup")).value)
    assert (document["found"], document["is_new"], len(document["templates"])) == (False, None, 1)
    assert (asked[-1]["text"], asked[-1]["operators"], asked[-1]["mode"]) == (line[:4_096], False, "dense")


@pytest.mark.parametrize(
    ("body", "field"),
    [({}, "line"), ({"line": ""}, "line"), ({"line": "x", "new_since_ms": "1h"}, "new_since_ms"), ({"lines": "x"}, "line")],
)
def test_a_body_that_cannot_be_used_is_refused_by_its_field(serve: Serve, body: dict[str, Any], field: str) -> None:
    answer = serve(settings=Settings()).refused(json.dumps(body), path="/api/lookup")
    assert (answer.status, answer.error["code"], answer.error["field"]) == (400, "bad_query", field)


def test_an_index_that_does_not_answer_is_said(serve: Serve) -> None:
    serving = serve(settings=Settings())
    serving.replies = lambda _request: QueryReply(error_document("unavailable", "Milvus is away"), "unavailable")
    answer = receive(serving.send(b'{"line": "disk 7 is full"}', path="/api/lookup"))
    assert (answer.status, answer.error["code"]) == (503, "unavailable")
    assert "Milvus is away" in answer.error["reason"]
