"""The store step with a sink that refuses lines and templates: only what is refused alone is a dead letter, and not without limit."""

import json

import pytest

from consumers.rejection import RejectedPiece
from sinks.block import Block
from sinks.sink import SinkBusy, SinkRejected
from tests.worker.chain import Chain
from tests.worker.chain_values import texts_of
from tests.worker.conftest import NewChain
from tests.worker.indexing.test_store import Rows
from worker.runtime.limits import LimitReached


@pytest.mark.parametrize("bad", [{0}, {6}, {2, 3}, {0, 1, 2, 3, 4, 5, 6}])
def test_only_lines_that_the_sink_refuses_alone_become_dead_letters(chain: Chain, bad: set[int]) -> None:
    lines = [f"disk {number} full" for number in range(7)]
    chain.refuse(*(lines[number] for number in bad))
    chain.feed(*lines)
    chain.run()
    assert chain.letters.offsets() == sorted(bad)
    assert all(first.reason.startswith("refused by the sink: ") for _, first, _ in chain.letters.posted)
    assert chain.stored() == [(number, line) for number, line in enumerate(lines) if number not in bad]
    assert chain.committable() == 7


def test_lines_of_a_refused_block_go_on_under_another_run(chain: Chain) -> None:
    """The refused block may be stored, if an earlier answer was lost: then its lines must not be in two numbers of its run."""
    chain.feed("disk 0 full", "disk 1 full", "disk 2 full")
    chain.embed()
    calls: list[Block] = []

    def lose_then_refuse(rows: Rows) -> None:
        if isinstance(rows[0], Block):
            calls.append(rows[0])
            if len(calls) == 1:
                chain.sink.lost_acknowledgements = 1
                chain.sink.rejects = lambda block: "disk 1 full" in texts_of(block)

    chain.sink.on_write = lose_then_refuse
    chain.run()
    runs = {one.run for one in chain.sink.blocks}
    assert len(runs) >= 2
    assert min(runs) == calls[0].id.run
    assert [one for one in chain.sink.blocks if one.run == min(runs)] == [calls[0].id], "the split lines are not in its run"
    assert chain.letters.offsets() == [1]
    assert chain.committable() == 3


def test_when_one_block_of_a_call_is_refused_the_others_are_sent_as_they_are(chain: Chain) -> None:
    chain.feed("disk full")
    chain.run()
    chain.refuse("disk 1500 full")
    chain.feed(*[f"disk {number} full" for number in range(3000)])
    chain.run()
    assert chain.letters.offsets() == [1501]
    assert (len(chain.stored()), chain.committable()) == (3000, 3001)
    run = chain.sink.written[0].run
    assert sorted(one.first for one in chain.sink.blocks if one.run == run) == [0, 1, 3], "block 2 was refused"


def test_one_refused_line_too_many_in_a_row_stops_and_blames_nobody_of_its_call(new_chain: NewChain) -> None:
    chain = new_chain(most_refused=3)
    lines = [f"disk {number} full" for number in range(8)]
    chain.refuse(*lines[1:3], *lines[4:])
    chain.feed(*lines[:6])
    chain.run()
    assert (chain.letters.offsets(), chain.committable()) == ([1, 2, 4, 5], 6)
    chain.feed(*lines[6:])
    with pytest.raises(LimitReached, match=r"4 lines that the sink refuses in a row \(the last: .+\)"):
        chain.run()
    assert (chain.letters.offsets(), chain.committable()) == ([1, 2, 4, 5], 6)
    assert chain.stored() == [(0, lines[0]), (3, lines[3])]


def test_a_line_that_is_stored_begins_the_count_of_refused_ones_anew_and_a_template_does_not(new_chain: NewChain) -> None:
    chain = new_chain(most_refused=2)
    good = [f"{word} up 1" for word in ("disk", "fan", "network", "host", "lamp")]
    bad = [f"{word} down 1" for word in ("disk", "fan", "network", "host", "lamp")]
    chain.refuse(*bad)
    for pair in zip(bad, good, strict=True):
        chain.feed(*pair)
        chain.run()
    assert len(chain.letters.posted) == len(bad)
    left = sorted(f"{word} left 1" for word in ("disk", "fan", "network"))
    chain.refuse(*left)
    templates = len(chain.sink.templates)
    for line in left[:2]:
        chain.feed(line)
        chain.run()
    chain.feed(left[2])
    with pytest.raises(LimitReached, match="3 lines"):
        chain.run()
    assert len(chain.sink.templates) == templates + 3, "their templates were stored"


def test_refused_templates_have_a_limit_too_and_none_of_their_lines_is_committed(new_chain: NewChain) -> None:
    chain = new_chain(most_refused=1)
    chain.refuse("disk full", "network down")
    chain.feed("lamp on", "disk full 1", "network down 1")
    with pytest.raises(LimitReached, match="2 templates that the sink refuses"):
        chain.run()
    assert (chain.letters.posted, chain.stored(), chain.committable()) == ([], [], None)


def test_a_refused_template_is_a_dead_letter_for_each_of_its_lines_and_no_others(chain: Chain) -> None:
    chain.refuse("disk full")  # the template's text; no line is exactly this
    chain.feed("disk full 1", "network down", "disk full 2")
    chain.run()
    assert chain.letters.offsets() == [0, 2]
    assert chain.stored() == [(1, "network down")]
    chain.feed("disk full 3")
    assert chain.letters.offsets() == [0, 2, 3]
    assert chain.committable() == 4


def test_a_refused_entry_makes_a_dead_letter_of_that_entry_only(chain: Chain) -> None:
    chain.refuse("middle 2")
    chain.feed(json.dumps([{"message": "first 1"}, {"message": "middle 2"}, {"message": "last 3"}]))
    chain.run()
    assert [(line.sub, line.text) for line in chain.lines()] == [(0, "first 1"), (2, "last 3")]
    assert [[(piece.sub, piece.chunk) for piece in pieces] for _, _, pieces in chain.letters.posted] == [[(1, 0)]]
    assert isinstance(chain.letters.posted[0][2][0], RejectedPiece)


def test_a_refused_chunk_takes_its_whole_entry_with_it(chain: Chain) -> None:
    words = " ".join(f"word{letter}" for letter in "abcdefghijklmnopqrstuvwxyz" * 12)
    chain.sink.rejects = lambda block: any(text.startswith("worda wordb") for text in texts_of(block))
    chain.feed("disk full", words, "network down")
    chain.run()
    assert chain.stored() == [(0, "disk full"), (2, "network down")]
    assert len(chain.letters.posted[0][2]) > 1
    assert chain.letters.offsets() == [1]
    assert chain.committable() == 3


def test_a_record_with_a_refused_piece_settles_when_its_dead_letter_is_delivered(chain: Chain) -> None:
    chain.letters.held = True
    chain.refuse("disk full")
    chain.feed("disk full", "network down")
    chain.run()
    assert chain.committable() is None
    chain.letters.posted[0][0].dead_letter_delivered()
    assert chain.committable() == 2


def test_a_busy_sink_during_the_search_for_the_culprit_blames_nobody_else(chain: Chain) -> None:
    calls: list[int] = []

    def busy_every_second_time(rows: Rows) -> None:
        calls.append(len(rows))
        if len(calls) % 2:
            raise SinkBusy("planted")
        for row in rows:
            if isinstance(row, Block) and "disk 3 full" in texts_of(row):
                raise SinkRejected("planted")

    chain.sink.on_write = busy_every_second_time
    chain.feed(*[f"disk {number} full" for number in range(5)])
    chain.run()
    assert chain.letters.offsets() == [3]
    assert len(chain.stored()) == 4
    assert chain.committable() == 5
