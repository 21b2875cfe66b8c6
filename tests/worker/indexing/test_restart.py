"""Prepare after a restart: what an earlier run has stored is settled at once, the rest is written once."""

import json

from consumers.rejection import RejectedPiece
from tests.varied_words import varied
from tests.worker.chain import Chain
from tests.worker.conftest import NewChain
from worker.indexing.dead_letter_reasons import TOO_MANY_CHUNKS

LONG = varied("database", 2_000)
"""Makes more than one chunk."""


def restarted(before: Chain, new_chain: NewChain, **switches: object) -> Chain:
    """Return a new process on the same index, whose group has committed nothing."""
    after = new_chain(**switches)
    after.sink.templates.update(before.sink.templates)
    after.sink.blocks.update(before.sink.blocks)
    return after


def waiting(chain: Chain) -> tuple[int, int]:
    """How many texts wait for the engine, and how many entries for the sink."""
    return len(chain.embedder), len(chain.store_lane)


def test_lines_that_are_stored_are_settled_at_once_and_the_rest_is_written(chain: Chain, new_chain: NewChain) -> None:
    chain.feed("disk 1 full", "disk 2 full", LONG)
    chain.run()
    blocks = len(chain.sink.blocks)
    again = restarted(chain, new_chain)
    again.feed("disk 1 full", "disk 2 full", LONG)
    assert waiting(again) == (0, 0)
    assert again.committable() == 3
    assert again.ledger.tally["indexed"] == 3
    assert (again.ledger.open_bytes, again.ledger.decoded_bytes) == (0, 0)
    again.feed("disk 3 full")
    again.run()
    assert len(again.sink.blocks) == blocks + 1
    assert again.committable() == 4
    assert again.stored() == [*chain.stored(), (3, "disk 3 full")]
    assert again.resume.tally.skipped_lines == len(chain.lines())
    assert (again.flights.total().chunks, again.embedded_texts()) == (1, 0)


def test_a_template_row_that_was_lost_is_written_again_with_its_line(chain: Chain, new_chain: NewChain) -> None:
    chain.feed("disk full", "login failed")
    chain.run()
    again = restarted(chain, new_chain)
    del again.sink.templates[chain.template("disk full")]
    again.feed("disk full", "login failed")
    again.run()
    assert again.sink.templates.keys() == chain.sink.templates.keys()
    assert again.committable() == 2
    assert again.stored() == chain.stored()


def test_a_piece_of_too_many_chunks_is_a_dead_letter_again_beside_entries_that_are_stored(new_chain: NewChain) -> None:
    value = json.dumps([{"msg": "first"}, {"msg": LONG}])
    before = new_chain(max_chunks=1)
    before.feed(value)
    before.run()
    again = restarted(before, new_chain, max_chunks=1)
    again.feed(value)
    assert waiting(again) == (0, 0)
    assert [pieces for _, _, pieces in again.letters.posted] == [[RejectedPiece(1, 0, TOO_MANY_CHUNKS)]]
    assert again.committable() == 1


def test_a_hard_stop_while_the_index_does_not_answer_leaves_the_records_open(chain: Chain) -> None:
    chain.sink.busy_calls = 100
    chain.give_up_after = 3
    chain.feed("disk full")
    assert waiting(chain) == (0, 0)
    assert (chain.ledger.open_records, chain.committable()) == (1, None)
