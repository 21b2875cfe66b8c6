"""Plain text, and what is taken off it: escape codes, container runtimes' heads, NUL."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from consumers.columns import as_texts, string_column
from consumers.decode.cri import find_cri
from consumers.decode.decoder import Decoder
from consumers.decode.escapes import strip_escapes
from consumers.decode.rules import DecodeRules, FieldNames
from consumers.decode.text_reader import without_nul
from tests.rows import rows

KAFKA_MS = 1_795_400_000_000
AT_MS = 1_795_000_000_123

Entry = tuple[str, int, str | None]


def entries(values: list[bytes], decoder: Decoder | None = None) -> list[Entry]:
    """Return (text, time, fields) of the entries of several values."""
    found = (decoder or Decoder()).decode(values, np.full(len(values), KAFKA_MS)).entries
    return list(zip(as_texts(found.text), found.time_ms.tolist(), found.fields.to_pylist(), strict=True))


@pytest.mark.parametrize("line", rows("containers/no_lines"))
def test_what_is_not_quite_a_container_runtimes_line_stays(line: str) -> None:
    assert find_cri(string_column([line])) is None


def test_stream_and_mark_of_a_container_runtimes_line_are_kept_whatever_the_rules_say() -> None:
    value = b"2026-11-18T11:06:40.123Z stderr P a par"
    for rules in (DecodeRules(max_other_fields=0), DecodeRules(max_other_fields=0, names=FieldNames(keep=("log.iostream",)))):
        assert entries([value], Decoder(rules)) == [("a par", AT_MS, '{"cri.partial":true,"log.iostream":"stderr"}')]


@pytest.mark.parametrize(("coloured", "plain"), rows("escape_codes"))
def test_escape_codes_go(coloured: str, plain: str) -> None:
    assert as_texts(strip_escapes(string_column([coloured]))) == [plain]
    assert as_texts(strip_escapes(string_column(["a", coloured, "b"]))) == ["a", plain, "b"]


def test_a_column_without_escape_codes_or_nul_is_not_copied() -> None:
    column = string_column(["a", "", "b\n", "\0c"])
    assert strip_escapes(column) is column
    assert without_nul(column) is column


@given(texts=st.lists(st.text(alphabet=["a", "\0", "\n", "ä", "\x1b", "["], max_size=6), min_size=1, max_size=6))
def test_nul_goes_from_the_end_and_from_nowhere_else(texts: list[str]) -> None:
    assert as_texts(without_nul(string_column(texts))) == [text.rstrip("\0") for text in texts]
