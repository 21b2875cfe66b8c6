"""The texts that masks get for a sample: as the worker would give them."""

import json
from typing import Any

from consumers.columns import as_texts
from sinks.line import PIECE_BYTES
from worker.estimate.sample_texts import SampleTexts
from worker.settings.settings import load_settings


def read(*lines: bytes | None, topic: str = "logs", **tables: Any) -> tuple[list[str], SampleTexts]:  # noqa: ANN401 - tables of settings
    settings = load_settings(None, tables)
    texts = SampleTexts(settings, topic)
    return as_texts(texts.read(lines).of(settings.masks_of(topic))), texts


def test_lines_are_decoded_and_those_without_text_have_none() -> None:
    got, texts = read(b"disk full", b'{"message":"user left","level":"info"}', b"", None)
    assert got == ["disk full", "user left"]
    assert (texts.lines, texts.entries, texts.left_out) == (4, 2, 0)


def test_secrets_are_redacted() -> None:
    (got,), _ = read(b"mail from someone@example.org", redact={"rules": ["email"]})
    assert "example.org" not in got


def test_entries_that_a_rule_of_the_topic_drops_are_left_out() -> None:
    rules = [{"name": "noise", "pattern": "^heartbeat"}, {"name": "elsewhere", "pattern": "disk", "topic": "other.*"}]
    got, texts = read(b"heartbeat 1", b"disk full", drop=rules)
    assert got == ["disk full"]
    assert texts.left_out == 1


def test_a_text_that_is_longer_than_a_piece_is_left_out() -> None:
    got, texts = read(b"x" * (PIECE_BYTES + 1), b"y" * PIECE_BYTES)
    assert got == ["y" * PIECE_BYTES]
    assert texts.left_out == 1


def test_the_source_template_of_an_entry_takes_the_place_of_its_text() -> None:
    line = json.dumps({"@t": "2026-11-22T10:00:00Z", "@mt": "User {Name} left", "@m": "User ada left", "Name": "ada"}).encode()
    (got, plain), _ = read(line, b"disk full")
    assert "{Name}" in got
    assert plain == "disk full"


def test_values_of_its_own_fields_are_taken_out_of_a_text_but_not_out_of_a_source_template() -> None:
    line = json.dumps({"message": "mail for a@b.example", "user": "a@b.example"}).encode()
    source = json.dumps({"@t": "2026-11-22T10:00:00Z", "@mt": "for ada {X}", "@m": "for ada 1", "user": "ada"}).encode()
    assert read(line, source)[0] == ["mail for someone", "for ada {X}"]
    assert read(line, mask={"disabled": ["field"]})[0] == ["mail for a@b.example"]
    (redacted,) = read(line, mask={"disabled": ["email"]}, redact={"rules": ["email"]})[0]
    assert redacted == "mail for someone"


def test_a_topic_with_masks_of_its_own_has_those() -> None:
    settings = load_settings(None, {"topic": [{"name": "web", "mask": {"disabled": ["email"]}}, {"name": "logs"}]})
    assert settings.masks_of("web").disabled == ("email",)
    assert settings.masks_of("logs") == settings.masks_of("unheard-of") == settings.mask
