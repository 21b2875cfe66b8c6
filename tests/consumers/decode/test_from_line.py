"""What a line says at its beginning, told from prose; `test_golden.py` has the lines of real programs."""

import pytest

from consumers.columns import string_column
from consumers.decode.from_line import LineHeaders
from tests.rows import rows


@pytest.mark.parametrize("line", rows("levels/prose"))
def test_a_word_of_prose_is_no_level(line: str) -> None:
    assert LineHeaders().levels(string_column([line])).text(0) == ""
