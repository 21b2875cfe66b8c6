"""Which JSON records the fast path reads and which it leaves to the general rules; `tests/properties/test_json.py` compares both."""

import json
from itertools import product
from typing import Any

import pytest

from consumers.decode.json_object import JsonObjects

USUAL: list[tuple[dict[str, Any], tuple[str, str, str]]] = [
    ({"msg": "a"}, ("a", "", "")),
    ({"time": "t", "level": "info", "message": "a\n", "service": "cart", "trace": {"id": [1, {"x": None}]}}, ("a\n", "cart", "INFO")),
    ({"log": "a", "stream": "stdout", "kubernetes": {"labels": {"app": "cart", "v": "1"}, "pod": "p"}}, ("a", "cart", "")),
    ({"log.level": "WARN", "message": "a", "service.name": "cart", "ecs.version": "1"}, ("a", "cart", "WARN")),
    ({"log": {"level": "WARN", "file": {}}, "message": "a", "service": {"name": "cart"}, "event": {"kind": "k"}}, ("a", "cart", "WARN")),
    ({"MESSAGE": "a", "PRIORITY": "warning", "host": {"name": "h"}}, ("a", "h", "WARN")),
    ({"@t": "t", "@m": "a", "@l": "Error"}, ("a", "", "ERROR")),
    ({"textPayload": "a", "severity": "NOTICE"}, ("a", "", "INFO")),
    ({"host": "h", "short_message": "a", "version": "1.1"}, ("a", "", "")),
    ({"level": 30, "time": 1531171074631, "pid": 657, "hostname": "h", "msg": "a"}, ("a", "", "INFO")),
    ({"level": 3, "version": "1.1", "host": "h", "short_message": "a"}, ("a", "", "ERROR")),
    ({"level": 30, "msg": "a", "pid": 657}, ("a", "", "")),
    ({"body": "é語", "severity_text": "Debug"}, ("é語", "", "DEBUG")),
]
"""Documents, and (text, service, level)."""


@pytest.mark.parametrize(("document", "entry"), USUAL)
def test_what_loggers_usually_write_is_read(document: dict[str, Any], entry: tuple[str, str, str]) -> None:
    objects = JsonObjects()
    for ascii_only in (True, False):
        value = json.dumps(document, ensure_ascii=ascii_only).encode()
        text, service, level = objects.read([value, b" " + value])
        assert list(zip(text, service, level, strict=True)) == [entry, entry]


@pytest.mark.parametrize(
    "value",
    [
        *(b"{}", b"[]", b'[{"msg":"a"}]', b'{"msg":""}', b'{"msg":5}', b'{"msg":{"name":"a"}}', b'{"n":1}', b'{"msg":"a"', b"{"),
        *(b'{"msg":"a","level":1001}', b'{"msg":"a","level":0}', b'{"msg":"a","level":30,"pid":"7","time":1,"hostname":"h"}'),
        *(b'{"msg":"a","level":30,"severity":"info"}', b'{"msg":"a","level":30,"PRIORITY":3}', b'{"msg":"a","level":99999999999999999999}'),
        *(b'{"msg":"a","level":"?"}', b'{"msg":"a","level":{"name":"info"}}'),
        *(b'{"event":{"original":"a"}}', b'{"msg":"a","service":5}', b'{"msg":"a","host":{"name":5}}', b'{"msg":"a","severity_number":9}'),
        b'{"msg":"a","n":' + b"[" * 5_000 + b"]" * 4_999 + b"}",
    ],
)
def test_everything_else_is_left_to_the_general_rules(value: bytes) -> None:
    good = b'{"msg":"b"}'
    assert JsonObjects().read([good, value, good]).text == ["b", None, "b"]


def test_names_of_levels_are_known_also_after_more_than_can_be_remembered() -> None:
    objects = JsonObjects()
    names = ["".join(letters) for letters in product(*zip("information", "INFORMATION", strict=True))]
    values = [json.dumps({"msg": "x", "level": name}).encode() for name in [*names, "warn", *names]]
    assert objects.read(values).level == ["INFO"] * len(names) + ["WARN"] + ["INFO"] * len(names)
    assert len(objects._levels) < len(names)  # noqa: SLF001 - the bound cannot be seen from outside
