"""Groups of templates: a family, or what a user named; the same for any order, batch and number of readers."""

import random

import pytest

from consumers.text.families import family_of
from sinks.row import TemplateId, TemplateText, template_keys
from tests.template_ids import id_of
from worker.querying.template_groups import TemplateGroup, TemplateGroups, named_family
from worker.settings.template_tables import TemplateTable

TEXTS = [
    f"{verb} {noun} {mark}".rstrip() for verb in ("open", "Open", "close") for noun in ("file", "socket") for mark in ("", "!", "?", "done")
]
NAMED = (TemplateTable(name="files", pattern="file"), TemplateTable(name="all that is done", pattern="(?i)DONE$"))


def by_id(texts: list[str]) -> dict[TemplateId, TemplateText]:
    return {id_of(text): TemplateText(text) for text in texts}


def by_hand(text: str) -> TemplateGroup:
    """Return what a template is, one rule after the other."""
    if "file" in text:
        return TemplateGroup(named_family("files"), "files")
    if text.endswith("done"):
        return TemplateGroup(named_family("all that is done"), "all that is done")
    return TemplateGroup(family_of(text))


@pytest.mark.parametrize("seed", range(5))
def test_a_group_depends_on_nothing_but_the_text_and_the_names(seed: int) -> None:
    draw = random.Random(seed)
    texts = draw.sample(TEXTS, len(TEXTS))
    wanted = {id_of(text): by_hand(text) for text in texts}
    readers = [TemplateGroups(NAMED) for _ in range(3)]
    found: dict[TemplateId, TemplateGroup] = {}
    while texts:
        batch = [texts.pop() for _ in range(min(draw.randint(1, 5), len(texts)))]
        found |= draw.choice(readers).learn(by_id(batch))
    assert found == wanted
    for reader in readers:
        assert reader.learn(by_id(TEXTS)) == wanted
        assert reader.find(wanted) == wanted


def test_the_first_name_in_the_order_of_the_file_holds() -> None:
    text = by_id(["file done"])
    assert [group.name for group in TemplateGroups(NAMED).learn(text).values()] == ["files"]
    assert [group.name for group in TemplateGroups(NAMED[::-1]).learn(text).values()] == ["all that is done"]


def test_a_name_is_no_text_and_the_id_of_its_group_has_the_length_of_a_familys() -> None:
    assert named_family("disk full") != family_of("disk full")
    assert len(named_family("disk full")) == len(family_of("disk full")) == 16
    assert named_family("a") != named_family("b")


def test_the_members_of_families_are_the_templates_that_were_met() -> None:
    groups = TemplateGroups(NAMED)
    assert groups.members([named_family("files")]) == []
    groups.learn(by_id(TEXTS))
    assert groups.members([named_family("files")]) == sorted(id_of(text) for text in TEXTS if "file" in text)
    sockets = [id_of(text) for text in TEXTS if by_hand(text) == TemplateGroup(family_of("close socket"))]
    assert len(sockets) > 1
    assert groups.members([family_of("close socket"), "0" * 16]) == sorted(sockets)
    assert groups.members([]) == []


def test_ids_that_end_or_begin_with_zeros_are_told_apart() -> None:
    digits = ["00" * 16, "00" * 15 + "01", "ff" * 15 + "00", "ff" * 16, "80" + "00" * 15, "7f" + "ff" * 14 + "00"]
    ids = [TemplateId(one) for one in digits]
    groups = TemplateGroups()
    learnt = groups.learn({one: TemplateText(f"text {chr(97 + place)}") for place, one in enumerate(ids)})
    assert len({group.family for group in learnt.values()}) == len(ids)
    assert groups.find(ids) == learnt
    assert [groups.members([learnt[one].family]) for one in ids] == [[one] for one in ids]
    assert groups.find([TemplateId("01" * 16)]) == {}
    told_apart = sorted({one[:16]: one for one in sorted(ids, reverse=True)}.values())
    keys = template_keys([*told_apart, TemplateId("01" * 16)])
    numbers, is_known = groups.by_keys(keys)
    assert is_known.tolist() == [*[True] * len(told_apart), False]
    assert [groups.group_of(number) for number in numbers[:-1].tolist()] == [learnt[one] for one in told_apart]
    assert groups.ids(keys[:-1]) == told_apart
    assert (groups.ids(keys[:0]), [len(one) for one in groups.by_keys(keys[:0])]) == ([], [0, 0])


def test_no_more_are_remembered_than_the_bound_and_the_others_have_their_groups_still() -> None:
    groups = TemplateGroups(NAMED, most=5)
    assert not groups.is_full
    wanted = {id_of(text): by_hand(text) for text in TEXTS}
    for _ in range(2):
        assert groups.learn(by_id(TEXTS)) == wanted
        assert (groups.size, groups.is_full) == (5, True)
    groups.forget()
    assert (groups.size, groups.find(wanted)) == (0, {})


def test_a_text_that_is_no_valid_unicode_has_a_group() -> None:
    (group,) = TemplateGroups(NAMED).learn(by_id(["odd \udcff file"])).values()
    assert group.name == "files"
