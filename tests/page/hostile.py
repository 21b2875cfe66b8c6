"""Lines and labels of somebody who wants the page to run what they wrote, or to look broken."""

from random import Random
from typing import Any

from sinks.line import Line
from tests.page.stub_documents import served_models
from tests.page.stub_lines import Kind, raw_line
from tests.page.stub_world import StubWorld

SCRIPT = "<script>window.pwned = 1; alert('pwned')</script>"
IMAGE = '"><img src=x onerror="window.pwned=2;alert(2)"><svg/onload=window.pwned=3>'
TEMPLATE = "${window.pwned=4}{{constructor.constructor('window.pwned=5')()}}"
ADDRESS = "javascript:window.pwned=6 //evil.example/<a href='https://evil.example/x'>click</a>"
MARKS = "user \u202eadmin\u202c \u2066nested\u2069 \u200f\u05d0\u05d1\u05d2 \u0627\u0644\u062e\u0637\u0623 100% \u202dleft"
CONTROLS = "bell \x07 escape \x1b[31mred\x1b[0m null \x00 tab \t end"
LONG = "A" * 60_000
STACK = 'Traceback (most recent call last):\n  File "a.py", line 1\n' + "    deep()\n" * 400
TEXTS = (SCRIPT, IMAGE, TEMPLATE, ADDRESS, MARKS, CONTROLS, LONG, STACK)
FIELDS = 300
_SEED = 13


def hostile_lines(now_ms: int, first: int) -> list[Line]:
    """Return a line for each of the texts, with the same in its labels and fields; they are the newest."""
    random = Random(_SEED)
    lines = []
    for number, text in enumerate(TEXTS):
        label = text[:200]
        fields: dict[str, Any] = {label: label, "nested": {"deep": [text[:500]]}, "lone": "\ud800"[:0] + "\ufffd"}
        if text is SCRIPT:
            fields |= {f"field.{position}": random.randrange(1000) for position in range(FIELDS)}
        lines.append(raw_line(text, text[:9_000], Kind((), label, "ERROR"), first + number, now_ms + number, fields))
    return lines


def make_hostile(world: StubWorld) -> None:
    """Put hostile text wherever a worker passes on what strangers wrote."""
    world.store(hostile_lines(world.now_ms, len(world.lines)))
    status, lag = world.documents["/api/status"], world.documents["/api/lag"]
    status["worker"] = IMAGE
    status["errors"].append({"time_ms": world.now_ms, "level": "error", "event": SCRIPT + MARKS, "count": 2})
    status["savings"][0]["topic"] = IMAGE
    for model in (served := served_models()):
        model |= {"name": SCRIPT, "error": IMAGE}
    status["served_models"] = served
    status["index_models"] = 2
    for view in world.documents["/api/reindex"]["views"]:
        view["model"] = SCRIPT
    world.documents["/api/reindex"]["error"] = IMAGE
    status["dependencies"][0] |= {"state": "away", "reason": SCRIPT, "since_ms": world.now_ms - 5_000}
    lag["groups"][0]["members"][0]["host"] = IMAGE
    lag["groups"][0]["partitions"][0]["topic"] = SCRIPT
    for letter, text in zip(world.documents["/api/dead-letters"]["letters"], (SCRIPT, LONG[:300], MARKS), strict=True):
        letter |= {"preview": text, "reason": text[:200], "topic": IMAGE}
    for reason, text in zip(world.documents["/api/dead-letters"]["by_reason"], (SCRIPT, MARKS), strict=True):
        reason["reason"] = text
    for check, text in zip(world.documents["/api/doctor"]["checks"], TEXTS, strict=False):
        check |= {"found": text[:300], "what_to_do": IMAGE}
