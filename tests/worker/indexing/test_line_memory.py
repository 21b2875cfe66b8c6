"""Lines count for as much memory as they hold until they are stored, and not for much more."""

import gc
import json
import tracemalloc
from collections.abc import Callable
from sys import getsizeof

import numpy as np
import pyarrow as pa
import pytest

from consumers.assignment import Receipt
from consumers.record import Partition
from sinks.line import Line
from sinks.lines import lines_of
from sinks.row import TemplateText
from tests.consumers.records import admit_batch
from tests.worker.chain import Chain
from tests.worker.chain_values import record
from tests.worker.conftest import NewChain
from worker.indexing.line_memory import BATCH_BYTES, COPIES, LINE_BYTES, TEMPLATE_BYTES, held_bytes
from worker.settings.service_tables import LimitTable

MANY = 2_000
PARTITIONS = [Partition("logs", n) for n in range(1, 301)]
TINY = json.dumps([{"msg": "a"}] * 10_000)
WORDS = " ".join(f"disk{'x' * (n % 50)}" for n in range(2_000))
USUAL = "disk {} of the array is full after {} seconds, the second time this morning, and it will be full again unless somebody cleans up"


def usual(number: int) -> str:
    """Return a line of 130 bytes of one template."""
    return USUAL.format(number, number)


def new(number: int) -> str:
    """Return a line of a template of its own."""
    letters = "".join("abcdefghij"[int(digit)] for digit in str(number))
    return USUAL.format(letters, number)


def known(chain: Chain) -> list[Receipt]:
    chain.feed(usual(0))
    chain.run()
    return chain.admit(*map(usual, range(MANY)))


def waiting(chain: Chain) -> list[Receipt]:
    chain.feed(usual(0))
    return chain.admit(*map(usual, range(MANY)))


def beginning_flights(chain: Chain) -> list[Receipt]:
    chain.feed(*(new(10 * MANY + n) for n in range(MANY)))
    return chain.admit(*map(new, range(MANY)))


def waiting_in_flights_of_their_own(chain: Chain) -> list[Receipt]:
    chain.feed(*map(new, range(MANY)))
    return chain.admit(*map(new, range(MANY)))


def named_services(chain: Chain) -> list[Receipt]:
    chain.feed(usual(0))
    chain.run()
    return chain.admit(*(json.dumps({"message": usual(n), "service": f"service number {n}", "level": "WARN"}) for n in range(MANY)))


def one_of_each_partition(chain: Chain) -> list[Receipt]:
    receipts: list[Receipt] = []
    for offset in range(2):
        receipts = [admit_batch(chain.ledger, record(offset, usual(offset).encode(), partition=one)) for one in PARTITIONS]
        if not offset:
            chain.prepare.step(receipts)
    return receipts


def known_of_each_partition(chain: Chain) -> list[Receipt]:
    chain.ledger.assign(PARTITIONS)
    chain.feed(usual(0))
    chain.run()
    return one_of_each_partition(chain)


def waiting_of_each_partition(chain: Chain) -> list[Receipt]:
    chain.ledger.assign(PARTITIONS)
    return one_of_each_partition(chain)


WAYS = (
    known,
    waiting,
    beginning_flights,
    waiting_in_flights_of_their_own,
    named_services,
    known_of_each_partition,
    waiting_of_each_partition,
)


def memory_bytes() -> int:
    """Return how much memory Python, numpy and Arrow have in use."""
    gc.collect()
    return tracemalloc.get_traced_memory()[0] + int(pa.total_allocated_bytes())


def prepared_bytes(chain: Chain, receipts: list[Receipt]) -> tuple[int, int]:
    """Prepare records; return how much more memory is in use then, and how much was counted."""
    tracemalloc.start()
    before_bytes, counted_before = memory_bytes(), chain.ledger.decoded_bytes
    chain.prepare.step(receipts)
    held_bytes = memory_bytes() - before_bytes
    tracemalloc.stop()
    return held_bytes, chain.ledger.decoded_bytes - counted_before


@pytest.mark.parametrize("value", [TINY, WORDS], ids=["ten thousand entries", "one line of many chunks"])
def test_as_much_is_counted_as_is_held(chain: Chain, value: str) -> None:
    chain.feed("the first makes room in the tokenizer", value)
    held, counted = prepared_bytes(chain, chain.admit(value))
    assert 0 < held <= counted


@pytest.mark.parametrize("make", WAYS)
def test_lines_count_for_what_they_hold_whichever_way_they_go(chain: Chain, make: Callable[[Chain], list[Receipt]]) -> None:
    held, counted = prepared_bytes(chain, make(chain))
    assert held <= counted <= 4 * held


def test_a_template_counts_with_its_vector_until_it_is_stored(new_chain: NewChain) -> None:
    chain = new_chain(cache_bytes=1)
    chain.feed(*(new(10 * MANY + n) for n in range(500)))
    chain.run()
    receipts = chain.admit(*map(new, range(500)))
    tracemalloc.start()
    before_bytes = memory_bytes()
    chain.prepare.step(receipts)
    chain.embed()
    held = memory_bytes() - before_bytes
    tracemalloc.stop()
    assert held <= chain.ledger.decoded_bytes <= 2 * held


def test_what_lines_share_counts_for_the_first_of_them() -> None:
    lines = lines_of(
        [Line("t", "e", 0, n, 0, 0, 1, "text" * n, TemplateText(template), 0, 0, service="cart") for n, template in enumerate("abab")]
    )
    own = COPIES * 4 * np.arange(4) + LINE_BYTES
    names = np.array([getsizeof("a") + getsizeof("cart") + getsizeof(""), getsizeof("b"), 0, 0])
    known = np.zeros(2, np.bool_)
    assert held_bytes(lines, begins=[0], is_new=known, dim=384).tolist() == (own + names + [BATCH_BYTES, 0, 0, 0]).tolist()
    assert held_bytes(lines, begins=[0, 2], is_new=known, dim=384).tolist() == (own + names + [BATCH_BYTES, 0, BATCH_BYTES, 0]).tolist()
    is_new = np.array([False, True])
    of_new, of_known = (held_bytes(lines, begins=[0], is_new=one, dim=384) for one in (is_new, known))
    assert (of_new - of_known).tolist() == [0, TEMPLATE_BYTES + 4 * 384, 0, 0]
    assert of_known.tolist() == held_bytes(lines, begins=[0], is_new=known, dim=4_096).tolist()


def test_a_hundred_thousand_usual_lines_fit_into_the_default_cap() -> None:
    lines = lines_of([Line("t", "e", 0, n, 0, 0, 1, "x" * 137, TemplateText("template"), 0, 0) for n in range(1_000)])
    counted = held_bytes(lines, begins=[0], is_new=np.zeros(1, np.bool_), dim=384)
    assert 100 * counted.sum() < LimitTable().max_in_flight_bytes / 2
