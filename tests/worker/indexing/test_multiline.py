"""Events of several records through the steps: they are one entry, and their records settle together."""

import pytest

from sinks.line import Line
from tests.worker.chain import Chain
from tests.worker.chain_values import LOGS
from tests.worker.conftest import NewChain
from tests.worker.indexing.test_restart import restarted
from worker.settings.topic_tables import MultilineTable

JAVA = MultilineTable(start="java")
EVENT = (
    "disk full",
    "java.io.IOException: no space",
    "\tat org.example.Disk.write(Disk.java:7)",
    "\tat org.example.Main.main(Main.java:1)",
)


@pytest.fixture
def joining(new_chain: NewChain) -> Chain:
    return new_chain(multiline=JAVA)


def entries(chain: Chain) -> list[tuple[int, int, str]]:
    """Return offset, number of records and text with trace of each stored entry."""
    found: dict[int, list[Line]] = {}
    for line in chain.lines():
        found.setdefault(line.offset, []).append(line)
    return [(offset, lines[0].records, "".join(line.text or "" for line in lines)) for offset, lines in found.items()]


def test_records_of_one_event_are_one_entry_and_are_committed_together(joining: Chain) -> None:
    joining.feed("before", *EVENT, "after")
    joining.run()
    assert entries(joining) == [(0, 1, "before"), (1, 4, "\n".join(EVENT))]
    assert joining.committable() == 5
    assert joining.ledger.open_records == 1
    joining.feed("later")
    joining.run()
    assert entries(joining)[2:] == [(5, 1, "after")]
    assert joining.committable() == 6
    assert joining.ledger.tally["indexed"] == 6


def test_no_commit_passes_an_open_event_and_nothing_waits_for_it(joining: Chain) -> None:
    joining.feed("before", *EVENT[:2])
    joining.run()
    assert joining.committable() == 1
    assert joining.ledger.wait_until_settled([LOGS], 0.0)
    assert joining.ledger.oldest_open_s() == {}
    (receipt,) = joining.admit(EVENT[2])
    assert not joining.ledger.wait_until_settled([LOGS], 0.0)
    joining.prepare.step([receipt])
    assert joining.ledger.wait_until_settled([LOGS], 0.0)


def test_the_records_of_an_open_event_are_given_back_when_its_assignment_ends(joining: Chain) -> None:
    joining.feed("before", *EVENT[:2])
    joining.run()
    joining.ledger.revoke([LOGS])
    joining.ledger.assign([LOGS])
    assert joining.ledger.open_records == 2
    joining.prepare.step([])
    assert (joining.ledger.open_records, joining.ledger.open_bytes) == (0, 0)
    assert joining.ledger.tally["abandoned"] == 2


def test_an_event_that_is_open_keeps_what_was_read_back_of_it(joining: Chain, new_chain: NewChain) -> None:
    joining.feed(*EVENT, "after", "later")
    joining.run()
    again = restarted(joining, new_chain, multiline=JAVA, window_records=4)
    again.feed(*EVENT)
    again.feed("after")
    again.feed("later")
    again.run()
    assert again.resume.tally.skipped_lines == len(again.lines())


def test_if_an_event_is_rejected_each_of_its_records_is_a_dead_letter(new_chain: NewChain) -> None:
    chain = new_chain(multiline=JAVA, max_chunks=2)
    names = [f"{one}{other} is not at all like it" for one in "abcdefghij" for other in "klmnop"]
    trace = [f"\tat org.example.Very.deep(Deep.java:{line}) ~[{name}.jar]" for line, name in enumerate(names)]
    chain.feed("disk full", *trace, "after")
    chain.run()
    assert [(claim.record.offset, first.kind, len(pieces)) for claim, first, pieces in chain.letters.posted] == [
        (0, "too_many_chunks", 1),
        *((offset, "too_many_chunks", 0) for offset in range(1, 61)),
    ]
    assert chain.committable() == 61
    assert chain.ledger.tally["dead_letter"] == 61


def test_an_empty_record_within_an_event_belongs_to_it_and_another_is_dropped(new_chain: NewChain) -> None:
    chain = new_chain(multiline=MultilineTable(pattern="^>"))
    chain.feed("> one", "", "two", "", "> three", "> four")
    chain.run()
    assert entries(chain) == [(0, 3, "> one\n\ntwo"), (4, 1, "> three")]
    assert chain.committable() == 5
    assert (chain.ledger.tally["indexed"], chain.ledger.tally["dropped:empty"]) == (4, 1)


def test_open_events_take_at_most_a_quarter_of_the_room(new_chain: NewChain) -> None:
    chain = new_chain(multiline=MultilineTable(pattern="^>"), cap_records=16)
    chain.feed("> one", "two", "three", "four", "five")
    chain.run()
    assert entries(chain) == [(0, 5, "> one\ntwo\nthree\nfour\nfive")]
    assert chain.committable() == 5
    assert chain.rule_tally.closed_early == 1
    chain.feed("six", "seven", "eight", "nine")
    chain.run()
    assert len(entries(chain)) == 1
