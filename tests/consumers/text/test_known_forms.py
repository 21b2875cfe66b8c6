"""Known forms: recalled exactly, bounded, and not tried where forms do not repeat."""

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from consumers.columns import string_column
from consumers.text.known_forms import NEW, UNDECIDED, Known, KnownForms

BATCH = 1_000
UNKNOWN = {NEW: "new", UNDECIDED: None}
forms_of_any_length = st.one_of(
    st.text(max_size=4),
    st.integers(0, 40).map(lambda size: "é8" * size),
    st.integers(250, 262).map("a".__mul__),
    st.integers(250, 262).map(lambda size: "a" * size + "b"),
    st.sampled_from(["a" * 300, "b" + "a" * 299, "a" * 299 + "b", "a" * 16, "a" * 17, "\x00", "\x00\x00", "", "\x00" * 8]),
)


def remember(known: KnownForms, masked: dict[str, str | None]) -> None:
    known.remember(string_column(list(masked)), list(masked.values()))


def texts_of(recalled: Known) -> list[str | None]:
    """Return the masked text of each form; "new" for one that is not known, None for one that is undecided."""
    return [recalled.values[code] if code >= 0 else UNKNOWN[code] for code in recalled.codes.tolist()]


def recall(known: KnownForms, forms: Sequence[str]) -> list[str | None]:
    return texts_of(known.recall(string_column(forms)))


def test_values_are_distinct_and_in_the_order_of_first_use() -> None:
    known = KnownForms()
    remember(known, {"a 8": "a", "b 8": "b", "a 88": "a", "c": "c", "s": None})
    codes, values = known.recall(string_column(["s", "b 8", "new", "a 88", "a 8", "b 8"]))
    assert values == ("b", "a")
    assert codes.dtype == np.int32
    assert codes.tolist() == [UNDECIDED, 0, NEW, 1, 1, 0]


@settings(deadline=None, max_examples=200)
@given(batches=st.lists(st.dictionaries(forms_of_any_length, st.sampled_from(["x", "y", None]), max_size=20), max_size=4))
def test_recalls_as_a_dict_does(batches: list[dict[str, str | None]]) -> None:
    known = KnownForms()
    expected: dict[str, str | None] = {}
    for batch in batches:
        others = [form + more for form in batch for more in ("a", "\x00", "")]
        assert recall(known, others) == [expected.get(form, "new") for form in others]
        remember(known, batch)
        expected |= batch
        assert recall(known, list(expected)) == list(expected.values())


def test_a_column_may_begin_in_the_middle_of_another() -> None:
    known = KnownForms()
    forms = string_column(["before", "a 8", "", "b 8", "after"]).slice(1, 3)
    known.remember(forms, ["a", "nothing", None])
    assert texts_of(known.recall(forms)) == ["a", "nothing", None]
    assert recall(known, ["before", "b 8", "", "a 8", "after"]) == ["new", None, "nothing", "a", "new"]


@pytest.mark.slow
def test_memory_is_bounded_by_characters_and_by_number() -> None:
    for size, masked_size in ((4, 1), (250, 1), (4, 10_000), (1_000, 1), (1_000, 10_000)):
        known = KnownForms()
        key_size = size if size <= 256 else 16
        forms = [f"{number:0{size}d}" for number in range(20_000_000 // (key_size + masked_size + 100))]
        for start in range(0, len(forms), BATCH):
            remember(known, dict.fromkeys(forms[start : start + BATCH], "x" * masked_size))
        kept = [form for form, masked in zip(forms, recall(known, forms), strict=True) if masked != "new"]
        assert kept
        assert forms[-1] in kept
        assert len(kept) < len(forms)
        assert len(kept) * (key_size + masked_size) <= 16 * 1024 * 1024


def test_of_more_forms_than_there_is_room_for_the_last_are_kept() -> None:
    known = KnownForms()
    remember(known, {"took 8ms": "took"})
    masked: dict[str, str | None] = {f"{number:020d}": ("even", "odd")[number % 2] for number in range(100_000)}
    remember(known, masked)
    recalled = recall(known, list(masked))
    forgotten = recalled.count("new")
    assert 0 < forgotten < len(masked)
    assert recalled == ["new"] * forgotten + list(masked.values())[forgotten:]
    assert recall(known, ["took 8ms"]) == ["new"]


def test_one_endless_form_does_not_push_out_the_others() -> None:
    known = KnownForms()
    remember(known, {"took 8ms": "took", "a" * 1_000_000: "a", "b": "b" * 20_000_000})
    assert recall(known, ["took 8ms", "a" * 1_000_000, "b"]) == ["took", "new", "new"]


def test_no_two_tables_place_a_form_alike() -> None:
    tables = [KnownForms() for _ in range(2)]
    for known in tables:
        remember(known, {"took 8ms": "took"})
    one, other = (known._table[16:] for known in tables)  # noqa: SLF001 - places are not seen otherwise
    assert (one != other).any()


def test_threads_may_recall_and_remember_at_once_and_forget_meanwhile() -> None:
    known = KnownForms()
    begin = threading.Barrier(4)
    wrong: list[str | None] = []

    def use(own: int) -> None:
        begin.wait()
        for turn in range(20):
            forms = [f"{own} {turn} {number} {'x' * 200}" for number in range(2_000)]
            remember(known, {form: form[:-201] for form in forms})
            for _ in range(5):
                wrong.extend(text for form, text in zip(forms, recall(known, forms), strict=True) if text not in {form[:-201], "new"})

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(use, range(4)))
    assert wrong == []


def pauses(known: KnownForms, new: int) -> int:
    """Return how many batches go by before forms are tried again, and count that many new ones then."""
    went_by = 0
    while not known.are_worth_trying(BATCH):
        went_by += 1
    known.count_new(new, BATCH)
    return went_by


def test_forms_that_do_not_repeat_are_tried_ever_more_rarely_and_at_once_when_they_do() -> None:
    known = KnownForms()
    assert [pauses(known, BATCH) for _ in range(7)] == [0, 1, 2, 4, 8, 16, 16]
    assert [pauses(known, 0) for _ in range(3)] == [16, 0, 0]
    assert [pauses(known, BATCH) for _ in range(3)] == [0, 1, 2]


def test_a_query_between_batches_says_nothing_about_the_stream() -> None:
    known = KnownForms()
    assert known.are_worth_trying(BATCH)
    known.count_new(BATCH, BATCH)
    for _ in range(50):
        assert known.are_worth_trying(1)
        known.count_new(0, 1)
    assert not known.are_worth_trying(BATCH)
    assert known.are_worth_trying(BATCH)
