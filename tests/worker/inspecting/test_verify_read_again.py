"""What `verify` says, and a repair does, where records were read again and are joined now: they are right, and what they were is a copy."""

from sinks.reading.counting import CountQuery
from sinks.reading.reader import BlockReader
from tests.worker.inspecting.audited_index import AuditedIndex, record
from worker.settings.topic_tables import MultilineTable

TRACE = ("ERROR request failed", "java.lang.IllegalStateException: broken", "\tat a.b.C.d(C.java:1)", "INFO all is well", "INFO and again")


def test_records_that_are_joined_now_are_counted_once_and_a_repair_removes_what_they_were_before(audited: AuditedIndex) -> None:
    joining = audited.expected_lines_of(multiline=MultilineTable(start="java"))
    audited.records = [record(offset, text) for offset, text in enumerate(TRACE)]
    apart = [line for one in audited.expected_lines.compute_expected(audited.records) for line in one.lines]
    together = [line for one in joining.compute_expected(audited.records) for line in one.lines]
    for lines, run in ((apart, 1), (together, 2)):
        audited.repairer.repair_templates(lines)
        audited.store(*lines, run=run)

    def counted() -> int:
        return sum(row.lines for row in BlockReader(audited.sink).count(CountQuery()).rows)

    assert counted() == 3
    report = audited.verify(expected_lines=joining)
    assert set(report.problems) == {"left_over"}, "copies that differ from those that hold"
    report = audited.verify(expected_lines=joining, repair=True)
    assert (report.is_complete, counted()) == (True, 3)
