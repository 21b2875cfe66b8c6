"""The prepare step: which way a line goes, and what becomes of a record that holds none."""

import json
from collections import Counter

import pytest

from consumers.assignment import Receipt
from consumers.record import Partition
from consumers.rejection import RejectedPiece
from tests.consumers.records import admit_batch
from tests.varied_words import varied
from tests.worker.chain import Chain
from tests.worker.chain_values import LOGS, record
from tests.worker.conftest import NewChain
from worker.indexing.dead_letter_reasons import TOO_MANY_CHUNKS
from worker.indexing.line_batch import EmbeddedTemplate
from worker.runtime.limits import LimitReached

LONG = varied("database", 2_000)
"""Makes more than one chunk."""
LARGE = "x" * 1_000_001
CROWDED = json.dumps([{}] * 10_001)
"""Has more entries than a record may have."""


OTHERS = (Partition("logs", 1), Partition("other", 0))


def admit(chain: Chain, partition: Partition, *values: bytes | str | None, first: int = 0) -> Receipt:
    """Take records of any partition in, from the offset `first` on."""
    contents = [value.encode() if isinstance(value, str) else value for value in values]
    return admit_batch(chain.ledger, *(record(first + n, content, partition=partition) for n, content in enumerate(contents)))


def taken(chain: Chain) -> tuple[int, int]:
    """How many templates wait for the engine, and how many lines and templates for the sink."""
    return len(chain.embedder), len(chain.store_lane)


def test_a_new_line_goes_to_the_engine_as_token_ids(chain: Chain) -> None:
    chain.feed("disk full on 10.0.0.1\n")
    (encoded,) = chain.waiting_texts()
    assert encoded.ids.tolist() == chain.words.encode(["disk full on"]).text(0).tolist()
    assert (encoded.key, encoded.topic, encoded.urgency) == (chain.key("disk full on"), "logs", "bulk")
    assert taken(chain) == (1, 0)


def test_a_cached_vector_goes_to_the_sink_as_a_template(chain: Chain) -> None:
    chain.feed("disk full")
    chain.embed()
    chain.store_lane.take(10)  # as if the process had been restarted with its cache: the row was never written
    chain.flights.fail(chain.template("disk full"), TOO_MANY_CHUNKS)
    chain.flights._rejected.clear()  # noqa: SLF001 - the rest of the restart
    chain.feed("disk full")
    waiting = chain.store_lane.take(10)
    assert waiting is not None
    assert [type(one) for one in waiting] == [EmbeddedTemplate]
    assert isinstance(waiting[0], EmbeddedTemplate)
    assert waiting[0].source == "memory"
    chain.store_lane.put(waiting)
    chain.store()
    assert chain.stored() == [(1, "disk full")]
    assert chain.flights.total().tokens_saved == chain.tokens("disk full")
    assert chain.embedded_texts() == 1


def test_a_stored_template_is_not_embedded_again_after_a_restart(chain: Chain, new_chain: NewChain) -> None:
    chain.feed("disk full", "disk half full")
    chain.run()
    restarted = new_chain()
    restarted.sink.templates.update(chain.sink.templates)
    restarted.feed("disk full", "disk full", "disk half full")
    assert taken(restarted) == (0, 3)
    restarted.store()
    assert restarted.embedded_texts() == 0
    assert restarted.sink.calls.count("templates.upsert") == 0
    assert restarted.committable() == 3
    assert restarted.flights.total().tokens_saved == 2 * restarted.tokens("disk full") + restarted.tokens("disk half full")


def test_a_template_found_in_an_index_whose_rows_do_not_live_for_ever_is_written_again(chain: Chain, new_chain: NewChain) -> None:
    chain.feed("disk full")
    chain.run()
    restarted = new_chain(known_s=60.0)
    restarted.sink.templates.update(chain.sink.templates)
    restarted.feed("disk full", "disk full")
    assert taken(restarted) == (0, 1)
    restarted.store()
    assert restarted.embedded_texts() == 0
    assert restarted.sink.calls.count("templates.upsert") == 1
    assert restarted.committable() == 2


def test_a_template_is_written_again_before_its_row_is_removed(new_chain: NewChain) -> None:
    chain = new_chain(known_s=60.0)
    chain.feed("disk full")
    chain.run()
    chain.now_s += 60.0
    chain.feed("disk full")
    chain.run()
    assert chain.sink.calls.count("templates.upsert") == 1
    chain.now_s += 0.1
    chain.feed("disk full")
    chain.run()
    assert chain.sink.calls.count("templates.upsert") == 2
    assert chain.embedded_texts() == 1
    assert chain.committable() == 3


@pytest.mark.parametrize(("value", "outcome"), [(None, "dropped:tombstone"), ("", "dropped:empty"), ("\r\n", "dropped:empty")])
def test_a_record_with_nothing_in_it_is_dropped_and_counted(chain: Chain, value: str | None, outcome: str) -> None:
    chain.feed(value)
    assert chain.ledger.tally[outcome] == 1
    assert chain.committable() == 1
    assert taken(chain) == (0, 0)


def test_records_of_a_dead_generation_are_dropped_unread(chain: Chain) -> None:
    receipts = chain.admit("disk full", "disk half full")
    chain.ledger.revoke([LOGS])
    chain.prepare.step(receipts)
    assert taken(chain) == (0, 0)
    assert chain.ledger.open_records == chain.ledger.open_bytes == 0
    assert chain.committable() is None


def test_records_of_several_partitions_are_worked_together_and_those_of_dead_assignments_dropped(chain: Chain) -> None:
    chain.ledger.assign(OTHERS)
    receipts = [admit(chain, LOGS, "disk 1 full", None, "disk 2 full"), *(admit(chain, one, "disk 3 full", "") for one in OTHERS)]
    receipts.append(admit(chain, LOGS, "disk 4 full", first=3))
    chain.ledger.revoke([OTHERS[0]])
    chain.prepare.step(receipts)
    assert taken(chain) == (1, 0)
    chain.run()
    assert chain.stored() == [(0, "disk 1 full"), (2, "disk 2 full"), (3, "disk 4 full")]
    assert chain.ledger.committable() == {LOGS: 4, OTHERS[1]: 2}
    assert chain.ledger.open_records == chain.ledger.decoded_bytes == 0
    outcomes = chain.ledger.outcomes()
    assert outcomes["logs"] == Counter({"admitted": 6, "indexed": 3, "dropped:tombstone": 1, "abandoned": 2})
    assert outcomes["other"] == Counter({"admitted": 2, "indexed": 1, "dropped:empty": 1})


def test_good_records_of_another_topic_reset_nothing(new_chain: NewChain) -> None:
    chain = new_chain(strict=True, most_undecodable=2)
    chain.ledger.assign(OTHERS)
    bad, good = b"\xff", b"good"
    receipts = [
        admit(chain, LOGS, bad, bad),
        admit(chain, OTHERS[1], bad, good, bad, good, bad, bad, good),
        admit(chain, OTHERS[0], bad, good),
    ]
    with pytest.raises(LimitReached, match="3 undecodable records of topic logs in a row"):
        chain.prepare.step(receipts)
    assert len(chain.letters.posted) == 2 + 4 + 1
    assert taken(chain) == (0, 0)


def test_empty_records_do_not_count_as_good_ones(new_chain: NewChain) -> None:
    chain = new_chain(strict=True, most_undecodable=2)
    with pytest.raises(LimitReached):
        chain.feed(b"\xff", "", b"\xff", None, b"\xff")


@pytest.mark.parametrize("value", [LONG, LARGE, CROWDED], ids=["too many chunks", "too large", "too many entries"])
def test_what_no_setting_causes_never_stops_the_service(new_chain: NewChain, value: str) -> None:
    """Otherwise whoever may write to one log topic could stop the worker for all of them."""
    chain = new_chain(strict=True, max_chunks=1, most_undecodable=2)
    chain.feed(*[value] * 9, "after")
    chain.run()
    assert chain.stored() == [(9, "after")]
    assert chain.letters.offsets() == list(range(9))
    assert chain.committable() == 10


def test_records_at_fault_themselves_neither_add_to_the_count_nor_reset_it(new_chain: NewChain) -> None:
    chain = new_chain(strict=True, max_chunks=1, most_undecodable=2)
    with pytest.raises(LimitReached, match=r"3 undecodable records of topic logs in a row \(the last: undecodable: not valid UTF-8\)"):
        chain.feed(b"\xff", LONG, LARGE, b"\xff", CROWDED, json.dumps([{"message": "fits"}, {"message": LONG}]), b"\xff", "never sent on")
    assert taken(chain) == (0, 0)
    assert chain.letters.offsets() == [0, 1, 2, 3, 4, 6]  # of the sixth one entry fits, and was not sent on
    assert chain.committable() == 5


def test_good_records_between_bad_ones_reset_the_count_in_their_order(new_chain: NewChain) -> None:
    chain = new_chain(strict=True, max_chunks=1, most_undecodable=2)
    chain.feed(b"\xff", b"\xff", "one", b"\xff", LONG, b"\xff", "two", b"\xff", b"\xff", "three")
    chain.run()
    assert [text for _, text in chain.stored()] == ["one", "two", "three"]
    assert len(chain.letters.posted) == 7
    assert chain.committable() == 10


def test_a_record_above_the_limit_is_one_dead_letter_and_its_neighbours_are_stored(chain: Chain) -> None:
    chain.feed("before", LARGE, "after")
    chain.run()
    assert chain.stored() == [(0, "before"), (2, "after")]
    assert [(claim.record.offset, first.reason, pieces) for claim, first, pieces in chain.letters.posted] == [
        (1, "too_large: 1000001 bytes, 1000000 are allowed", [])
    ]
    assert chain.committable() == 3


def test_a_piece_of_too_many_chunks_is_rejected_and_the_records_others_are_stored(new_chain: NewChain) -> None:
    chain = new_chain(max_chunks=2)
    chain.feed(json.dumps([{"message": "first"}, {"message": LONG}, {"message": "last"}]))
    chain.run()
    assert [(line.sub, line.text) for line in chain.lines()] == [(0, "first"), (2, "last")]
    assert [(first, pieces) for _, first, pieces in chain.letters.posted] == [(TOO_MANY_CHUNKS, [RejectedPiece(1, 0, TOO_MANY_CHUNKS)])]
    assert chain.committable() == 1


def test_a_long_line_becomes_chunks_and_settles_with_the_last_of_them(chain: Chain) -> None:
    line = " ".join(f"word{'x' * (number % 7)}" for number in range(400))
    chain.feed(line)
    chain.embed()
    assert chain.committable() is None
    chain.store()
    rows = chain.lines()
    assert len(rows) > 1
    assert [(row.chunk, row.chunks) for row in rows] == [(number, len(rows)) for number in range(len(rows))]
    assert "".join(row.text or "" for row in rows) == line
    assert chain.committable() == 1
