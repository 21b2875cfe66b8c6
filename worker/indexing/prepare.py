"""The prepare step: records become chunks, and every chunk goes the shortest way to the index.

One thread runs it for logs. In this order, for a list at a time: read back what earlier runs have stored of these records, decode, redact,
chunk and mask; then a line is *stored already* (settled at once), or its template is *known* (straight to store), *in flight* (parked),
*found* in a cache or in the index (to store with its vector) or, last, sent to the engine.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice

from consumers.decode.decoder import UNDECODABLE, Decoder, LogEntry, Undecodable
from consumers.ledger import Ledger, Receipt
from consumers.rejection import Rejection
from consumers.text.chunk import Chunker
from consumers.text.redact import Redactor
from worker.embedding.cache.levels import Levels
from worker.embedding.model.space import Digester
from worker.embedding.tokenizer import Tokenizer
from worker.indexing.dead_letter_reasons import TOO_MANY_CHUNKS
from worker.indexing.flights import Completed, Flights
from worker.indexing.pieces import ENTRY_BYTES, SplitEntry, held_bytes, lines_of_entry, split_entries
from worker.indexing.resume import Resume
from worker.messages import Chunk, EmbeddedChunk, EncodedChunk, StoreItem
from worker.runtime.lane import Outlet
from worker.runtime.limits import TopicFaultLimits

GROUP_BYTES = 1024 * 1024
"""Decoded bytes that prepare holds back at most before it sends them on: texts, and a constant for each entry."""
Decoded = list[LogEntry] | Rejection
"""The entries of a record, or why it has none."""
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

    Thread: one; so is what it owns: resume, decoder, chunker and tokenizer.
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
        resume: Resume,
        flights: Flights,
        levels: Levels,
        rewrite_found: Callable[[], bool],
        outlets: Outlets,
        undecodable: TopicFaultLimits,
        abandoned: Callable[[], bool],
        fail_point: Callable[[str], None] = lambda _point: None,
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
        self._resume = resume
        self._flights = flights
        self._levels = levels
        self._rewrite_found = rewrite_found
        self._outlets = outlets
        self._undecodable = undecodable
        self._abandoned = abandoned
        self._fail_point = fail_point

    def step(self, receipts: Sequence[Receipt]) -> None:
        """Work a list of records, in groups that bound the decoded bytes. Raises LimitReached."""
        if not self._resume.look_back(receipts):
            return
        group: list[tuple[Receipt, Decoded]] = []
        group_bytes = 0
        for receipt in receipts:
            if group_bytes >= GROUP_BYTES or not self._ledger.has_decoded_room():
                self._send(group)
                group, group_bytes = [], 0
                while not self._ledger.wait_for_decoded_room(_WAIT_S):
                    if self._abandoned():
                        return
            decoded = self._decode(receipt)
            if decoded:
                group.append((receipt, decoded))
            if isinstance(decoded, list):
                for entry in decoded:
                    group_bytes += len(entry.text) + ENTRY_BYTES
        self._send(group)

    def _decode(self, receipt: Receipt) -> Decoded:
        if not receipt.is_alive:
            receipt.drop("revoked")
            return []
        try:
            entries = self._decoder.decode(receipt.record)
        except Undecodable as error:
            return error.rejection
        if not entries:
            receipt.drop("tombstone" if receipt.record.value is None else "empty")
        return entries

    def _send(self, group: Sequence[tuple[Receipt, Decoded]]) -> None:
        if not group:
            return
        chunks = self._chunk(group)
        self._fail_point("decoded")
        boarding = self._flights.board(chunks)
        for chunk, rejection in boarding.rejected:
            chunk.receipt.reject(chunk.entry.sub, chunk.chunk, rejection)
        self._outlets.store.put(boarding.known)
        if boarding.mine:
            self._take_off(boarding.mine)

    def _chunk(self, group: Sequence[tuple[Receipt, Decoded]]) -> list[Chunk]:
        """Redact and split, then see to one record after the other, so that faults in a row are counted as they came."""
        entries = [entry for _, decoded in group if isinstance(decoded, list) for entry in decoded]
        split = iter(split_entries(entries, redactor=self._redactor, chunker=self._chunker))
        chunks: list[Chunk] = []
        for receipt, decoded in group:
            if isinstance(decoded, Rejection):
                receipt.refuse(decoded)
                if decoded.kind == UNDECODABLE:
                    self._undecodable.fault(receipt.record.topic, decoded.reason)
            else:
                chunks += self._expect(receipt, list(islice(split, len(decoded))))
        return chunks

    def _expect(self, receipt: Receipt, entries: Sequence[SplitEntry]) -> list[Chunk]:
        """Tell a receipt how many pieces there are, reject its entries of too many chunks and pass over those that are stored already.

        Returns the chunks of the others.
        """
        chunks: list[Chunk] = []
        too_long: list[LogEntry] = []
        held = 0
        stored = self._resume.stored_entries(receipt)
        for entry, pieces in entries:
            if stored is not None and pieces and stored.holds(lines_of_entry(entry, pieces)):
                self._resume.tally.skipped_lines += len(pieces)
                continue
            held += held_bytes(entry, pieces, dim=self._digester.dim)
            if not pieces:
                too_long.append(entry)
            chunks += [Chunk(receipt, entry, *piece) for piece in pieces]
        expected = len(chunks) + len(too_long)
        receipt.expect(max(expected, 1), decoded_bytes=held)
        if not expected:
            receipt.settle()
        for entry in too_long:
            receipt.reject(entry.sub, 0, TOO_MANY_CHUNKS)
        if not too_long:
            self._undecodable.good(receipt.record.topic)
        return chunks

    def _take_off(self, mine: Sequence[Chunk]) -> None:
        """Finish what is cached or stored already; the rest goes to the engine."""
        encoded = self._tokenizer.encode([self._prefix + chunk.masked for chunk in mine])
        keys = {chunk.template: self._digester.digest(chunk.masked) for chunk in mine}
        vectors = self._levels.find(keys)
        rewrite_found = self._rewrite_found()
        landings: list[Completed] = []
        cached: list[EmbeddedChunk] = []
        to_embed: list[EncodedChunk] = []
        for i, chunk in enumerate(mine):
            ids = encoded.text(i)
            found = vectors.get(chunk.template)
            if found is None:
                to_embed.append(EncodedChunk(chunk.template, keys[chunk.template], chunk.masked, ids))
            elif found.source == "index" and not rewrite_found:
                landings.append(Completed(chunk.template, len(ids), found.source))
            else:
                cached.append(EmbeddedChunk(chunk.template, keys[chunk.template], chunk.masked, found.vector, len(ids), found.source))
        self._outlets.store.put(cached)
        self._outlets.embed.put(to_embed)
        if landings:
            self._outlets.store.put(self._flights.land(landings))
