"""The answers of the API as JSON Schemas, for `/openapi.json`: `worker.http.openapi` has the paths.

Requests come from their pydantic models. Answers are written down here, and the tests compare real answers with them. A program that reads
answers must not mind further keys.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from worker.asking.filters import FILTERS
from worker.asking.question import Query
from worker.querying.around import AROUND
from worker.querying.forms import FORMS

Schema = Mapping[str, Any]
_TEXT: Schema = {"type": "string"}
_FLAG: Schema = {"type": "boolean"}
_COUNT: Schema = {"type": "integer", "minimum": 0}
_NUMBER: Schema = {"type": "number"}
_MS: Schema = {"type": "integer", "description": "milliseconds since 1970"}
_SECONDS: Schema = {"type": "number", "description": "seconds"}
_VALUE: Schema = {"anyOf": [_TEXT, _NUMBER, _FLAG]}


def ref(name: str) -> Schema:
    """Return a reference to a schema of `schemas()`."""
    return {"$ref": f"#/components/schemas/{name}"}


def _object(optional: Iterable[str] = (), /, **properties: Schema) -> Schema:
    """Return an object; all its keys but the optional ones are always there."""
    left_out = set(optional)
    return {"type": "object", "properties": properties, "required": [name for name in properties if name not in left_out]}


def _list(of: Schema) -> Schema:
    return {"type": "array", "items": of}


def _or_null(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


def _one_of(*values: str) -> Schema:
    return {"type": "string", "enum": list(values)}


_TIMES: Mapping[str, Schema] = {"first": _MS, "last": _MS}
_NAMED: Mapping[str, Schema] = {"family": _TEXT, "name": _TEXT}
_LINE: Mapping[str, Schema] = {
    "id": _TEXT,
    "text": {**_or_null(_TEXT), "description": "null if the line was sampled"},
    "time": _MS,
    "kafka_time": _MS,
    "service": _TEXT,
    "level": _TEXT,
    "template": _TEXT,
    "template_text": _TEXT,
    "topic": _TEXT,
    "partition": _COUNT,
    "offset": _COUNT,
    "sub": _COUNT,
    "chunk": _COUNT,
    "chunks": _COUNT,
    "fields": {"description": "kept fields, by name", "anyOf": [{"type": "object"}, _TEXT]},
    "sampled": _FLAG,
}
_OF_SOME_LINES: Final = ("fields", "sampled")
_ANSWERED: Mapping[str, Schema] = {
    "complete": {"type": "boolean", "description": "false when a bound or the deadline cut it short"},
    "mode": _one_of("dense", "words", "hybrid"),
    "seconds": {"type": "object", "additionalProperties": _NUMBER},
}
_OF_SOME_ANSWERS: Final = ("mode",)
_HIT: Schema = _object(
    (*_OF_SOME_LINES, "score", "name", "family", "family_templates", "family_lines", "family_first", "family_last"),
    **_LINE,
    **_NAMED,
    score=_NUMBER,
    family_templates=_COUNT,
    family_lines=_COUNT,
    family_first=_MS,
    family_last=_MS,
)
_FAMILY: Schema = _object(
    ("name", "template", "templates", "score", "family"),
    **_NAMED,
    **_TIMES,
    text=_TEXT,
    template=_TEXT,
    templates=_COUNT,
    lines=_COUNT,
    example=_or_null(_TEXT),
    score=_NUMBER,
)
_COUNTED: Schema = {
    **_object(("family", "name", "time"), **_TIMES, **_NAMED, time=_MS, lines=_COUNT),
    "additionalProperties": _TEXT,
    "description": "what it is counted by, under its name: a field as `field:NAME`",
}
_CHANGE: Schema = _object(
    ("name", "template"),
    change=_one_of("new", "gone", "up", "down"),
    **_NAMED,
    **_TIMES,
    template=_TEXT,
    text=_TEXT,
    templates=_COUNT,
    lines=_COUNT,
    before=_COUNT,
    ratio=_or_null(_NUMBER),
)
_QUERY: Schema = {**ref("Query"), "description": "the question for what follows; null if nothing does"}
_QUERIES: Mapping[str, Schema] = {
    "Error": _object(error=_object(code=_TEXT, field=_TEXT, reason=_TEXT)),
    "Line": _object(_OF_SOME_LINES, **_LINE),
    "Hits": _object(_OF_SOME_ANSWERS, hits=_list(_HIT), **_ANSWERED),
    "Templates": _object(_OF_SOME_ANSWERS, templates=_list(_FAMILY), **_ANSWERED),
    "Counts": _object(
        (*_OF_SOME_ANSWERS, "bucket_ms"), counts=_list(_COUNTED), by=_list(_TEXT), bucket_ms={"type": "integer", "minimum": 1}, **_ANSWERED
    ),
    "Changes": _object(_OF_SOME_ANSWERS, compare=_list(_CHANGE), totals=_object(lines=_COUNT, before=_COUNT), **_ANSWERED),
    "Searched": {"anyOf": [ref(name) for name in ("Hits", "Templates", "Counts", "Changes", "Exported", "Tailed")]},
    "Exported": _object(_OF_SOME_ANSWERS, lines=_list(ref("Line")), until_ms=_MS, end_ms=_MS, next=_or_null(_QUERY), **_ANSWERED),
    "Tailed": _object(_OF_SOME_ANSWERS, lines=_list(ref("Line")), cursor=_TEXT, dropped=_COUNT, **_ANSWERED),
    "ExportEnd": _object(
        export=_object(
            state=_one_of("complete", "stopped"),
            lines=_COUNT,
            until_ms=_or_null(_MS),
            end_ms=_or_null(_MS),
            next=_or_null(ref("Query")),
            reason=_TEXT,
        ),
    ),
    "TailEvent": _object(lines=_list(ref("Line")), dropped=_COUNT, complete=_FLAG),
}
_SESSION: Mapping[str, Schema] = {
    "Session": _object(needs_token=_FLAG, signed_in=_FLAG, csrf=_TEXT, worker=_TEXT, version=_TEXT),
    "SignIn": _object(token=_TEXT),
    "SignedIn": _object(signed_in=_FLAG, csrf=_TEXT),
    "SignedOut": _object(signed_in=_FLAG),
}
_VERDICT: Schema = _object(status=_TEXT, checks={"type": "object", "additionalProperties": _TEXT})
_QUANTILES: Mapping[str, Schema] = {"p50_s": _or_null(_NUMBER), "p99_s": _or_null(_NUMBER)}
_STATUS: Schema = _object(
    version=_TEXT,
    worker={"type": "string", "description": "the process that answers"},
    phase=_one_of("starting", "running", "stopping"),
    now_ms=_MS,
    uptime_s=_SECONDS,
    ready=_VERDICT,
    alive=_VERDICT,
    searchable=_or_null(_object(("since_start",), **_QUANTILES, lines=_COUNT, since_start=_FLAG)),
    canary=_or_null(_object(**_QUANTILES, found=_COUNT, lost=_COUNT)),
    engine=_object(
        ("restarts",),
        name=_TEXT,
        model=_TEXT,
        is_up=_FLAG,
        busy_share=_or_null(_NUMBER),
        templates=_COUNT,
        tokens=_COUNT,
        restarts=_COUNT,
    ),
    rates=_object(lines_per_s=_or_null(_NUMBER)),
    savings=_list(_object(topic=_TEXT, lines=_COUNT, chunks=_COUNT, tokens=_COUNT, tokens_saved=_COUNT, saved_share=_or_null(_NUMBER))),
    index=_object(("written_lines",), blocks=_or_null(_COUNT), templates=_or_null(_COUNT), lines=_or_null(_COUNT), written_lines=_COUNT),
    masks=_TEXT,
    dependencies=_list(_object(name=_TEXT, state=_one_of("ok", "away"), reason=_TEXT, since_ms=_or_null(_MS))),
    assignments=_list(_object(group=_TEXT, topic=_TEXT, partition=_COUNT)),
    errors=_list(_object(time_ms=_MS, level=_TEXT, event=_TEXT, count=_COUNT)),
    conditions=_list(
        _object(
            ("look_at",),
            name=_TEXT,
            severity=_one_of("warning", "critical"),
            state=_one_of("ok", "firing"),
            summary=_TEXT,
            what_to_do=_TEXT,
            look_at=_TEXT,
            since_ms=_or_null(_MS),
        )
    ),
)
_BEHIND: Mapping[str, Schema] = {
    "records": _COUNT,
    "seconds": _or_null(_NUMBER),
    "drain_s": _or_null(_NUMBER),
    "is_never_drained": {"type": "boolean", "description": "more arrives than is read"},
}
_LAG: Schema = _object(
    asked_ms=_MS,
    groups=_list(
        _object(
            ("is_never_drained", "most_records", "read_ms"),
            group=_TEXT,
            kind=_one_of("logs", "queries"),
            state=_TEXT,
            protocol=_or_null(_TEXT),
            members=_list(_object(member=_TEXT, host=_TEXT, partitions=_list(_TEXT))),
            **_BEHIND,
            most_records={**_COUNT, "description": "of the partition that is furthest behind"},
            read_ms={**_or_null(_MS), "description": "when Kafka last answered"},
            partitions=_list(
                _object(
                    ("is_never_drained",),
                    topic=_TEXT,
                    partition=_COUNT,
                    committed=_or_null({"type": "integer"}),
                    end=_or_null({"type": "integer"}),
                    **_BEHIND,
                    member=_or_null(_TEXT),
                    history={**_list(_list(_NUMBER)), "description": "[milliseconds since 1970, records], oldest first"},
                )
            ),
        )
    ),
    error={**_or_null(_TEXT), "description": "why Kafka does not answer; the figures are the last known ones then"},
)
_LETTERS: Schema = _object(
    ("replayed",),
    letters=_list(
        _object(
            ("pieces", "partly_replayed"),
            id={"type": "string", "description": "PARTITION/OFFSET in the dead-letter topic"},
            topic=_TEXT,
            partition=_COUNT,
            offset=_COUNT,
            time_ms=_MS,
            stage=_TEXT,
            kind=_TEXT,
            reason=_TEXT,
            preview=_TEXT,
            size_bytes=_COUNT,
            pieces=_or_null(_COUNT),
            replayable=_FLAG,
            obstacle=_TEXT,
            replayed=_FLAG,
            partly_replayed=_FLAG,
        )
    ),
    by_reason=_list(_object(reason=_TEXT, topic=_TEXT, letters=_COUNT)),
    total=_COUNT,
    replayed=_COUNT,
    complete=_FLAG,
    dead_letter_topic=_TEXT,
)
_CHECK: Schema = _object(name=_TEXT, group=_TEXT, state=_one_of("ok", "warning", "problem"), found=_TEXT, what_to_do=_TEXT)
_DOCUMENTS: Mapping[str, Schema] = {
    "Verdict": _VERDICT,
    "Status": _STATUS,
    "Lag": _LAG,
    "DeadLetters": _LETTERS,
    "Replay": _object(ids={**_list({"type": "string", "pattern": r"^\d+/\d+$"}), "minItems": 1, "maxItems": 100}),
    "Replayed": _object(
        ("already",),
        replayed=_COUNT,
        already=_COUNT,
        partly=_COUNT,
        left=_COUNT,
        lines=_COUNT,
        unresolved=_list(_object(id=_TEXT, reason=_TEXT)),
    ),
    "Doctor": _object(checks=_list(_CHECK), worst=_one_of("ok", "warning", "problem"), seconds=_SECONDS, asked_ms=_MS),
}


def schemas() -> dict[str, Schema]:
    """Return all schemas by name: those of requests from their models, and those of answers."""
    query = Query.model_json_schema(ref_template="#/components/schemas/{model}")
    models: dict[str, Any] = query.pop("$defs")
    query["properties"]["as"] |= {"enum": [name for name, form in FORMS.items() if form is not AROUND]}
    for name, of in FILTERS.items():
        if of.value == "NAME=VALUE":  # one value stands for a list
            models["Filters"]["properties"][name]["additionalProperties"] = {"anyOf": [_VALUE, _list(_VALUE)]}
    return {"Query": query, **models, **_QUERIES, **_SESSION, **_DOCUMENTS}
