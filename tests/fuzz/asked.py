"""What must hold of questions, whoever asks: of their answers over a small index, and of bytes that are sent to the HTTP port."""

import json
import random
import socket
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import Any

from consumers.text.families import family_of
from sinks.line import Line
from tests.template_ids import id_of
from tests.worker.serving.serving import WAIT_S, Serving, is_cut_off, receive, reply_to
from tests.world import index_of, line, open_sink, template, unit
from worker.asking.question import Query
from worker.asking.refusals import BadQuery, QueryReply
from worker.asking.requests import QueryRequest, Requester
from worker.querying.answer import Answer
from worker.querying.forms import FORMS, parse_query
from worker.querying.query_words import words_of
from worker.querying.ready_query import ReadyQuery
from worker.runtime.surroundings import Surroundings
from worker.settings.settings import Settings

_TEXTS = ("disk full", "disk full on", "network is down", "login of failed", "payment declined by the issuer", "took too long")
_SERVICES, _LEVELS, _TOPICS = ("web", "db", ""), ("ERROR", "INFO", ""), ("logs", "audit")
_FIELDS = (None, '{"pod":"web-1","code":503}', '{"pod":"web-2","trace_id":"4bf92f3577b34da6"}')
_HOUR_MS = 3_600_000
_LINES = 200

_HOSTILE = ("\x00", "\N{RIGHT-TO-LEFT OVERRIDE}disk", "full " * 800, "000017-x3 " * 12)
_DRAWN_FILTERS: Mapping[str, Sequence[object]] = {
    "service": (["web"], ["db", ""], ["nowhere"]),
    "level": (["ERROR"], ["INFO", "ERROR"], [""]),
    "topic": (["logs"], ["audit", "logs"], []),
    "since_ms": (0, -1, 1 << 61, 1_234_567),
    "until_ms": (0, 1, 2_345_678, 1 << 61),
    "fields": ({"pod": "web-1"}, {"code": 503}, {"pod": ["web-1", "web-2"], "code": 503}, {"": True}, {"a" * 300: 5.5}),
    "trace_id": ("4bf92f3577b34da6", ""),
    "not_service": (["web"], ["db", ""], ["nowhere"]),
    "not_level": (["INFO"], ["ERROR", "INFO", ""]),
    "not_topic": (["audit"], ["logs", "audit"]),
    "not_fields": ({"pod": "web-1"}, {"code": 503, "pod": ["web-2"]}, {"": False}),
    "not_template": ([id_of(_TEXTS[0])], [id_of("unknown")]),
    "not_family": ([family_of(_TEXTS[0])], [family_of(text) for text in _TEXTS], ["0" * 16]),
    "template": ([id_of(_TEXTS[0])], [id_of(_TEXTS[1]), id_of("unknown")]),
}
_DRAWN: Mapping[str, Sequence[object]] = {
    "text": (*_TEXTS, "000017-x3", *_HOSTILE),
    "mode": ("dense", "words", "hybrid", "none"),
    "by": (
        ["service"],
        ["level"],
        ["time", "family"],
        ["field:pod", "topic"],
        ["field:"],
        ["field"],
        ["field", "level"],
        ["service", "service"],
    ),
    "buckets": (2, 1_000, 1_001),
    "top": (1, 1_000),
    "k": (1, 10, 1_000, 0, "10"),
    "per_family": (1, 100, 101),
    "per_template": (1, 3, 0),
    "expand": (True, False),
}
_FITTING: Mapping[str, Sequence[str]] = {
    "lines": ("mode", "k", "per_family", "per_template"),
    "templates": ("text", "k", "expand", "mode"),
    "counts": ("text", "by", "buckets", "top"),
}


def check_answer(given: bytes) -> None:
    """Ask what the bytes say, or, if they begin with an odd one, what is drawn with them as the seed.

    What is no question is refused with the field at fault; any other gets one reply, and every line in it passes the filters.
    """
    is_drawn = bool(given) and given[0] % 2 == 1
    value = json.dumps(drawn_question(random.Random(given))).encode() if is_drawn else given
    for form in FORMS:
        _parsed(value, form)  # as from HTTP
    query = _parsed(value)
    if query is None:
        return
    replies: list[QueryReply] = []
    requester = Requester(lambda reply, deadline_s: replies.append(reply), 0.0)  # noqa: ARG005 - as SendReply calls it
    vector = None if query.text is None or query.mode == "words" else unit(1.0, 2.0, 3.0, 4.0)
    _answer().step([ReadyQuery(requester, query, vector, 0.0, 0.0, words_of(query.text or "").is_exact)])
    (reply,) = replies
    document = json.loads(reply.value)
    assert reply.code == "answered", document
    check_document(document, query)


def check_document(document: Mapping[str, Any], query: Query) -> None:
    """The lines of an answer pass the filters, and exact counts are those of brute force."""
    for hit in () if query.around is not None else document.get("hits", ()):
        assert passes(hit, query), f"{hit} does not pass {query.filters}"
    is_exact = query.form == "counts" and query.text is None and query.top is None and document["complete"]
    if is_exact and query.by in (["service"], ["level"]):
        wanted = sum(passes(_shown(one), query) for one in _lines())
        assert sum(row["lines"] for row in document["counts"]) == wanted, query


def drawn_question(draw: random.Random) -> dict[str, Any]:
    """Return a question about values that lines have and values that none has; not every one is valid."""
    filters = {name: draw.choice(values) for name, values in _DRAWN_FILTERS.items() if draw.random() < 0.25}
    form = draw.choice(tuple(_FITTING))
    names = [name for name in _FITTING[form] if draw.random() < 0.4] + ["text"] * (form == "lines")
    return {name: draw.choice(_DRAWN[name]) for name in names} | {"as": form, "filters": filters}


def passes(hit: Mapping[str, Any], query: Query) -> bool:
    """Whether a line, as a reply shows it, passes the filters of a question."""
    only = query.filters
    labels = ((hit["service"], only.service), (hit["level"], only.level), (hit["topic"], only.topic))
    fields = dict(only.fields) if only.trace_id is None else {**only.fields, "trace_id": [only.trace_id]}
    own = {name: str(value) for name, value in hit.get("fields", {}).items()}
    return (
        (only.since_ms is None or hit["time"] >= only.since_ms)
        and (only.until_ms is None or hit["time"] < only.until_ms)
        and all(not values or value in values for value, values in labels)
        and (not only.template or hit["template"] in only.template)
        and all(own.get(name) in values for name, values in fields.items())
        and hit["service"] not in only.not_service
        and hit["level"] not in only.not_level
        and hit["topic"] not in only.not_topic
        and hit["template"] not in only.not_template
        and family_of(hit["template_text"]) not in only.not_family
        and all(own.get(name) not in values for name, values in only.not_fields.items())
    )


def _parsed(value: bytes, form: str | None = None) -> Query | None:
    try:
        return parse_query(value, form)
    except BadQuery as refused:
        if not refused.reason:
            raise
        return None


def _shown(one: Line) -> dict[str, Any]:
    shown = {"time": one.time, "service": one.service, "level": one.level, "topic": one.topic, "template": one.template}
    shown |= {"template_text": one.template_text}
    return shown | {"fields": json.loads(one.fields or "{}")}


@cache
def _lines() -> tuple[Line, ...]:
    draw = random.Random(11)
    return tuple(
        line(
            n,
            text=f"{text} {n:06d}-x{draw.randrange(9)}",
            template_text=text,
            topic=draw.choice(_TOPICS),
            service=draw.choice(_SERVICES),
            level=draw.choice(_LEVELS),
            time=draw.randrange(_HOUR_MS),
            fields=draw.choice(_FIELDS),
        )
        for n, text in enumerate(draw.choices(_TEXTS, k=_LINES))
    )


@cache
def _answer() -> Answer:
    draw = random.Random(12)
    rows = [template(text, unit(*(draw.uniform(-1, 1) for _ in range(4)))) for text in _TEXTS]
    index = index_of(open_sink(rows, ranks_words=True), _lines())
    return Answer(sink=index.sink, reader=index.reader, surroundings=Surroundings(clock=lambda: 0.0, wall_ms=lambda: 0.0))


_EMPTY: Mapping[str, object] = {
    **dict.fromkeys(("hits", "templates", "counts", "compare", "lines"), ()),
    "dropped_by_level": {},
    **dict.fromkeys(("until_ms", "end_ms", "dropped"), 0),
    "groups": [{"counts": [], "complete": True}] * 4,
    "totals": {},
    "next": None,
    "cursor": "00000000.0",
    "complete": True,
}
"""The answer to a question of any form where nothing is found."""


class _Answering(Serving):
    """Answers every question at once."""

    def take_request(self, request: QueryRequest) -> bool:
        _parsed(request.value or b"")
        reply_to(request, json.dumps(_EMPTY).encode())
        return True


class HttpCheck:
    """Sends bytes to a server's port.

    Thread: one; the server has its own.
    """

    def __init__(self) -> None:
        self._serving = _Answering(token="a-token", settings=Settings())  # noqa: S106 - of the test

    def check(self, given: bytes) -> None:
        """Send the bytes and wait for the end; then the server answers others, and nothing of its own has failed."""
        connection = self._serving.dial()
        with suppress(OSError):  # it may hang up before it has read all
            connection.sendall(given)
            connection.shutdown(socket.SHUT_WR)
        assert is_cut_off(connection)
        answer = receive(self._serving.send(b"{}", Authorization="Bearer a-token"))
        assert answer.status == 200, answer
        assert self._serving.said == [], self._serving.said
        assert self._serving.crashes == []

    def close(self) -> None:
        self._serving.server.close(WAIT_S)
