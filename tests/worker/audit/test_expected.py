"""What records owe is what the worker makes of them: the same rows, the same dead letters."""

import json

import pytest

from sinks.row import LineRow
from tests.worker.audit.books import Books, rows_of
from tests.worker.chain import Chain, record
from tests.worker.conftest import NewChain
from worker.audit.expected import Expected

LONG = " ".join(f"word{n} is, not at all, like word{n * 7}." for n in range(400))
VALUES: tuple[bytes | None, ...] = (
    b"disk sda1 is 91 % full\r\n",
    b"\xff not utf-8",
    None,
    b"\n",
    json.dumps([{"message": f"entry {n}", "service": "s" * 300, "level": "warn"} for n in range(5)] + [{}]).encode(),
    LONG.encode(),
    b'{"message": "user a@b.example", "extra": 1}',
    b'[{"message": "short"}, {"message": ' + json.dumps(LONG * 3).encode() + b"}]",
    b"disk sda1 is 92 % full",
)


def stored_by(chain: Chain) -> list[LineRow]:
    chain.feed(*VALUES)
    chain.run()
    return sorted(chain.sink.lines.values())


@pytest.mark.parametrize("redact", [(), ("email",)])
def test_what_is_owed_is_what_the_worker_stores(new_chain: NewChain, books: Books, redact: tuple[str, ...]) -> None:
    chain = new_chain(max_chunks=30, redact=redact)
    stored = stored_by(chain)
    receipts = sorted(chain.letters.posted, key=lambda posted: posted[0].record.offset)
    records = [record(offset, value) for offset, value in enumerate(VALUES)]
    owed = books.maker_of(max_chunks=30, redact=redact).owed(records)
    assert sorted(rows_of(owed)) == stored
    assert len(stored) > 20
    assert {piece.row.template: piece.masked for debt in owed for piece in debt.pieces} == {
        row.digest: row.text for row in chain.sink.templates.values()
    }
    assert [(debt.record.offset, debt.rejects) for debt in owed if debt.rejects] == [
        (receipt.record.offset, tuple(tuple(reject) for reject in rejects)) for receipt, _, rejects in receipts
    ]
    assert [debt.record.offset for debt in owed if debt.is_nothing] == [2, 3]


def test_a_record_that_cannot_be_decoded_is_owed_to_the_dead_letters(new_chain: NewChain, books: Books) -> None:
    chain = new_chain(strict=True, max_chunks=30)
    stored_by(chain)
    records = [record(offset, value) for offset, value in enumerate(VALUES)]
    owed = books.maker_of(errors="strict", max_chunks=30).owed(records)
    refused = [(debt.record.offset, debt.refusal) for debt in owed if debt.refusal]
    assert refused == [(1, "undecodable: not valid UTF-8")]
    assert refused == [(receipt.record.offset, reason) for receipt, reason, rejects in chain.letters.posted if not rejects]
    assert owed[1] == Expected(records[1], (), refusal="undecodable: not valid UTF-8")


def test_nothing_is_owed_for_no_records(books: Books) -> None:
    assert books.maker.owed([]) == []


def test_many_records_are_owed_in_their_order(books: Books) -> None:
    records = [record(offset, b"line %d" % offset) for offset in range(3_000)]
    owed = books.maker.owed(records)
    assert [debt.record for debt in owed] == records
    assert [row.text for row in rows_of(owed)] == [f"line {offset}" for offset in range(3_000)]
