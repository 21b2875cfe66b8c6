"""Cut texts as lists, for comparing."""

from consumers.columns import as_texts
from consumers.text.chunk import Cut


def pieces_of(cut: Cut, texts: int) -> list[list[tuple[str, str]]]:
    """Return the raw and masked pieces of each of n texts, and check that the numbers of the columns say the same."""
    pieces: list[list[tuple[str, str]]] = [[] for _ in range(texts)]
    for i, (row, text) in enumerate(zip(cut.row.tolist(), as_texts(cut.text), strict=True)):
        assert cut.chunk[i] == len(pieces[row])
        pieces[row].append((text, cut.template.text(i)))
    assert [len(pieces[row]) for row in cut.row.tolist()] == cut.chunks.tolist()
    assert [row for row in range(texts) if not pieces[row]] == cut.too_long.tolist()
    assert sorted(cut.row.tolist()) == cut.row.tolist()
    assert sorted(set(cut.template.codes.tolist())) == list(range(len(set(cut.template.values)))) == list(range(len(cut.template.values)))
    return pieces
