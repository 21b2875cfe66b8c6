"""logfmt: pairs of several styles, and what is none."""

import json

from hypothesis import given
from hypothesis import strategies as st

from consumers.columns import as_texts, string_column
from consumers.decode.logfmt_pairs import objects_of, pairs_of

NAME = st.text(alphabet="abcZ_.-9ä\\{", min_size=1, max_size=6)
CONTENT = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from('"\\= \n\t'), max_size=8)


def written(value: str) -> str:
    """Return a value as Go's loggers write it."""
    if value and value.isprintable() and not set(value) & set(' "='):
        return value
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t") + '"'


@given(pairs=st.dictionaries(NAME, CONTENT, min_size=1, max_size=6))
def test_what_was_written_comes_back(pairs: dict[str, str]) -> None:
    line = " ".join(f"{name}={written(value)}" for name, value in pairs.items())
    assert pairs_of(line) == pairs
    assert json.loads(as_texts(objects_of(string_column([line])))[0]) == pairs


@given(lines=st.lists(st.text(alphabet='ab="\\ nx\tu0', min_size=1, max_size=20), min_size=1, max_size=5))
def test_any_line_becomes_the_same_object_column_wise_and_alone(lines: list[str]) -> None:
    objects = [json.loads(text) for text in as_texts(objects_of(string_column(lines)))]
    assert objects == [pairs_of(line) for line in lines]
