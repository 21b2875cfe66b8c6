"""The service and the logger of lines in the usual layouts of text, and none of lines that name none for sure."""

import numpy as np
import pytest

from consumers.columns import Column, null_column, string_column
from consumers.decode.line_names import find_names
from consumers.decode.times import find_times

TIME = "2026-11-23 10:00:00.123"


def names(column: Column) -> list[tuple[str, str]]:
    """Return the service and the logger of each line."""
    times = find_times(column)
    services, loggers = find_names(column, times.start, times.end)
    assert all(set(labels.codes.tolist()) == set(range(len(labels.values))) for labels in (services, loggers))
    return [(services.text(row), loggers.text(row)) for row in range(len(column))]


def named(line: str) -> tuple[str, str]:
    return names(string_column([line]))[0]


@pytest.mark.parametrize("name", ["gateway", "cart-api", "cart_2", "k8s", "x" * 60])
@pytest.mark.parametrize("head", [f"{TIME} INFO", f"[{TIME}] [error]", f"{TIME}  WARN ", f"{TIME} LOG"])
def test_a_name_in_lower_case_between_level_and_text_is_the_service(head: str, name: str) -> None:
    assert named(f"{head} {name}: x") == named(f"{head} {name}[42]: x") == (name, "")


@pytest.mark.parametrize(
    "message",
    [
        "INFO gateway x", "INFO gateway:x", "INFO Gateway: x", "INFO: gateway: x", "INFO 42 gateway: x", "gateway: x", "the gateway: x",
        "INFO the gateway: x", "INFO g: x", "INFO error: x", "WARN note: x", "ERROR failed: x", "ERROR not-found-and-failed: x",
        "INFO main: x", "INFO root: x", "ERROR file: x", "INFO 10.0.0.1: x", "INFO gateway[42 : x", "INFO gätew: x", f"INFO {'x' * 65}: x",
    ],
)  # fmt: skip
def test_what_is_no_service_for_sure_is_none(message: str) -> None:
    assert named(f"{TIME} {message}") == ("", "")


def test_a_service_needs_a_time() -> None:
    assert named("INFO gateway: x") == named(f"x y {TIME} INFO gateway: x") == ("", "")


@pytest.mark.parametrize("name", ["shop.Cart", "shop.cart", "CartService", "shop::cart", "c.s.Cart$Inner", "shop::v2.cart-x"])
@pytest.mark.parametrize(
    "layout",
    [
        f"{TIME} ERROR {{}}: x",
        f"{TIME} ERROR [main] {{}} - x",
        f"{TIME} [http-nio-8080-exec-1] ERROR {{}} - x",
        f"{TIME}  INFO 1234 --- [main] {{}}   : x",
        f"{TIME} - {{}} - ERROR - x",
        f"[{TIME}][WARN ][{{}}] [es-1] x",
        f"{TIME}|ERROR|{{}}|x",
        f"[{TIME} ERROR {{}}] x",
        f"{TIME} 25746 INFO {{}} [req-1] x",
        f"{TIME} [error] [{{}}] x",
        "10:00:00.123 [main] ERROR {} -- x",
        "ERROR {} - x",
        "ERROR:{}:x",
        "fail: {}[0]",
    ],
)
def test_a_name_beside_the_level_is_the_logger(layout: str, name: str) -> None:
    assert named(layout.format(name)) == ("", name)


@pytest.mark.parametrize(
    "message",
    [
        "ERROR shop.Cart x", "ERROR [main] the shop.Cart - x", "shop.Cart - x", "ERROR java.io.IOException: x", "ERROR ValueError: x",
        "ERROR config.yaml: x", "ERROR db.example.com: x", "ERROR 1.2.3: x", "ERROR [main] x", "ERROR [pool-1-thread-2] x",
        "ERROR [worker] x",
        "ERROR [vert.x-eventloop-thread-1] x",
        "ERROR [error] x", "ERROR [two words] x", "ERROR [shop.Cart x", "[shop.Cart] x", "ERROR Cart - x",
    ],
)  # fmt: skip
def test_what_is_no_logger_for_sure_is_none(message: str) -> None:
    assert named(f"{TIME} {message}") == ("", "")


def test_a_word_in_brackets_behind_the_level_is_the_logger_where_no_other_follows() -> None:
    assert named(f"{TIME} ERROR [cart] x") == ("", "cart")
    assert named(f"{TIME} ERROR [cart] shop.Cart - x") == ("", "shop.Cart")
    assert named(f"{TIME} [cart] ERROR x") == ("", "")


def test_spring_writes_the_service_and_the_thread_before_the_logger() -> None:
    assert named(f"{TIME}  INFO 1 --- [cart] [           main] c.e.App  : x") == ("cart", "c.e.App")
    assert named(f"{TIME}  INFO 1 --- [           main] c.e.App  : x") == ("", "c.e.App")


@pytest.mark.parametrize("size", [123, 124, 125, 126, 127])
def test_a_name_that_the_end_of_the_head_may_cut_is_none(size: int) -> None:
    head = f"{TIME} INFO [{'x' * (size - 40)}] "
    line = f"{head}ab.cdefg"
    assert len(line) == size
    assert named(f"{line} - x") == ("", "ab.cdefg" if size < 125 else "")


@pytest.mark.parametrize(
    "line", [f"{TIME} INFO gateway", f"{TIME} INFO gateway:", f"{TIME} ERROR shop.Cart", "ERROR:a.b", f"{TIME} ERROR [a.b"]
)
@pytest.mark.parametrize("after", [": x", " - x", "]", ":", " x", ""])
def test_a_line_ends_where_the_next_one_begins(line: str, after: str) -> None:
    assert names(string_column([line, after, line + after]))[0] == named(line)


def test_lines_without_names_stand_between_others() -> None:
    lines = [f"{TIME} INFO a1: x", "", f"{TIME} ERROR b.d: x", None, f"{TIME} INFO error: x", f"{TIME} INFO a1: y"]
    column = string_column(lines)

    assert names(column) == [("a1", ""), ("", ""), ("", "b.d"), ("", ""), ("", ""), ("a1", "")]
    assert names(column.slice(2, 2)) == [("", "b.d"), ("", "")]
    assert names(null_column(2)) == [("", ""), ("", "")]
    assert names(string_column([])) == []


def test_columns_of_another_length_are_refused() -> None:
    column, three, two = string_column(["a", "b", "c"]), np.zeros(3, np.uint8), np.zeros(2, np.uint8)

    for start, end in ((two, three), (three, two)):
        with pytest.raises(ValueError, match="3 lines have times of"):
            find_names(column, start, end)
