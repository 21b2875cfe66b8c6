"""The status of HTTP in lines of access logs stays where it stands by its place, and numbers that stand elsewhere go."""

import pytest

from consumers.columns import string_column, utf8_of
from consumers.text.codes import find_codes


def kept(line: str) -> list[str]:
    """Return the numbers of a line that are codes."""
    data, ends = utf8_of(string_column(["GET /a", line, "- - SC--"]).slice(1, 1))
    flagged = set((find_codes(data, ends) - ends[0]).tolist())
    text = line.encode()
    return "".join(chr(text[place]) if place in flagged else " " for place in range(len(text))).split()


_ALB = "0.001 0.002 0.003 503 502 34 366"
_HAPROXY = "fe be/s1 10/0/30/69/109 503 275 - - SC-- 1/1/1/1/0 0/0"


@pytest.mark.parametrize(
    "line",
    [
        "GET /cart 503 12.3 ms - 19",
        "GET\t/cart\t503\t-",
        "POST http://shop.example/cart 503 in 12ms",
        '"GET /index.php" 503',
        "GET shop.example.com /cart 503 -",
        "PUT /cart -> 503",
        "PUT /cart => 503 (12 ms)",
        "DELETE /cart [503]",
        "GET 503 - x",
        "HTTP/1.1 GET http://localhost/cart - 503 0 - 12.3ms",
        "HTTP/ GET http:/cart - - - 503 -",
        "503 GET /cart (192.0.2.1) 12.00ms",
        "[503]: GET /cart",
        "| 503 | 1.2ms | 192.0.2.1 | GET | /cart",
        '|503| | | POST "/cart"',
        "GET /cart - 443 - 192.0.2.1 curl/7 - 503 0 0 15",
        "GET /cart - 80 - 192.0.2.1 Mozilla/4.0+(x) 503 0 64 15",
        "GET /cart - - shop.example.com 503",
        "GET /cart - - host 503",
        '"GET http:/cart HTTP/" from - 503 19B in 1.2ms',
        '"GET http:/cart HTTP/" from - 503 in',
        "503 Service Unavailable",
        "503 SERVICE_UNAVAILABLE: down",
        "Completed 503 in 5 ms",
        "responded 503 in 5 ms",
        "TCP_MISS/503 412 GET http://example.com/",
        f'{_HAPROXY} "GET /cart HTTP/1.1"',
        f'{_HAPROXY.replace("275 - -", "+275 a=b c=d")} "GET /cart HTTP/1.1"',
        'be/s 503 - - SC-- / / "GET /cart HTTP/"',
        '-1 -1 -1 503 - 340 366 "GET http://a/cart HTTP/1.1"',
        'app/lb/ 503 - "GET http:/cart HTTP/"',
    ],
)
def test_the_status_of_a_line_stays_and_its_other_numbers_do_not(line: str) -> None:
    assert kept(line) == ["503"]


@pytest.mark.parametrize("line", [f'{_ALB} "GET http://a/cart HTTP/1.1"', 'lb 503 502 "GET http:/cart HTTP/"'])
def test_the_status_of_a_load_balancer_and_of_its_target_stay(line: str) -> None:
    assert kept(line) == ["503", "502"]


@pytest.mark.parametrize(
    "line",
    [
        "GET /cart 2 - 100",
        "DELETE 100",
        "DELETE 100 rows",
        "PUT backups/a 523 bytes stored",
        "GET /cart took 120 ms, 250 bytes",
        "GETS /cart 503",
        "GET /cart 5034",
        "GET /cart - 443 - 192.0.2.1",
        "read 100 GET requests",
        "| 123 | 456 | x |",
        '[] 123 "GET / HTTP/1.1"',
        '10:00:00 123 "GET / HTTP/1.1"',
        '34 366 "GET / HTTP/1.1"',
        "a/b 503 x y z w SC--",
        "ab 503 - - SC--",
        "a/b 503 - - SCXX",
        "Completed 100 tasks",
        "removed 250 in 12 ms",
        "100 OK",
        "503 Service Unavailables",
        "cart/503 x",
        "MISS/503 x",
        "- 503 0 0 15",
    ],
)
def test_a_number_that_is_no_status_goes(line: str) -> None:
    assert kept(line) == []


def test_a_line_ends_a_rule() -> None:
    assert kept("GET /cart\n503") == kept("GET /x\n- 503\nx") == []
    assert kept("GET /cart\r\n503 GET /x") == ["503"]
    assert kept(f"GET {'x' * 507} - 503") == ["503"]
    assert kept(f"GET {'x' * 508} - 503") == []
