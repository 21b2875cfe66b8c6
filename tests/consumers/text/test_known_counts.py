"""Known counts: each text is counted once, in bounded memory."""

from collections.abc import Sequence

from consumers.text.known_counts import KnownCounts


class Counted:
    """Counts characters, and remembers of which texts."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.known = KnownCounts(self._count)

    def _count(self, texts: Sequence[str]) -> list[int]:
        assert texts, "nothing is not counted"
        self.texts += texts
        return list(map(len, texts))


def test_the_count_of_each_text_is_given_in_order_however_often_it_comes() -> None:
    counted = Counted()
    assert counted.known.count([]) == []
    assert counted.known.count(["one", "three", "one"]) == [3, 5, 3]
    assert counted.known.count(["three", "", "one"]) == [5, 0, 3]
    assert counted.texts == ["one", "three", ""]


def test_long_texts_that_differ_only_at_their_ends_are_told_apart() -> None:
    counted = Counted()
    texts = ["a" * 10_000, "a" * 10_001, "é" * 257, "a" * 257]
    for _ in range(2):
        assert counted.known.count(texts) == [10_000, 10_001, 257, 257]
    assert counted.texts == texts


def test_more_texts_than_are_remembered_are_counted_again() -> None:
    counted = Counted()
    texts = [f"{number}" for number in range(40_000)]
    assert counted.known.count(texts) == list(map(len, texts))
    assert counted.known.count(["0"]) == [1]
    assert len(counted.texts) == 40_000, "those that came first are remembered"
    for text in texts:
        counted.known.count([f"{text} more"])
    assert counted.known.count(["0"]) == [1]
    assert counted.texts.count("0") == 2
