"""The standard library reads our TOML back as the same document."""

import tomllib

from hypothesis import given
from hypothesis import strategies as st

from worker.cli.toml import toml_of

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
PLAIN = TEXTS | st.integers(-(1 << 63), (1 << 63) - 1) | st.booleans() | st.floats(allow_nan=False) | st.lists(TEXTS)
TABLES = st.dictionaries(TEXTS, PLAIN | st.dictionaries(TEXTS, PLAIN))


@given(st.dictionaries(TEXTS, PLAIN | TABLES))
def test_it_reads_back_as_it_was(document: dict[str, object]) -> None:
    assert tomllib.loads(toml_of(document)) == document


def test_what_is_not_set_is_a_comment() -> None:
    assert toml_of({"model": {"folder": None, "cache": "~/x"}}) == '[model]\n# folder is not set\ncache = "~/x"'


def test_plain_settings_come_before_the_tables() -> None:
    assert toml_of({"a": {"b": 1}, "c": "d", "e": {"sasl.mechanism": True}}) == 'c = "d"\n\n[a]\nb = 1\n\n[e]\n"sasl.mechanism" = true'
