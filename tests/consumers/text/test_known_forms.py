"""Known forms: bounded, and not tried where forms do not repeat."""

from consumers.text.known_forms import NEW, KnownForms

BATCH = 1_000


def test_what_is_remembered_is_recalled_and_all_else_is_new() -> None:
    known = KnownForms()
    known.remember([("took 8ms", "took"), ("status 888", None)])
    assert known.recall(["status 888", "bye", "took 8ms"]) == [None, NEW, "took"]


def test_memory_is_bounded_by_characters_and_by_number() -> None:
    for size, masked_size in ((4, 1), (250, 1), (4, 10_000), (10_000, 1), (10_000, 10_000)):
        known = KnownForms()
        forms = [f"{number:0{size}d}" for number in range(20_000_000 // (min(size, 16) + masked_size + 100))]
        known.remember((form, "x" * masked_size) for form in forms)
        kept = [form for form, masked in zip(forms, known.recall(forms), strict=True) if masked != NEW]
        assert kept
        assert forms[-1] in kept
        assert len(kept) < len(forms)
        assert sum(min(len(form), 256) + masked_size for form in kept) <= 16 * 1024 * 1024


def test_a_long_form_takes_no_more_memory_than_what_is_left_of_it() -> None:
    known = KnownForms()
    forms = [f"{number:040000d}" for number in range(1_000)]
    known.remember((form, form[-6:]) for form in forms)
    assert known.recall(forms) == [form[-6:] for form in forms]


def test_one_endless_form_does_not_push_out_the_others() -> None:
    known = KnownForms()
    known.remember([("took 8ms", "took"), ("a" * 1_000_000, "a")])
    assert known.recall(["took 8ms", "a" * 1_000_000]) == ["took", NEW]


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
