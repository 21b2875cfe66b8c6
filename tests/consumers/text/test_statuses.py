"""The status of HTTP in lines of access logs stays where it stands by its place, and numbers that stand elsewhere go."""

import pytest

from consumers.columns import string_column, utf8_of
from consumers.text.codes import find_codes
from tests.rows import rows


def kept(line: str) -> list[str]:
    data, ends = utf8_of(string_column(["GET /a", line, "- - SC--"]).slice(1, 1))
    flagged = set((find_codes(data, ends) - ends[0]).tolist())
    text = line.encode()
    return "".join(chr(text[place]) if place in flagged else " " for place in range(len(text))).split()


_ALB = "0.001 0.002 0.003 503 502 34 366"
_HAPROXY = "fe be/s1 10/0/30/69/109 503 275 - - SC-- 1/1/1/1/0 0/0"


@pytest.mark.parametrize("line", rows("statuses/of_requests"))
def test_the_status_of_a_line_stays_and_its_other_numbers_do_not(line: str) -> None:
    assert kept(line) == ["503"]


@pytest.mark.parametrize("line", [f'{_ALB} "GET http://a/cart HTTP/1.1"', 'lb 503 502 "GET http:/cart HTTP/"'])
def test_the_status_of_a_load_balancer_and_of_its_target_stay(line: str) -> None:
    assert kept(line) == ["503", "502"]


@pytest.mark.parametrize("line", rows("statuses/none"))
def test_a_number_that_is_no_status_goes(line: str) -> None:
    assert kept(line) == []


def test_a_line_ends_a_rule() -> None:
    assert kept("GET /cart\n503") == kept("GET /x\n- 503\nx") == []
    assert kept("GET /cart\r\n503 GET /x") == ["503"]
    assert kept(f"GET {'x' * 507} - 503") == ["503"]
    assert kept(f"GET {'x' * 508} - 503") == []
