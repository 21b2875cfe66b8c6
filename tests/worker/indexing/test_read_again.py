"""Records that are read again and then hold other entries than are stored of them: readers get what they hold now, once."""

from collections.abc import Sequence

import pytest

from consumers.record import Partition
from sinks.reading.counting import CountQuery
from sinks.reading.line_filter import LineFilter
from sinks.sink import BlockFilter, FoundBlocks
from tests.consumers.records import admit_batch
from tests.fakes.sink import FakeSink
from tests.worker.chain import Chain
from tests.worker.chain_values import LOGS, record
from tests.worker.conftest import NewChain
from worker.settings.rule_tables import DropTable
from worker.settings.topic_tables import MultilineTable

JAVA = MultilineTable(start="java")
EVENT = ("ERROR request failed", "java.lang.IllegalStateException: broken", "\tat a.b.C.d(C.java:1)", "\tat a.b.E.f(E.java:2)")
AFTER = ("INFO all is well again", "INFO and again")
JOINED = (0, 4, "\n".join(EVENT))
PIECE = "2026-11-27T10:00:00.000000000Z stdout "


def take(chain: Chain, values: Sequence[str], first: int = 0, *, leader_epochs: Sequence[int] = ()) -> None:
    """Read records from an offset on, all in one batch, and index what they hold; lone surrogates stand for bytes that are not UTF-8.

    `leader_epochs` are those of the first ones, 0 is that of the others.
    """
    encoded = [value.encode(errors="surrogateescape") for value in values]
    records = [record(offset, value)._replace(leader_epoch=0) for offset, value in enumerate(encoded, start=first)]
    records[: len(leader_epochs)] = [one._replace(leader_epoch=epoch) for one, epoch in zip(records, leader_epochs, strict=False)]
    chain.prepare.step([admit_batch(chain.ledger, *records)])
    chain.run()


def entries(chain: Chain) -> list[tuple[int, int, str]]:
    """Return offset, number of records and whole text of each entry that readers get; they count as many lines."""
    texts: dict[tuple[int, int, int], str] = {}
    for line in chain.lines():
        key = line.offset, line.sub, line.records
        texts[key] = texts.get(key, "") + (line.text or "")
    counts = chain.reader.count(CountQuery(LineFilter()))
    assert sum(row.lines for row in counts.rows) == len(texts)
    return [(offset, records, text) for (offset, _, records), text in texts.items()]


@pytest.fixture
def sink() -> FakeSink:
    return FakeSink()


def test_an_event_that_was_closed_early_before_a_kill_is_one_entry_after_it(new_chain: NewChain, sink: FakeSink) -> None:
    killed = new_chain(sink=sink, multiline=JAVA, cap_records=8)
    take(killed, EVENT[:3])
    take(killed, [*EVENT[3:], *AFTER], first=3)
    assert killed.rule_tally.closed_early
    again = new_chain(sink=sink, multiline=JAVA, cap_records=8)
    take(again, [*EVENT, *AFTER])
    assert entries(again)[:2] == [JOINED, (4, 1, AFTER[0])]


def test_a_line_whose_pieces_were_torn_before_a_kill_is_one_line_after_it(new_chain: NewChain, sink: FakeSink) -> None:
    pieces = [f"{PIECE}P aaa", f"{PIECE}P bbb", f"{PIECE}P ccc", f"{PIECE}F ddd", f"{PIECE}F the next line"]
    killed = new_chain(sink=sink, cap_records=8)
    take(killed, pieces[:3])
    take(killed, pieces[3:], first=3)
    assert killed.rule_tally.closed_early
    again = new_chain(sink=sink, cap_records=8)
    take(again, pieces)
    assert entries(again) == [(0, 4, "aaabbbcccddd"), (4, 1, "the next line")]


def test_lines_that_are_joined_now_are_not_there_apart(new_chain: NewChain, sink: FakeSink) -> None:
    take(new_chain(sink=sink), [*EVENT, *AFTER])
    joining = new_chain(sink=sink, multiline=JAVA)
    take(joining, [*EVENT, *AFTER])
    assert entries(joining) == [JOINED, (4, 1, AFTER[0]), (5, 1, AFTER[1])]  # the last one waits, and is stored from before


@pytest.mark.parametrize("event", [EVENT, (*EVENT[:2], "", *EVENT[2:])], ids=["unbroken", "with an empty line"])
@pytest.mark.parametrize("at_once", [1, 3, 9])
def test_lines_that_are_apart_now_are_not_there_joined(new_chain: NewChain, sink: FakeSink, event: Sequence[str], at_once: int) -> None:
    values = [*event, *AFTER]
    joining = new_chain(sink=sink, multiline=MultilineTable(pattern="^[A-Z]"))
    take(joining, values)
    assert entries(joining) == [(0, len(event), "\n".join(event)), (len(event), 1, AFTER[0])]
    apart = new_chain(sink=sink)
    for first in range(0, len(values), at_once):
        take(apart, values[first : first + at_once], first)
    assert entries(apart) == [(offset, 1, text) for offset, text in enumerate(values) if text]


def test_an_event_has_the_leaders_of_its_first_record_and_of_its_last(new_chain: NewChain) -> None:
    chain = new_chain(multiline=JAVA)
    take(chain, [*EVENT, *AFTER], leader_epochs=[3, 3, 4, 5, 6, 6])
    assert {line[-2:] for line in chain.lines()} == {(3, 5), (6, 6)}


def test_an_assignment_does_not_begin_inside_a_stored_event(new_chain: NewChain, sink: FakeSink) -> None:
    take(new_chain(sink=sink, multiline=JAVA), [*EVENT, *AFTER])
    moved = new_chain(sink=sink, multiline=JAVA)
    take(moved, [*EVENT, *AFTER][2:], first=2)
    assert moved.ledger.asked_to_begin_again() == {LOGS: 0}
    assert entries(moved) == [JOINED, (4, 1, AFTER[0])]
    assert moved.committable() is None


def test_an_event_of_a_log_that_was_cut_inside_it_is_gone_though_the_log_has_grown_less_far(new_chain: NewChain, sink: FakeSink) -> None:
    take(new_chain(sink=sink, multiline=JAVA), [*EVENT, *AFTER])
    grown = new_chain(sink=sink, multiline=JAVA)
    take(grown, ["INFO another line", "INFO and another"], first=2, leader_epochs=[1, 1])
    grown.ledger.begin_again(LOGS)
    take(grown, [*EVENT[:2], "INFO another line", "INFO and another"], leader_epochs=[0, 0, 1, 1])
    assert [text for offset, _, text in entries(grown) if offset < 3] == [*EVENT[:2], "INFO another line"]


def test_an_assignment_may_begin_where_a_stored_event_ends(new_chain: NewChain, sink: FakeSink) -> None:
    take(new_chain(sink=sink, multiline=JAVA), [*EVENT, *AFTER])
    moved = new_chain(sink=sink, multiline=JAVA)
    take(moved, AFTER, first=4)
    assert not moved.ledger.asked_to_begin_again()


@pytest.mark.parametrize("now", [["another one"], ["one", "two"], ["two", "three", "four", "five"]])
def test_a_record_with_another_number_of_entries_has_only_those(new_chain: NewChain, sink: FakeSink, now: list[str]) -> None:
    def array(texts: Sequence[str]) -> str:
        return "[" + ", ".join(f'{{"message": "{text}"}}' for text in texts) + "]"

    take(new_chain(sink=sink), [array(["one", "two", "three"]), "after"])
    again = new_chain(sink=sink)
    take(again, [array(now), "after"])
    assert entries(again) == [*((0, 1, text) for text in now), (1, 1, "after")]


def test_an_event_that_is_stored_exactly_so_is_not_written_again(new_chain: NewChain, sink: FakeSink) -> None:
    take(new_chain(sink=sink, multiline=JAVA), [*EVENT, *AFTER])
    again = new_chain(sink=sink, multiline=JAVA)
    take(again, [*EVENT, *AFTER])
    assert again.resume.tally.skipped_lines == 3
    assert again.store_step.tally.blocks == 0
    assert entries(again) == [JOINED, (4, 1, AFTER[0])]


@pytest.mark.parametrize("value", ["", "[]", "not UTF-8: \udcff"])
def test_a_record_that_holds_nothing_any_more_shows_nothing(new_chain: NewChain, sink: FakeSink, value: str) -> None:
    take(new_chain(sink=sink), ["before", "stored and gone", "after"])
    again = new_chain(sink=sink, strict=True)
    take(again, ["before", value, "after"], leader_epochs=[0, 1, 1])
    assert entries(again) == [(0, 1, "before"), (2, 1, "after")]
    assert again.committable() == 3


def test_a_record_that_other_settings_do_not_read_is_shown_as_it_was(new_chain: NewChain, sink: FakeSink) -> None:
    """It is the same record: what is stored of it is true, and another worker may rely on it."""
    values = ["before", "not UTF-8: \udcff", "after"]
    take(new_chain(sink=sink), values)
    again = new_chain(sink=sink, strict=True)
    take(again, values)
    assert [offset for offset, _, _ in entries(again)] == [0, 1, 2]
    assert again.letters.offsets() == [1]
    assert again.store_step.tally.blocks == 0


def test_a_record_that_a_rule_drops_now_is_shown_as_it_was(new_chain: NewChain, sink: FakeSink) -> None:
    take(new_chain(sink=sink, multiline=JAVA), [*EVENT, *AFTER])
    again = new_chain(sink=sink, multiline=JAVA, drop=[DropTable(name="errors", pattern="request failed")])
    take(again, [*EVENT, *AFTER])
    assert entries(again) == [JOINED, (4, 1, AFTER[0])]


def test_what_the_sink_refuses_now_is_not_shown_as_it_was_before(new_chain: NewChain, sink: FakeSink) -> None:
    take(new_chain(sink=sink), ["before", "an old line", "after"])
    again = new_chain(sink=sink)
    again.refuse("a line that is refused")
    take(again, ["before", "a line that is refused", "after"], leader_epochs=[0, 1, 1])
    assert entries(again) == [(0, 1, "before"), (2, 1, "after")]


@pytest.mark.parametrize("kept", [0, 1], ids=["alone", "beside another one"])
def test_a_partition_that_is_lost_while_it_is_read_back_leaves_no_room_taken(new_chain: NewChain, kept: int) -> None:
    """Its last event is held, and what came behind that does not go on; that of a partition that is kept stays open."""

    class LosingSink(FakeSink):
        chain: Chain | None = None

        def find_blocks(self, only: BlockFilter, *, limit: int | None = None, strong: bool = False) -> FoundBlocks:
            if self.chain is not None:
                self.chain.ledger.revoke([LOGS])
            return super().find_blocks(only, limit=limit, strong=strong)

    sink = LosingSink()
    take(new_chain(sink=sink), [f"line {number}" for number in range(9)])
    losing = new_chain(sink=sink, multiline=JAVA, window_records=2)
    take(losing, EVENT[:2])
    sink.chain = losing
    others = [Partition(LOGS.topic, 1 + number) for number in range(kept)]
    losing.ledger.assign(others)
    batches = [[record(offset, b"line") for offset in range(2, 9)], *([record(0, b"line", partition=other)] for other in others)]
    losing.prepare.step([admit_batch(losing.ledger, *batch) for batch in batches])
    losing.run()
    assert losing.ledger.open_records == kept
