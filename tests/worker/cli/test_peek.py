"""`vectail peek`: what it says of records, from a file and from a topic, and that it leaves nothing behind."""

import gzip
import io
import json
import time
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from rich.console import Console

from consumers.text.mask import MASKS_VERSION
from producers.kafka import EmbeddedBroker
from tests.model_fixture import CACHE
from worker.cli.peek import PeekOptions, peek
from worker.cli.peek_screen import show_peek
from worker.cli.screen import Screen
from worker.settings.settings import load_settings

KAFKA_MS = 1_795_000_000_000
LINES = (
    b"2026-11-22T10:00:00Z ERROR payment failed for user 42",
    b'{"message":"hello","level":"info","trace_id":"ab12","order":{"id":77}}',
    b'{"foo": 1}',
    b"<34>1 2026-11-22T10:00:01Z web-1 sshd 42 ID1 - Failed password for root",
    b"",
    b"{broken",
)


def look(source: Path | str, *, number: int = 10, tables: dict[str, Any] | None = None, **options: Any) -> dict[str, Any]:  # noqa: ANN401
    settings = load_settings(None, {"model": {"cache": str(CACHE)}, **(tables or {})})
    return peek(settings, PeekOptions(source=str(source), number=number, **options))


def shown(told: dict[str, Any]) -> str:
    out = io.StringIO()
    show_peek(Screen(console=Console(file=out, width=80, force_terminal=True, color_system=None, highlight=False)), told)
    return out.getvalue()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "mixed.log"
    path.write_bytes(b"".join(line + b"\n" for line in LINES))
    return path


def test_a_piece_of_a_line_is_said_to_be_one(tmp_path: Path) -> None:
    path = tmp_path / "container.log"
    path.write_bytes(b"2026-11-22T10:00:00Z stdout P one half \n2026-11-22T10:00:00Z stdout F and the other\n")
    first, second = look(path)["records"]
    assert ("joins it with the records behind it" in first["notes"][0], second["notes"]) == (True, [])


def test_what_was_repaired_or_read_inside_is_said(tmp_path: Path) -> None:
    path = tmp_path / "spoiled.log"
    path.write_bytes(b'{"msg":"a","v":NaN}\n{"msg":"\xff\t"}\n2026-11-22T10:00:00Z stdout F {"msg":"c"}\n{"msg":"d"}\n')
    assert [one["notes"] for one in look(path)["records"]] == [
        ["repaired: NaN, an infinity or a number that is too large became null"],
        ["bytes that are not UTF-8 were replaced", "repaired: control characters in a string were escaped"],
        ["its text is an object of JSON and is read as one"],
        [],
    ]


def produce(broker: EmbeddedBroker, topic: str, *lines: bytes, timestamp: int) -> dict[str, Any]:
    """Send lines to partitions 0 and 1 in turn, each a millisecond after the one before; returns the settings that find them."""
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "log_level": 0})
    for number, line in enumerate(lines):
        producer.produce(topic, line, partition=number % 2, timestamp=timestamp + number)
    assert producer.flush(30) == 0
    return {"kafka": {"bootstrap_servers": broker.bootstrap_servers}}


def test_it_says_of_each_line_its_format_time_level_service_fields_and_template(file: Path) -> None:
    told = look(file)
    assert [(one["format"], one["outcome"]) for one in told["records"]] == [
        ("text", "entries"), ("json", "entries"), ("json", "entries"), ("syslog", "entries"), (None, "empty"), ("text", "entries"),
    ]  # fmt: skip
    line, hello, _, ssh, _, _ = (one["entries"][0] if one["entries"] else {} for one in told["records"])
    assert (line["time"], line["time_from"], line["level"]) == (1_795_341_600_000, "line", "ERROR")
    assert line["chunks"] == [{"template": "ERROR payment failed for user", "tokens": 7}]
    assert (hello["text"], hello["level"], hello["fields"], hello["time"]) == ("hello", "INFO", '{"trace_id":"ab12","order.id":77}', None)
    assert (ssh["text"], ssh["service"], ssh["level"], ssh["time_from"]) == ("Failed password for root", "sshd", "FATAL", "record")


def test_what_was_uncertain_is_said(file: Path) -> None:
    notes = [one["notes"] for one in look(file)["records"]]
    assert [bool(one) for one in notes] == [False, False, True, False, False, True]
    assert "topic.fields.text" in notes[2][0]
    assert "begins like JSON" in notes[5][0]


def test_what_is_no_text_is_said_to_need_a_format(tmp_path: Path) -> None:
    path = tmp_path / "binary"
    path.write_bytes(b"\x00\x00\x00\x00\x07abc\n\x12\x34\x08\x01\x10\x02 x\n")
    notes = [one["notes"][-1] for one in look(path)["records"]]
    assert "registry.url" in notes[0]
    assert "otlp_proto" in notes[1]


def test_a_text_that_was_made_of_structured_data_is_said(tmp_path: Path) -> None:
    path = tmp_path / "syslog"
    path.write_bytes(b'<14>1 2026-11-23T10:00:00Z h a - I1 [x@1 a="b"]\n<14>1 2026-11-23T10:00:00Z h a - I1 [x@1 a="b"] text\n')
    made, said = look(path)["records"]
    assert (made["entries"][0]["text"], said["entries"][0]["text"]) == ('I1 [x@1 a="b"]', "text")
    assert ("structured data" in made["notes"][0], said["notes"]) == (True, [])


def test_a_format_that_is_asked_for_holds_and_its_rejections_are_shown(file: Path) -> None:
    told = look(file, form="json")
    assert [one["outcome"] for one in told["records"]] == ["rejected", "entries", "entries", "rejected", "empty", "rejected"]
    assert sum(told["summary"]["rejected"].values()) == 3


def test_rules_that_drop_are_named(file: Path) -> None:
    told = look(file, tables={"drop": [{"name": "greetings", "pattern": "^hello"}]})
    assert [entry["dropped_by"] for one in told["records"] for entry in one["entries"]] == [None, "greetings", None, None, None]
    assert told["summary"]["dropped"] == 1


def test_secrets_are_redacted_before_they_are_shown(tmp_path: Path) -> None:
    path = tmp_path / "secret.log"
    path.write_bytes(b"mail from someone@example.org\n")
    told = look(path, tables={"redact": {"rules": ["email"]}})
    assert "example.org" not in str(told)


def test_of_a_topic_the_newest_records_are_read_with_kafkas_time_and_no_group_is_left(broker: EmbeddedBroker, topic: str) -> None:
    told = look(topic, number=4, tables=produce(broker, topic, *LINES, timestamp=KAFKA_MS))
    assert told["source"] == "topic"
    assert [(one["partition"], one["offset"], one["kafka_time"] - KAFKA_MS) for one in told["records"]] == [
        (0, 1, 2), (0, 2, 4), (1, 1, 3), (1, 2, 5),
    ]  # fmt: skip
    broken = told["records"][-1]["entries"][0]
    assert (broken["time"], broken["time_from"]) == (KAFKA_MS + 5, "kafka")
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers, "log_level": 0})
    assert admin.list_consumer_groups(request_timeout=10).result().valid == []


def test_a_time_far_ahead_of_kafkas_is_said_to_be_passed_over(broker: EmbeddedBroker, topic: str) -> None:
    tables = produce(broker, topic, b"2027-11-22T10:00:00Z INFO from the future", timestamp=KAFKA_MS)
    ((entry,),) = [record["entries"] for record in look(topic, tables=tables)["records"]]
    assert (entry["time"], entry["time_from"]) == (KAFKA_MS, "kafka")
    assert "a day after Kafka's" in entry["notes"][0]


def test_a_time_that_kafka_cannot_have_is_said_to_be_replaced(broker: EmbeddedBroker, topic: str) -> None:
    tables = produce(broker, topic, b"no time of its own", timestamp=1 << 62)
    before_ms = time.time() * 1000
    (record,) = look(topic, tables=tables)["records"]
    assert record["kafka_time"] == 1 << 62
    assert "a worker reads it stands for it" in record["notes"][0]
    assert before_ms - 1 <= record["entries"][0]["time"] <= time.time() * 1000


def test_a_person_sees_it_in_80_columns(file: Path) -> None:
    out = shown(look(file))
    assert max(map(len, out.splitlines())) <= 80
    assert "ERROR payment failed for user  7 tokens" in out
    assert f"(masks {MASKS_VERSION})" in out
    assert "6 records: text 2, json 2, syslog 1; empty 1, rejected 0." in out


def test_the_source_template_is_shown_beside_the_text_that_was_made_of_it(tmp_path: Path) -> None:
    event = {"@t": "2026-05-28T20:10:00Z", "@mt": "{User} left", "User": "ann", "SourceContext": "Shop.Door"}
    path = tmp_path / "events.log"
    path.write_text(json.dumps(event) + "\n")
    for tables, template in (({}, "Shop.Door: {User} left"), ({"decode": {"source_templates": False}}, "ann left")):
        ((entry,),) = [record["entries"] for record in look(path, number=1, tables=tables)["records"]]
        assert (entry["text"], [chunk["template"] for chunk in entry["chunks"]]) == ("ann left", [template])


def test_an_empty_file_is_said_to_be_empty(tmp_path: Path) -> None:
    path = tmp_path / "empty.log"
    path.write_bytes(b"")
    assert "no lines" in shown(look(path))


NOTES: dict[bytes, str] = {
    b"[2026-11-23 10:00:00] INFO a date in brackets": "",
    b"[warn] a level in brackets": "",
    b'{"message": "{curly} braces begin this"}': "",
    b'{"message": "{\\"id\\": 7}"}': "",
    "a text that quotes \ufffd".encode(): "",
    b'[{"message": "{one}"}, {"message": "two"}]': "",
    b"[1,2,3]": "JSON, but no object",
    b'[{"msg": "one"': "begins like JSON but is none",
    b"{not json} cart emptied": "begins like JSON but is none",
    b'{"message": ""}': "topic.fields.text",
    b'{"foo": 1, "bar": 2}\n': "topic.fields.text",
    b"\0\1\2": "hardly text",
    b"\0\0\0\0\7abc": "registry.url",
}


def test_no_note_says_what_is_not_true(tmp_path: Path) -> None:
    path = tmp_path / "all.log"
    path.write_bytes(b"".join(line.rstrip(b"\n") + b"\n" for line in NOTES))
    notes = ["; ".join(one["notes"]) for one in look(path, number=100)["records"]]
    assert [note in said if note else not said for note, said in zip(NOTES.values(), notes, strict=True)] == [True] * len(NOTES)


def test_a_time_without_a_year_is_read_as_if_the_line_was_sent_now(tmp_path: Path) -> None:
    path = tmp_path / "short.log"
    path.write_bytes(b"<34>Nov 23 10:00:00 web-1 sshd[42]: Failed password\nI1123 10:00:00.123456       1 main.go:5] started\nno time\n")
    entries = [record["entries"][0] for record in look(path)["records"]]
    assert [entry["time_from"] for entry in entries] == ["record", "line", "kafka"]
    assert [time.strftime("%d %H", time.gmtime(entry["time"] / 1000)) for entry in entries[:2]] == ["23 10"] * 2
    assert entries[2]["time"] is None


def test_of_a_compressed_file_and_of_a_folder_the_lines_are_shown(tmp_path: Path) -> None:
    (tmp_path / "app.log.1").write_bytes(gzip.compress(b"older\n"))
    (tmp_path / "app.log").write_bytes("newer\n".encode("utf-16"))
    assert [record["entries"][0]["text"] for record in look(tmp_path)["records"]] == ["older", "newer"]
