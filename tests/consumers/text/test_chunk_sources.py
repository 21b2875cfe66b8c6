"""Source templates in place of texts; `tests/properties/test_chunker.py` tests any text and template."""

from collections.abc import Sequence

from consumers.columns import Coded, Column, as_texts, coded, string_column
from consumers.text.chunk import Chunker
from consumers.text.mask import Masker
from consumers.text.split_long import MaskColumn, PieceLimits
from tests.consumers.counters import OVERHEAD_TOKENS, Count, bytes_each, count_all
from tests.consumers.cuts import pieces_of

LIMIT = 20


def new_chunker(
    mask: MaskColumn = coded, *, count: Count = bytes_each, text_bytes: int = 60, takes_templates: bool = True
) -> Chunker:  # fmt: skip
    return Chunker(
        mask=mask,
        count_tokens=count_all(count),
        limits=PieceLimits(max_tokens=LIMIT + OVERHEAD_TOKENS, overhead_tokens=OVERHEAD_TOKENS, max_text_bytes=text_bytes, max_chunks=256),
        takes_templates=takes_templates,
    )


def split(
    texts: Sequence[str], sources: Sequence[str | None], *, traces: Sequence[str | None] | None = None, chunker: Chunker | None = None
) -> list[list[tuple[str, str]]]:
    """Return the raw and masked pieces of each text."""
    trace = None if traces is None else string_column(traces)
    return pieces_of((chunker or new_chunker()).split(string_column(texts), trace, string_column(sources)), len(texts))


def test_a_source_template_is_the_template_and_the_text_stays() -> None:
    text = string_column(["bob came", "ann came", "a line", "eve left"])
    cut = new_chunker().split(text, None, string_column(["{User} came", "{User} came", None, "{User} left"]))
    assert cut.text is text
    assert [cut.template.text(i) for i in range(4)] == ["{User} came", "{User} came", "a line", "{User} left"]


def test_a_long_text_is_one_piece_if_its_masked_text_is_short() -> None:
    text = f"{'1' * 50} bytes"
    assert split([text], ["{Size} bytes"], chunker=new_chunker(Masker().mask_column)) == [[(text, "{Size} bytes")]]


def test_a_text_that_is_not_ascii_is_counted_because_a_model_may_make_it_longer() -> None:
    chunker = new_chunker(count=lambda text: len(text) + 4 * text.count("é"))
    assert split(["é" * 4, "é" * 5], ["{A} a"] * 2, chunker=chunker) == [[("é" * 4, "{A} a")], [("é" * 2, "é" * 2), ("é" * 3, "é" * 3)]]


def test_a_template_with_more_bytes_than_a_piece_is_none_however_it_is_masked() -> None:
    chunker = new_chunker(Masker().mask_column)
    found = split(["ann came", "bob came"], [f"{'1' * 50} came", f"{'1' * 60} came"], chunker=chunker)
    assert found == [[("ann came", "came")], [("bob came", "bob came")]]


def test_a_chunker_may_take_no_templates() -> None:
    assert split(["bob came"], ["{User} came"], chunker=new_chunker(takes_templates=False)) == [[("bob came", "bob came")]]


def test_a_text_that_is_surely_short_is_not_masked_where_a_template_is() -> None:
    seen: list[str] = []

    def mask(column: Column) -> Coded:
        seen.extend(as_texts(column))
        return coded(column)

    split(["bob came", "ann came", "a line"], ["{User} came", "{User} came", None], chunker=new_chunker(mask))
    assert sorted(seen) == ["a line", "{User} came"]
