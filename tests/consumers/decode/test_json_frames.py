"""Stack traces that are lists become texts; what is no stack trace is left alone."""

import json
from typing import Any

import pytest

from consumers.decode.json_frames import frames_of
from tests.consumers.decode.seen import decode_values, seen

FRAMES = [{"class": "shop.Cart", "method": "add", "file": "Cart.java", "line": 42}, {"class": "shop.Main", "method": "main"}]
OF_CART = {"filename": "cart.py", "lineno": 7, "name": "add"}
OF_LOG4J = "shop.Empty: no item\n\tat shop.Cart.add(Cart.java:42)\n\tat shop.Main.main(Unknown Source)"
OF_PYTHON = 'Traceback (most recent call last):\n  File "cart.py", line 7, in add\nValueError: no item'


@pytest.mark.parametrize(
    ("document", "name", "text"),
    [
        ({"thrown": {"name": "shop.Empty", "message": "no item", "extendedStackTrace": FRAMES}}, "thrown.extendedStackTrace", OF_LOG4J),
        (
            {"exception": [{"exc_type": "ValueError", "exc_value": "no item", "frames": [OF_CART]}]},
            "exception",
            OF_PYTHON,
        ),
        ({"stack_trace": ["first", "second"]}, "stack_trace", "first\nsecond"),
        ({"error": {"stack": ["a", "b"]}}, "error.stack", "a\nb"),
    ],
)
def test_a_list_becomes_the_text_of_its_language(document: dict[str, Any], name: str, text: str) -> None:
    assert frames_of(document) == {name: text}


@pytest.mark.parametrize("value", [[], [1], ["a", 1], [{}], [{"class": "A"}], [{"frames": []}], "text", None, {"frames": []}])
def test_what_is_no_stack_trace_is_left_alone(value: object) -> None:
    assert frames_of({"exception": value}) == {}


def test_frames_without_end_are_cut() -> None:
    assert frames_of({"stack": 1, "stack_trace": ["x"] * 5_000})["stack_trace"].count("x") == 2_000


@pytest.mark.parametrize("neighbours", [0, 50])
def test_it_is_the_trace_of_its_entry_by_the_general_rules_and_among_records_of_its_form(neighbours: int) -> None:
    value = json.dumps({"message": "cart is empty", "thrown": {"name": "shop.Empty", "message": "no item", "extendedStackTrace": FRAMES}})
    values = [value.encode()] * (neighbours + 1)
    traces = [entry.trace for entry in seen(decode_values(values).entries)]
    assert traces == ["\n" + OF_LOG4J] * len(values)
