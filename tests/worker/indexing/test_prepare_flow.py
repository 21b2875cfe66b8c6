"""How fast prepare sends on, and when it waits: what the engine, the sink and the ledger get to see, and in which order."""

import json
import threading
from collections.abc import Sequence
from dataclasses import replace

from consumers.assignment import Claim
from tests.worker.chain import Chain
from tests.worker.conftest import NewChain
from worker.embedding.encoded_text import Done, EncodedText
from worker.embedding.tokenizer import Tokenizer
from worker.indexing.line_batch import StoreItem
from worker.indexing.record_groups import GROUP_RECORDS

WAIT_S = 20.0
TINY = json.dumps([{"msg": "a"}] * 10_000)


def letters(number: int) -> str:
    """Return a word that no mask takes away."""
    return "".join("abcdefghij"[int(digit)] for digit in str(number))


def taken(chain: Chain) -> tuple[int, int]:
    """How many templates wait for the engine, and how many lines and templates for the sink."""
    return len(chain.embedder), len(chain.store_lane)


def hold_decoded(chain: Chain, decoded_bytes: int) -> Claim:
    """Take in a record that takes so many bytes downstream; return its claim, to be settled."""
    claim = chain.admit("held")[0].claim(0)
    claim.expect(1, decoded_bytes=decoded_bytes)
    return claim


class Hasty:
    """Finishes everything that was sent on, whenever a stage puts something into its lane: the steps behind prepare, in a hurry."""

    def __init__(self, chain: Chain) -> None:
        self._chain = chain

    def put(self, entries: Sequence[StoreItem], *, urgent: bool = False) -> None:
        self._chain.store_lane.put(entries, urgent=urgent)
        self._chain.run()


def test_a_line_may_be_stored_before_prepare_has_returned(chain: Chain) -> None:
    chain.feed("first of its template 1", "disk 1 full")
    router = chain.router
    router._store = replace(router._store, lane=Hasty(chain))  # noqa: SLF001 - the lane is the test's
    chain.feed("first of its template 2", "disk 2 full", "network down")
    assert chain.stored() == [(0, "first of its template 1"), (1, "disk 1 full"), (2, "first of its template 2"), (3, "disk 2 full")]
    chain.feed("disk 3 full", "")
    assert chain.committable() == 7


class Slices:
    """Notes how many templates each list has, and how many texts the tokenizer had seen by then."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.sizes: list[int] = []
        self.tokenized: list[int] = []
        self._tokenizer = tokenizer

    def submit(self, texts: Sequence[EncodedText], done: Done) -> None:  # noqa: ARG002 - as the embedder has it
        self.sizes.append(len(texts))
        self.tokenized.append(self._tokenizer.texts)


def test_the_engine_gets_the_first_of_many_templates_before_the_next_are_tokenized(chain: Chain) -> None:
    slices = Slices(chain.words)
    space = replace(chain.router._space(), submit=slices.submit)  # noqa: SLF001 - the engine is the test's
    chain.router._space = lambda: space  # noqa: SLF001
    before = chain.words.texts
    chain.feed(*(f"disk {letters(n)} full" for n in range(1_000)))
    assert slices.sizes == [128, 256, 512, 104]
    assert [texts - before for texts in slices.tokenized] == [128, 384, 896, 1_000]


def test_decoded_bytes_downstream_are_bounded_by_the_cap(new_chain: NewChain) -> None:
    chain = new_chain(cap_bytes=3000)
    receipts = chain.admit("a" * 1000, "b" * 1000)
    chain.prepare.step(receipts)
    third = hold_decoded(chain, 1000)
    more = chain.admit("c" * 900)
    thread = threading.Thread(target=chain.prepare.step, args=(more,), daemon=True)
    thread.start()
    assert len(chain.embedder) == 2
    chain.embed()
    chain.store()
    thread.join(WAIT_S)
    assert not thread.is_alive()
    chain.run()
    third.settle()
    assert chain.committable() == 4


def test_a_full_group_is_sent_on_before_prepare_waits_for_room(new_chain: NewChain) -> None:
    chain = new_chain(cap_bytes=1 << 20)
    receipts = chain.admit(*["disk full"] * (GROUP_RECORDS + 1))
    chain.abandoned = True
    chain.prepare.step(receipts)
    chain.run()
    assert len(chain.stored()) == chain.committable() == GROUP_RECORDS
    assert chain.ledger.open_records == 1


def test_a_record_of_many_entries_is_sent_on_before_prepare_waits_for_room(new_chain: NewChain) -> None:
    chain = new_chain(cap_bytes=1 << 20)
    chain.abandoned = True
    chain.feed("first", b"\xff{", TINY, "", TINY, "last")
    assert taken(chain) == (3, 0)
    chain.run()
    assert len(chain.stored()) == 2 + 10_000
    assert (chain.committable(), chain.ledger.open_records) == (4, 2)


def test_a_hard_stop_ends_the_wait_for_room(new_chain: NewChain) -> None:
    chain = new_chain(cap_bytes=1000)
    hold_decoded(chain, 1000)
    receipts = chain.admit("a" * 900)
    thread = threading.Thread(target=chain.prepare.step, args=(receipts,), daemon=True)
    thread.start()
    chain.abandoned = True
    thread.join(WAIT_S)
    assert not thread.is_alive()
    assert taken(chain) == (0, 0)
    assert chain.committable() is None
