"""Lines of access logs, whatever they say: the status stays, what varies beside it goes, and masking them again changes nothing."""

from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from consumers.text.mask import Masker

LAYOUTS = (
    '{ip}:{port} [23/Nov/2026:{clock}] f {word}/s {n}/0/{ms}/{n}/{size} {status} {size} - - SC-- {n}/{n}/0/0/0 0/0 "GET /{word} HTTP/1.1"',
    '[2026-11-23T{clock}.{ms}Z] "POST /{word} HTTP/2" {status} UH no_healthy_upstream - "-" 0 {size} {n} - "-" "curl/7"',
    '[GIN] 2026/11/23 - {clock} | {status} | {n}.5ms | {ip} | GET      "/{word}/{n}"',
    "GET /{word} {status} {n}.{ms} ms - {size}",
    "{ip} - GET /{word} HTTP/1.1 {status} {size} - {n}.1 ms",
    "Completed {status} OK in {n}ms (Views: 0.{ms}ms)",
    "request of {word} ended: {status} Service Unavailable after {n} s",
    'h2 2026-11-23T{clock}Z app/lb {ip}:{port} 10.0.0.1:80 0.{ms} 0.0 0.{n} {status} {status} {size} {size} "GET http://a/{word} HTTP/1.1"',
    "2026-11-23 {clock} {ip} GET /{word} - {port} - {ip} curl/7.0 - {status} 0 0 {size}",
    '{ip} - - [23/Nov/2026:{clock} +0000] "GET /{word} HTTP/1.1" {status} {size} "-" "curl/7"',
    "1795428000.{ms} {n} {ip} TCP_MISS/{status} {size} GET http://a.example/{word} - NONE/- text/html",
    "[W 261123 {clock} web:{n}] {status} GET /{word} ({ip}) {n}.00ms",
)
VALUES = st.fixed_dictionaries(
    {
        "ip": st.ip_addresses(v=4).map(str),
        "port": st.integers(1024, 65_535),
        "clock": st.times().map(lambda time: time.strftime("%H:%M:%S")),
        "ms": st.integers(100, 999),
        "n": st.integers(0, 90_000),
        "size": st.integers(0, 900_000),
    }
)
MASKER = Masker()


@pytest.mark.parametrize("layout", LAYOUTS)
@settings(deadline=None, max_examples=30)
@given(several=st.lists(VALUES, min_size=2, max_size=4), status=st.integers(100, 599), word=st.sampled_from(["cart", "orders", "healthz"]))
def test_lines_of_one_status_have_one_template_which_has_the_status(
    layout: str, several: list[Mapping[str, object]], status: int, word: str
) -> None:  # fmt: skip
    lines = [layout.format_map({**values, "status": status, "word": word}) for values in several]
    other = layout.format_map({**several[0], "status": 1_099 - status, "word": word})

    masked = [MASKER.mask([line])[0] for line in lines]

    assert len(set(masked)) == 1
    assert str(status) in masked[0]
    assert MASKER.mask([*lines, masked[0]]) == [*masked, masked[0]]
    assert (MASKER.mask([other]) == masked[:1]) == (1_099 - status == status)
