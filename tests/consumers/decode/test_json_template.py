"""Message templates of Serilog."""

from typing import Any

import pytest

from consumers.decode.json_template import rendered
from tests.rows import rows


@pytest.mark.parametrize(("template", "event", "text"), rows("serilog_templates"))
def test_names_are_replaced_by_values(template: str, event: dict[str, Any], text: str) -> None:
    assert rendered(template, event) == text


def test_what_cannot_be_written_stays_a_name() -> None:
    deep: list[Any] = []
    for _ in range(500):
        deep = [deep]
    assert rendered("{Deep}", {"Deep": deep}) == "{Deep}"


def test_a_megabyte_of_braces_is_rendered_soon() -> None:
    for template in ("{" * 500_000, "{a" * 300_000, "{" + "a" * 900_000, "{a:" * 300_000):
        assert len(rendered(template, {})) >= 400_000 or "{{" in template
