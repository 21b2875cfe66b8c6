"""Message templates of Serilog."""

from typing import Any

import pytest

from consumers.decode.json_template import rendered


@pytest.mark.parametrize(
    ("template", "event", "text"),
    [
        ("no names", {}, "no names"),
        ("{User} bought {N} of {@Item}", {"User": "bob", "N": 2, "Item": {"b": 1, "a": [1]}}, 'bob bought 2 of {"a":[1],"b":1}'),
        ("for {$Price}", {"Price": 1.5}, "for 1.5"),
        ("{Gone} {User}", {"User": None}, "{Gone} null"),
        ("{{User}} {User}", {"User": "bob"}, "{User} bob"),
        ("{N:000} {M:0.0} {User}", {"N": 7, "M": 1, "User": "bob", "@r": ["007", "1.0"]}, "007 1.0 bob"),
        ("{N:000} {M:0.0}", {"N": 7, "M": 1, "@r": ["007"]}, "007 1"),
        ("{N:000} {M:0.0}", {"N": 7, "M": 1, "@r": 5}, "7 1"),
        ("{Name,-20}|{Name,5:x}", {"Name": "a"}, "a|a"),
        ("{ no } {} {a b} {", {"a": 1}, "{ no } {} {a b} {"),
        ("{User}", {"User": "{Other}", "Other": "x"}, "{Other}"),
    ],
)  # fmt: skip
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
