"""A verification computes the same templates as prepare where records carry theirs."""

import json
from collections import Counter

from tests.worker.inspecting.audited_index import MASKS, AuditedIndex
from worker.inspecting.window_comparer import LineCounts

EVENTS = [
    json.dumps({"@t": "2026-05-28T20:10:00Z", "@mt": "{User} left {Room}", "User": user, "Room": room, "SourceContext": "Shop.Door"})
    for user, room in (("ann", "kitchen"), ("bob", "hall"), ("eve", "one that is a very long way off"))
]


def test_lines_with_source_templates_are_as_expected(audited: AuditedIndex) -> None:
    audited.index_records(*EVENTS, "a line")
    assert {line.template_text for line in audited.lines()} == {"Shop.Door: {User} left {Room}", "a line"}
    report = audited.verify()
    assert (report.is_complete, report.problems) == (True, {})
    assert report.counts == LineCounts(lines=4, sound_lines=4, by_masks=Counter({MASKS: 4}))


def test_lines_from_before_the_switch_are_counted_as_of_other_masks_and_left_alone(audited: AuditedIndex) -> None:
    audited.index_records(*EVENTS)
    switched_off = audited.expected_lines_of(source_templates=False)
    before = audited.snapshot()
    report = audited.verify(expected_lines=switched_off, repair=True)
    assert report.is_complete
    assert report.counts == LineCounts(lines=3, other_masks_lines=3, by_masks=Counter({MASKS: 3}))
    assert audited.snapshot() == before
