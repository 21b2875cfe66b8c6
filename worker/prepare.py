"""The prepare step: records become chunks, and every chunk goes the shortest way to the index.

Two threads run it for logs. In this order, for a list at a time: decode, redact, chunk and mask, digest, then *known* (straight to
store), *in flight* (parked), *found* in a cache or in the index (to store with its vector) or, last, sent to the engine.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from consumers.chunk import Chunk, Chunker
from consumers.decode import Decoder, LogEntry, Undecodable
from consumers.ledger import Ledger, Receipt
from consumers.redact import Redactor
from worker.cache.levels import Levels
from worker.encoded import EmbeddedChunk, EncodedChunk
from worker.flights import Flights, Landing
from worker.lane import Outlet
from worker.limits import FaultLimit
from worker.pieces import TOO_MANY_CHUNKS, chunks_of
from worker.space import Digester
from worker.tokenizer import Tokenizer

StoreItem = Chunk | EmbeddedChunk
GROUP_BYTES = 1024 * 1024
"""Decoded bytes that prepare holds back at most before it sends them on."""
_WAIT_S = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlets:
    """Where prepared chunks go.

    Thread: any.
    """

    embed: Outlet[EncodedChunk]
    store: Outlet[StoreItem]


class Prepare:
    """Every receipt it is given is dropped, refused, or expects exactly the pieces that were sent on.

    Thread: one; each prepare thread has its own, with its own decoder, chunker and tokenizer.
    """

    def __init__(  # noqa: PLR0913 - a step's whole world, handed in by name
        self,
        *,
        ledger: Ledger,
        decoder: Decoder,
        redactor: Redactor,
        chunker: Chunker,
        tokenizer: Tokenizer,
        digester: Digester,
        document_prefix: str,
        flights: Flights,
        levels: Levels,
        rewrite_found: Callable[[], bool],
        outlets: Outlets,
        undecodable: FaultLimit,
        abandoned: Callable[[], bool],
    ) -> None:
        """`rewrite_found`: rows do not live for ever, so a template found in the index, however old, is written again.

        `abandoned` says that the service is stopping hard.
        """
        self._ledger = ledger
        self._decoder = decoder
        self._redactor = redactor
        self._chunker = chunker
        self._tokenizer = tokenizer
        self._digester = digester
        self._prefix = document_prefix
        self._flights = flights
        self._levels = levels
        self._rewrite_found = rewrite_found
        self._outlets = outlets
        self._undecodable = undecodable
        self._abandoned = abandoned

    def step(self, receipts: Sequence[Receipt]) -> None:
        """Work a list of records, in groups that bound the decoded bytes."""
        entries: list[LogEntry] = []
        group_bytes = 0
        for receipt in receipts:
            if group_bytes >= GROUP_BYTES or not self._ledger.has_decoded_room():
                self._send(entries)
                entries, group_bytes = [], 0
                while not self._ledger.wait_for_decoded_room(_WAIT_S):
                    if self._abandoned():
                        return
            for entry in self._decode(receipt):
                entries.append(entry)
                group_bytes += len(entry.text)
        self._send(entries)

    def _decode(self, receipt: Receipt) -> list[LogEntry]:
        if not receipt.is_alive:
            receipt.drop("revoked")
            return []
        try:
            entries = self._decoder.decode(receipt)
        except Undecodable as error:
            receipt.refuse(f"undecodable: {error}")
            self._undecodable.fault()
            return []
        if not entries:
            receipt.drop("tombstone" if receipt.record.value is None else "empty")
            return []
        self._undecodable.good()
        return entries

    def _send(self, entries: Sequence[LogEntry]) -> None:
        if not entries:
            return
        boarding = self._flights.board(self._chunk(entries))
        for chunk, reason in boarding.rejected:
            chunk.entry.receipt.reject(chunk.entry.sub, chunk.chunk, reason)
        self._outlets.store.put(boarding.known)
        if boarding.mine:
            self._take_off(boarding.mine)

    def _chunk(self, entries: Sequence[LogEntry]) -> list[Chunk]:
        """Redact and split, then tell every receipt how many pieces there are, then reject the entries that have too many chunks."""
        chunks: list[Chunk] = []
        too_long: list[LogEntry] = []
        expected: dict[Receipt, list[int]] = {}
        split = chunks_of(entries, redactor=self._redactor, chunker=self._chunker, digester=self._digester)
        for entry, of_entry in zip(entries, split, strict=True):
            counts = expected.setdefault(entry.receipt, [0, 0])
            counts[0] += len(of_entry) or 1
            counts[1] += len(entry.text)
            if not of_entry:
                too_long.append(entry)
            chunks += of_entry
        for receipt, (pieces_expected, decoded_bytes) in expected.items():
            receipt.expect(pieces_expected, decoded_bytes=decoded_bytes)
        for entry in too_long:
            entry.receipt.reject(entry.sub, 0, TOO_MANY_CHUNKS)
        return chunks

    def _take_off(self, mine: Sequence[Chunk]) -> None:
        """Finish what is cached or stored already; the rest goes to the engine."""
        encoded = self._tokenizer.encode([self._prefix + chunk.masked for chunk in mine])
        vectors = self._levels.find(chunk.template for chunk in mine)
        rewrite_found = self._rewrite_found()
        landings: list[Landing] = []
        cached: list[EmbeddedChunk] = []
        to_embed: list[EncodedChunk] = []
        for i, chunk in enumerate(mine):
            ids = encoded.text(i)
            found = vectors.get(chunk.template)
            if found is None:
                to_embed.append(EncodedChunk(chunk.template, chunk.masked, ids))
            elif found.source == "index" and not rewrite_found:
                landings.append(Landing(chunk.template, len(ids), found.source))
            else:
                cached.append(EmbeddedChunk(chunk.template, chunk.masked, found.vector, len(ids), found.source))
        self._outlets.store.put(cached)
        self._outlets.embed.put(to_embed)
        if landings:
            self._outlets.store.put(self._flights.land(landings))
