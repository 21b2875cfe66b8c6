"""What a change of masks splits and merges, compared with counts line by line."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from consumers.columns import coded_texts
from worker.masks.mask_difference import MaskDifference, Regrouping, TemplatePart

TEMPLATES = st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from("abxy")), min_size=1, max_size=40)


def difference_of(*parts: list[tuple[str, str]]) -> MaskDifference:
    difference = MaskDifference()
    for pairs in parts:
        difference.add_lines(coded_texts([old for old, _ in pairs]), coded_texts([new for _, new in pairs]))
    return difference


def test_old_templates_with_one_new_one_are_merged_and_those_with_several_are_split() -> None:
    difference = difference_of([("user a", "user"), ("user a", "user"), ("user b", "user"), ("disk", "disk 1"), ("disk", "disk 2")])
    assert difference.merged() == [Regrouping("user", 3, (TemplatePart("user a", 2), TemplatePart("user b", 1)))]
    assert difference.split() == [Regrouping("disk", 2, (TemplatePart("disk 1", 1), TemplatePart("disk 2", 1)))]
    assert (difference.lines, difference.changed_lines, difference.old_templates, difference.new_templates) == (5, 5, 3, 3)


def test_a_template_that_keeps_its_lines_under_another_text_is_neither() -> None:
    difference = difference_of([("at host a", "at host"), ("same", "same")])
    assert (difference.renamed_templates(), difference.changed_lines) == (1, 1)
    assert difference.merged() == difference.split() == []


def test_the_group_with_the_most_lines_comes_first() -> None:
    pairs = [("a", "x"), ("b", "x"), *([("c", "y"), ("d", "y")] * 2)]
    assert [group.template for group in difference_of(pairs).merged()] == ["y", "x"]


@given(TEMPLATES, TEMPLATES)
def test_the_lines_of_all_parts_are_counted_whatever_lists_they_came_in(first: list[tuple[str, str]], then: list[tuple[str, str]]) -> None:
    pairs = [*first, *then]
    difference = difference_of(first, then)
    assert difference.lines == len(pairs)
    assert difference.changed_lines == sum(old != new for old, new in pairs)
    for groups, sides in ((difference.split(), pairs), (difference.merged(), [(new, old) for old, new in pairs])):
        told = {group.template: {part.template: part.lines for part in group.parts} for group in groups}
        wanted: dict[str, Counter[str]] = {}
        for one, other in sides:
            wanted.setdefault(one, Counter())[other] += 1
        assert told == {one: dict(others) for one, others in wanted.items() if len(others) > 1}
        assert all(group.lines == sum(part.lines for part in group.parts) for group in groups)
