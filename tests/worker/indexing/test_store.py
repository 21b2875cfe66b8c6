"""The store step with a fake sink: nothing settles before it is acknowledged, whatever the sink does."""

import json
from collections.abc import Sequence
from dataclasses import replace

import pytest

from consumers.rejection import RejectedPiece
from sinks.row import LEVEL_BYTES, SERVICE_BYTES, LineRow, TemplateRow
from sinks.sink import SinkBroken, SinkBusy, SinkRejected
from tests.worker.chain import LOGS, Chain
from tests.worker.conftest import NewChain
from worker.indexing.store import BACK_OFF_S, Store, StoreTally
from worker.messages import EmbeddedChunk
from worker.runtime.limits import LimitReached
from worker.runtime.stage import Abandoned

Rows = Sequence[TemplateRow] | Sequence[LineRow]


def watch(chain: Chain) -> list[tuple[str, int, int | None]]:
    """Note every upsert that reaches the sink: what, how many rows, and what could have been committed then."""
    seen: list[tuple[str, int, int | None]] = []

    def note(rows: Rows) -> None:
        kind = "templates" if isinstance(rows[0], TemplateRow) else "lines"
        seen.append((kind, len(rows), chain.committable()))

    chain.sink.on_upsert = note
    return seen


def test_templates_are_written_before_the_lines_that_point_to_them(chain: Chain) -> None:
    seen = watch(chain)
    chain.feed("disk full", "disk full", "network down")
    chain.run()
    assert seen == [("templates", 2, None), ("lines", 3, None)]
    assert chain.committable() == 3
    assert {line.template for line in chain.sink.lines.values()} == set(chain.sink.templates)


def test_nothing_settles_before_the_template_and_the_row_are_acknowledged(chain: Chain) -> None:
    chain.feed("disk full")
    chain.embed()
    chain.sink.on_upsert = lambda rows: (_ for _ in ()).throw(SinkBroken("planted")) if isinstance(rows[0], LineRow) else None
    with pytest.raises(SinkBroken):
        chain.store()
    assert list(chain.sink.templates) == [chain.digest("disk full")]
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
        if isinstance(rows[0], TemplateRow):
            chain.sink.on_upsert = lambda _rows: None
            chain.feed("disk full")

    chain.sink.on_upsert = board_more
    chain.store()
    assert chain.stored() == [(0, "disk full"), (1, "disk full")]
    assert chain.committable() == 2


@pytest.mark.parametrize("kind", ["templates", "lines"])
def test_while_the_sink_is_busy_rows_are_held_and_tried_again(chain: Chain, kind: str) -> None:
    tries: list[str] = []

    def refuse_seven_times(rows: Rows) -> None:
        if ("templates" if isinstance(rows[0], TemplateRow) else "lines") == kind and len(tries) < 7:
            tries.append(kind)
            assert chain.committable() is None
            raise SinkBusy("planted")

    chain.sink.on_upsert = refuse_seven_times
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

    chain.sink.on_upsert = away
    chain.feed(*[f"disk {number} full" for number in range(50)])
    chain.embed()
    held = (chain.ledger.open_bytes, chain.ledger.decoded_bytes)
    chain.run()
    assert len(chain.pauses_s) > 20
    assert 2 <= len(chain.said) <= 4
    assert chain.said[-1].startswith("the sink takes rows again after 12")
    assert held > (0, 0)
    assert (len(chain.stored()), chain.committable(), chain.ledger.open_bytes, chain.letters.posted) == (50, 50, 0, [])


def test_a_lost_acknowledgement_writes_the_same_rows_again(chain: Chain) -> None:
    chain.sink.lost_acknowledgements = 2
    chain.feed("disk full")
    chain.run()
    assert chain.stored() == [(0, "disk full")]
    assert chain.committable() == 1


def test_a_hard_stop_leaves_what_is_held_unsettled(chain: Chain) -> None:
    chain.sink.busy_calls = 10**9
    chain.give_up_after = 3
    chain.feed("disk full")
    chain.embed()
    with pytest.raises(Abandoned):
        chain.store()
    assert len(chain.pauses_s) == 3
    assert (chain.committable(), chain.ledger.open_records) == (None, 1)


@pytest.mark.parametrize("bad", [{0}, {6}, {2, 3}, {0, 1, 2, 3, 4, 5, 6}])
def test_only_lines_that_the_sink_refuses_alone_become_dead_letters(chain: Chain, bad: set[int]) -> None:
    lines = [f"disk {number} full" for number in range(7)]
    chain.sink.rejected_texts = {lines[number] for number in bad}
    chain.feed(*lines)
    chain.run()
    assert chain.letters.offsets() == sorted(bad)
    assert all(first.reason.startswith("refused by the sink: ") for _, first, _ in chain.letters.posted)
    assert chain.stored() == [(number, line) for number, line in enumerate(lines) if number not in bad]
    assert chain.committable() == 7


def test_one_refused_line_too_many_in_a_row_stops_and_blames_nobody_of_its_batch(new_chain: NewChain) -> None:
    chain = new_chain(most_refused=3)
    lines = [f"disk {number} full" for number in range(8)]
    chain.sink.rejected_texts = set(lines[1:3]) | set(lines[4:])
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
    chain.sink.rejected_texts = set(bad)
    for pair in zip(bad, good, strict=True):
        chain.feed(*pair)
        chain.run()
    assert len(chain.letters.posted) == len(bad)
    chain.sink.rejected_texts = {f"{word} left 1" for word in ("disk", "fan", "network")}
    templates = len(chain.sink.templates)
    for _, line in zip(range(2), sorted(chain.sink.rejected_texts), strict=False):
        chain.feed(line)
        chain.run()
    chain.feed(max(chain.sink.rejected_texts))
    with pytest.raises(LimitReached, match="3 lines"):
        chain.run()
    assert len(chain.sink.templates) == templates + 3, "their templates were stored"


def test_refused_templates_have_a_limit_too_and_none_of_their_lines_is_committed(new_chain: NewChain) -> None:
    chain = new_chain(most_refused=1)
    chain.sink.rejected_texts = {"disk full", "network down"}
    chain.feed("lamp on", "disk full 1", "network down 1")
    with pytest.raises(LimitReached, match="2 templates that the sink refuses"):
        chain.run()
    assert (chain.letters.posted, chain.stored(), chain.committable()) == ([], [], None)


def test_a_refused_template_is_a_dead_letter_for_each_of_its_lines_and_no_others(chain: Chain) -> None:
    chain.sink.rejected_texts = {"disk full"}  # the masked text; no line is exactly this
    chain.feed("disk full 1", "network down", "disk full 2")
    chain.run()
    assert chain.letters.offsets() == [0, 2]
    assert chain.stored() == [(1, "network down")]
    chain.feed("disk full 3")
    assert chain.letters.offsets() == [0, 2, 3]
    assert chain.committable() == 4


def test_a_refused_piece_makes_a_dead_letter_of_that_piece_only(chain: Chain) -> None:
    chain.sink.rejected_texts = {"middle 2"}
    chain.feed(json.dumps([{"message": "first 1"}, {"message": "middle 2"}, {"message": "last 3"}]))
    chain.run()
    assert [(line.sub, line.text) for line in chain.sink.lines.values()] == [(0, "first 1"), (2, "last 3")]
    assert [[(piece.sub, piece.chunk) for piece in pieces] for _, _, pieces in chain.letters.posted] == [[(1, 0)]]
    assert isinstance(chain.letters.posted[0][2][0], RejectedPiece)


def test_a_record_with_a_refused_piece_settles_when_its_dead_letter_is_delivered(chain: Chain) -> None:
    chain.letters.held = True
    chain.sink.rejected_texts = {"disk full"}
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
        if isinstance(rows[0], LineRow) and any(row.text == "disk 3 full" for row in rows):
            raise SinkRejected("planted")

    chain.sink.on_upsert = busy_every_second_time
    chain.feed(*[f"disk {number} full" for number in range(5)])
    chain.run()
    assert chain.letters.offsets() == [3]
    assert len(chain.stored()) == 4
    assert chain.committable() == 5


def test_lines_of_a_dead_generation_are_not_written_but_their_flight_lands(chain: Chain) -> None:
    chain.feed("disk full", "disk full")
    chain.embed()
    chain.ledger.revoke([LOGS])
    chain.ledger.assign([LOGS])
    chain.feed("disk full")
    chain.store()
    assert chain.stored() == [(2, "disk full")]
    assert list(chain.sink.templates) == [chain.digest("disk full")]
    assert chain.committable() == 3
    assert chain.ledger.open_records == 0
    assert chain.ledger.open_bytes == chain.ledger.decoded_bytes == 0
    chain.feed("disk full")
    assert len(chain.store_lane) == 1, "the template is known"


def test_a_batch_of_nothing_but_dead_lines_calls_no_sink(chain: Chain) -> None:
    chain.feed("disk full")
    chain.run()
    chain.feed("disk full")
    chain.ledger.revoke([LOGS])
    chain.sink.calls.clear()
    chain.store()
    assert chain.sink.calls == []
    assert chain.ledger.open_bytes == 0


def test_rows_say_where_a_line_came_from(chain: Chain) -> None:
    chain.feed("first", json.dumps({"message": "second\n", "level": "WARN", "service": "sshd"}))
    chain.run()
    rows = sorted(chain.sink.lines.values(), key=lambda row: row.offset)
    assert [row.id for row in rows] == ["logs@e1/0/0/0/0", "logs@e1/0/1/0/0"]
    assert [(row.text, row.level, row.service, row.time) for row in rows] == [
        ("first", "", "", 999_000),
        ("second", "WARN", "sshd", 999_000),
    ]
    assert [(row.topic, row.partition, row.offset, row.sub, row.chunk, row.chunks) for row in rows] == [
        ("logs", 0, 0, 0, 0, 1),
        ("logs", 0, 1, 0, 0, 1),
    ]


@pytest.mark.parametrize("letter", ["x", "é", "日", "\U0001f4a5"])
def test_labels_too_long_for_their_columns_are_cut_between_characters(chain: Chain, letter: str) -> None:
    chain.feed(json.dumps({"message": "hot", "service": letter * 400, "level": letter * 400}))
    chain.run()
    (row,) = chain.sink.lines.values()
    assert chain.letters.posted == []
    assert row.service == letter * (SERVICE_BYTES // len(letter.encode()))
    assert row.level == letter * (LEVEL_BYTES // len(letter.encode()))


def test_rows_and_seconds_are_counted(chain: Chain) -> None:
    chain.sink.rejected_texts = {"disk 1 full", "network down"}

    def half_a_second(_rows: Rows) -> None:
        chain.now_s += 0.5

    chain.sink.on_upsert = half_a_second
    chain.feed("disk 1 full", "disk 2 full", "network down")
    chain.run()
    tally = chain.store_step.tally
    assert (tally.lines, tally.templates) == (1, 1)
    assert tally.seconds == 0.5 * len(chain.sink.templates) + 0.5 * len(chain.sink.lines)
    writes = {kind: (spread.seen().buckets[-1][1], spread.seen().total) for kind, spread in tally.writes.items()}
    assert writes == {"lines": (1, 0.5), "templates": (1, 0.5)}
    assert tally.errors["rejected"] >= 2
    assert tally.errors["busy"] == 0


def test_how_old_each_line_was_when_it_was_acknowledged_is_noted_but_never_below_nought(chain: Chain) -> None:
    store = chain.store_step
    chain.feed("disk full", "network down", "login failed")
    chain.embed()
    waiting = chain.store_lane.take(10) or []
    chunks = [one for one in waiting if isinstance(one, EmbeddedChunk)]
    assert len(chunks) == 3
    store = replace(store, wall_ms=lambda: 5_000.0, tally=StoreTally())
    store.step(waiting)
    seen = store.tally.searchable.seen()
    times_ms = [line.time for line in chain.sink.lines.values() if line.time > 0]
    assert seen.buckets[-1][1] == len(times_ms)
    assert seen.total == pytest.approx(sum(max(5_000.0 - time_ms, 0.0) for time_ms in times_ms) / 1000)


def test_fail_points_stand_on_both_sides_of_each_upsert_and_between_template_and_line(chain: Chain) -> None:
    passed: list[tuple[str, int, int]] = []
    chain.feed("disk full")
    chain.embed()
    store = Store(
        sink=chain.sink,
        flights=chain.flights,
        say=chain.said.append,
        pause=chain.pause,
        clock=chain.clock,
        most_refused=0,
        fail_point=lambda point: passed.append((point, len(chain.sink.templates), len(chain.sink.lines))),
    )
    waiting = chain.store_lane.take(10)
    assert waiting is not None
    store.step(waiting)
    assert passed == [
        ("before_templates", 0, 0),
        ("after_templates", 1, 0),
        ("landed", 1, 0),
        ("before_upsert", 1, 0),
        ("after_upsert", 1, 1),
    ]
