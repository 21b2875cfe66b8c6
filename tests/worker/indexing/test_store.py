"""The store step with a fake sink: nothing settles before it is acknowledged, whatever the sink does."""

import json
from collections.abc import Sequence

import pytest

from sinks.block import Block
from sinks.row import TemplateRow
from sinks.sink import SinkBroken, SinkBusy
from tests.worker.chain import Chain
from tests.worker.chain_values import LOGS
from worker.runtime.retry import BACK_OFF_S
from worker.runtime.stage import Abandoned

Rows = Sequence[TemplateRow] | Sequence[Block]


def is_templates(rows: Rows) -> bool:
    """Whether these are templates and not blocks."""
    return isinstance(rows[0], TemplateRow)


def watch(chain: Chain) -> list[tuple[str, int, int | None]]:
    """Note every write that reaches the sink: what, how many rows, and what could have been committed then."""
    seen: list[tuple[str, int, int | None]] = []
    chain.sink.on_write = lambda rows: seen.append(("templates" if is_templates(rows) else "blocks", len(rows), chain.committable()))
    return seen


def test_templates_are_written_before_the_lines_that_point_to_them(chain: Chain) -> None:
    seen = watch(chain)
    chain.feed("disk full", "disk full", "network down")
    chain.run()
    assert seen == [("templates", 2, None), ("blocks", 1, None)]
    assert chain.committable() == 3
    assert {line.template for line in chain.lines()} == set(chain.sink.templates)


def test_nothing_settles_before_the_template_and_the_block_are_acknowledged(chain: Chain) -> None:
    chain.feed("disk full")
    chain.embed()
    chain.sink.on_write = lambda rows: None if is_templates(rows) else (_ for _ in ()).throw(SinkBroken("planted"))
    with pytest.raises(SinkBroken):
        chain.store()
    assert list(chain.sink.templates) == [chain.template("disk full")]
    assert (chain.stored(), chain.committable()) == ([], None)
    assert chain.ledger.open_records == 1


def test_a_template_that_was_not_acknowledged_makes_no_line_known(chain: Chain) -> None:
    chain.feed("disk full")
    chain.embed()
    chain.sink.broken = "planted"
    with pytest.raises(SinkBroken):
        chain.store()
    chain.feed("disk full")
    assert len(chain.store_lane) == 0
    assert chain.committable() is None


def test_lines_that_board_while_the_template_is_written_are_written_in_the_same_turn(chain: Chain) -> None:
    chain.feed("disk full")
    chain.embed()

    def board_more(rows: Rows) -> None:
        if is_templates(rows):
            chain.sink.on_write = lambda _rows: None
            chain.feed("disk full")

    chain.sink.on_write = board_more
    chain.store()
    assert chain.stored() == [(0, "disk full"), (1, "disk full")]
    assert chain.committable() == 2


@pytest.mark.parametrize("kind", ["templates", "blocks"])
def test_while_the_sink_is_busy_rows_are_held_and_tried_again(chain: Chain, kind: str) -> None:
    tries: list[str] = []

    def refuse_seven_times(rows: Rows) -> None:
        if ("templates" if is_templates(rows) else "blocks") == kind and len(tries) < 7:
            tries.append(kind)
            assert chain.committable() is None
            raise SinkBusy("planted")

    chain.sink.on_write = refuse_seven_times
    chain.feed("disk full", "network down")
    chain.run()
    assert len(tries) == 7
    assert all(most_s / 2 <= pause_s <= most_s for pause_s, most_s in zip(chain.pauses_s, [*BACK_OFF_S, BACK_OFF_S[-1]], strict=True))
    assert chain.stored() == [(0, "disk full"), (1, "network down")]
    assert chain.committable() == 2
    assert chain.letters.posted == []
    assert [line.split(" (")[0].split(" after")[0] for line in chain.said] == ["the sink does not take rows", "the sink takes rows again"]


def test_two_minutes_without_a_sink_are_a_handful_of_lines_and_then_it_goes_on_by_itself(chain: Chain) -> None:
    def away(_rows: Rows) -> None:
        if chain.now_s < 220:
            raise SinkBusy("planted")

    chain.sink.on_write = away
    chain.feed(*[f"disk {number} full" for number in range(50)])
    chain.embed()
    held = (chain.ledger.open_bytes, chain.ledger.decoded_bytes)
    chain.run()
    assert len(chain.pauses_s) > 20
    assert 2 <= len(chain.said) <= 4
    assert chain.said[-1].startswith("the sink takes rows again after 12")
    assert held > (0, 0)
    assert (len(chain.stored()), chain.committable(), chain.ledger.open_bytes, chain.letters.posted) == (50, 50, 0, [])


def test_after_a_lost_acknowledgement_the_same_block_is_sent_again(chain: Chain) -> None:
    chain.feed("disk full")
    chain.embed()

    def lose_two_answers(rows: Rows) -> None:
        if not is_templates(rows):
            chain.sink.lost_acknowledgements = int(len(chain.sink.written) < 2)

    chain.sink.on_write = lose_two_answers
    chain.run()
    assert len(chain.sink.written) == 3
    assert len(chain.sink.blocks) == 1, "the fake checks that the content is the same, and that the sink was told"
    assert chain.stored() == [(0, "disk full")]
    assert chain.committable() == 1


def test_a_hard_stop_leaves_what_is_held_unsettled(chain: Chain) -> None:
    chain.feed("disk full")
    chain.embed()
    chain.sink.busy_calls = 10**9
    chain.give_up_after = 3
    with pytest.raises(Abandoned):
        chain.store()
    assert len(chain.pauses_s) == 3
    assert (chain.committable(), chain.ledger.open_records) == (None, 1)


def test_lines_of_a_dead_generation_are_not_written_but_their_flight_lands(chain: Chain) -> None:
    chain.feed("disk full", "disk full")
    chain.embed()
    chain.ledger.revoke([LOGS])
    chain.ledger.assign([LOGS])
    chain.feed("disk full")
    chain.store()
    assert chain.stored() == [(2, "disk full")]
    assert list(chain.sink.templates) == [chain.template("disk full")]
    assert chain.committable() == 3
    assert chain.ledger.open_records == 0
    assert chain.ledger.open_bytes == chain.ledger.decoded_bytes == 0
    chain.feed("disk full")
    assert len(chain.store_lane) == 1, "the template is known"


def test_lines_that_wait_when_their_partition_is_lost_are_released_and_not_written(chain: Chain) -> None:
    chain.feed("disk full", "disk full")
    chain.embed()
    chain.take_to_store()
    assert chain.store_step.waiting_lines == 2
    chain.ledger.revoke([LOGS])
    chain.store_step.flush()
    assert (chain.store_step.waiting_lines, len(chain.sink.blocks)) == (0, 0)
    assert (chain.ledger.open_records, chain.ledger.open_bytes, chain.ledger.decoded_bytes) == (0, 0, 0)
    assert chain.runs.all() == []


def test_a_new_assignment_is_a_new_run_and_its_numbers_begin_at_0(chain: Chain) -> None:
    chain.feed("disk full")
    chain.run()
    chain.feed("disk full")
    chain.run()
    chain.ledger.revoke([LOGS])
    chain.ledger.assign([LOGS])
    chain.feed("disk full")
    chain.run()
    first, second, third = chain.sink.written
    assert (first.run, second.run) == (first.run, first.run)
    assert third.run > first.run, "though no time has passed"
    assert [one.first for one in chain.sink.written] == [0, 1, 0]


def test_while_a_write_is_under_way_the_partition_has_unanswered_writes(chain: Chain) -> None:
    answered: list[bool] = []
    chain.feed("disk full")
    chain.embed()
    (run,) = chain.runs.all()
    chain.sink.on_write = lambda rows: None if is_templates(rows) else answered.append(chain.runs.writes_answered(run.place))
    chain.at = lambda point: answered.append(chain.runs.writes_answered(run.place)) if point == "closed" else None
    chain.store()
    assert answered == [False, False]
    assert chain.runs.writes_answered(run.place)


def test_lines_say_where_they_came_from(chain: Chain) -> None:
    chain.feed("first", json.dumps({"message": "second\n", "level": "WARN", "service": "sshd"}))
    chain.run()
    lines = chain.lines()
    assert [line.id for line in lines] == ["logs@e1/0/0/0/0", "logs@e1/0/1/0/0"]
    assert [(line.text, line.level, line.service, line.time, line.kafka_time) for line in lines] == [
        ("first", "", "", 999_000, 999_000),
        ("second", "WARN", "sshd", 999_000, 999_000),
    ]
    assert [(line.topic, line.partition, line.offset, line.sub, line.chunk, line.chunks, line.records) for line in lines] == [
        ("logs", 0, 0, 0, 0, 1, 1),
        ("logs", 0, 1, 0, 0, 1, 1),
    ]


def test_rows_and_seconds_are_counted(chain: Chain) -> None:
    chain.refuse("disk 1 full", "network down")

    def half_a_second(_rows: Rows) -> None:
        chain.now_s += 0.5

    chain.sink.on_write = half_a_second
    chain.feed("disk 1 full", "disk 2 full", "network down")
    chain.run()
    tally = chain.store_step.tally
    assert (tally.lines, tally.blocks, tally.templates) == (1, 1, 1)
    assert tally.seconds == 0.5 * len(chain.sink.templates) + 0.5 * len(chain.sink.blocks)
    writes = {kind: (spread.seen().buckets[-1][1], spread.seen().total) for kind, spread in tally.writes.items()}
    hollow = 2  # in place of what was refused; no lines, and no blocks that were asked for
    assert writes == {"blocks": (1 + hollow, 1.5), "templates": (1, 0.5), "merged": (0, 0), "deleted": (0, 0)}
    assert tally.block_bytes > 0
    assert tally.errors["rejected"] >= 2
    assert tally.errors["busy"] == 0


def test_how_old_each_line_was_when_it_was_acknowledged_is_noted(chain: Chain) -> None:
    chain.feed("disk full", "network down", "login failed")
    chain.now_s += 4.0
    chain.run()
    seen = chain.store_step.tally.searchable.seen()
    assert seen.buckets[-1][1] == 3
    assert seen.total == pytest.approx(3 * 5.0), "sent a second before the chain's moment 0"
