"""The synthetic stream: the same for the same seed, as varied as real logs, with something for every example query."""

import json
import string
from itertools import islice

from producers.file_lines import MAX_RECORD_BYTES
from producers.log_feed import synthetic_lines
from producers.log_vocabulary import INCIDENTS, LOG_TEMPLATES, VALUES

START_MS = 1_760_000_000_000


def test_a_seed_gives_the_same_lines_and_another_seed_others() -> None:
    lines = list(synthetic_lines(7, 2_000, START_MS))

    assert lines == list(synthetic_lines(7, 2_000, START_MS))
    assert lines[:500] == list(synthetic_lines(7, 500, START_MS))
    assert lines != list(synthetic_lines(8, 2_000, START_MS))


def test_every_incident_comes_within_a_demo_and_stays_rare() -> None:
    lines = list(synthetic_lines(1, 6_000, START_MS))
    marks = [max(_fixed_parts(template.text), key=len) for template in INCIDENTS]

    counts = [sum(mark in line for line in map(_text, lines)) for mark in marks]

    assert min(counts) >= 1
    assert sum(counts) < 0.02 * len(lines)


def test_a_dozen_services_speak_and_json_lines_carry_level_and_service() -> None:
    objects = [json.loads(line) for line in synthetic_lines(2, 3_000, START_MS) if line.startswith(b"{")]

    assert len({template.service for template in LOG_TEMPLATES}) >= 12
    assert len(objects) > 300
    for one in objects:
        assert {"time", "level", "service", "message"} <= one.keys()


def test_some_records_are_stack_traces_and_none_is_too_large() -> None:
    lines = list(synthetic_lines(1, 6_000, START_MS))

    assert any(b"Traceback" in line and b"\n" in line for line in lines)
    assert any(b"\n\tat " in line for line in lines)
    assert max(map(len, lines)) < MAX_RECORD_BYTES


def test_every_name_in_a_text_has_values() -> None:
    for template in (*LOG_TEMPLATES, *INCIDENTS):
        names = {name for _, name, _, _ in string.Formatter().parse(template.text) if name is not None}
        assert names | set(template.fields) <= VALUES.keys(), template


def test_a_value_that_stands_in_the_text_is_the_same_in_its_field() -> None:
    for line in islice((line for line in synthetic_lines(4, 3_000, START_MS) if b"token refreshed" in line), 20):
        one = json.loads(line)
        assert one["message"] == f"token refreshed for {one['user']}"


def _text(line: bytes) -> str:
    return str(json.loads(line)["message"]) if line.startswith(b"{") else line.decode()


def _fixed_parts(template: str) -> list[str]:
    return [fixed for fixed, _, _, _ in string.Formatter().parse(template)]
