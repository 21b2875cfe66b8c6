"""Repairs one window: writes all that is to stay of what is wrong, sees it acknowledged, then removes the blocks that were wrong.

1. A block is removed if it cannot be read, if it does not fit its lines, or if it holds a line of the window that is not as it should be
   (a stale copy too: a search by its template would find it).
2. Before that, every entry of it is written again as it is to stay, whole: as its record says, or as readers get it now.
3. Removing a block removes the inner blocks whose lines it stands for, first: they would come back.
A worker that merges from memory may bring removed lines back: the verifier looks again later.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from consumers.record import Record
from consumers.rejection import RejectedPiece
from sinks.block import BlockId, BlockPlace
from sinks.line import Line
from sinks.sink import Sink
from worker.inspecting.busy_retry import BusyRetry
from worker.inspecting.entry_writer import EntryKey, EntryOrigin, entry_of
from worker.inspecting.expected import Expected
from worker.inspecting.repair import Repairer
from worker.inspecting.stored_blocks import StoredBlock, StoredWindow, inner_blocks, read_window
from worker.inspecting.window_comparer import Finding

_READ_OFFSETS = 10_000
"""Offsets beyond the window that are read at once."""


@dataclass(slots=True)
class Staying:
    """What is to stay of the entries of a window: their lines by chunk.

    Thread: one.
    """

    entries: dict[EntryKey, dict[int, Line]] = field(default_factory=dict)
    written: set[EntryKey] = field(default_factory=set)
    """Those of them that must be written, whatever is stored."""

    def is_right(self, line: Line) -> bool:
        """Whether a stored line, of whichever copy, is as it should be."""
        staying = self.entries.get(entry_of(line), {}).get(line.chunk)
        return staying is not None and staying._replace(entries=line.entries) == line


def staying_entries(window: StoredWindow, findings: Iterable[Finding]) -> Staying:
    """Return what is to stay of a window with these findings."""
    staying = Staying()
    for line in window.lines:
        staying.entries.setdefault(entry_of(line), {})[line.chunk] = line
    for finding in findings:
        for line in finding.write:
            entry = entry_of(line)
            if entry not in staying.written:
                staying.written.add(entry)
                staying.entries[entry] = {}
            staying.entries[entry][line.chunk] = line
    return staying


def remove_surplus(staying: Staying, place: BlockPlace, findings: Iterable[Finding]) -> None:
    """Take the lines that belong to nothing out of what is to stay."""
    for finding in findings:
        if finding.is_surplus and finding.sub is not None and finding.chunk is not None:
            entry = EntryKey(place, finding.offset, finding.sub)
            if entry not in staying.written:
                staying.entries.get(entry, {}).pop(finding.chunk, None)


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowRepairer:
    """Nothing is removed before all that is to stay of it is acknowledged.

    Thread: one.
    """

    sink: Sink
    busy_retry: BusyRetry
    repairer: Repairer
    masks_of: Callable[[str], str]
    """Version of the masks of a topic, as they are now."""
    write_dead_letters: Callable[[Sequence[Expected]], None]
    """Writes dead letters and waits until they are delivered; the comparer of the window must see them afterwards."""

    def repair_window(
        self, place: BlockPlace, offsets: range, window: StoredWindow, findings: Sequence[Finding], records: Mapping[int, Record]
    ) -> bool:
        """Repair what can be repaired; `records` is by offset. Return whether anything was changed.

        Raises what the repairer and `write_dead_letters` raise.
        """
        staying = staying_entries(window, findings)
        remove_surplus(staying, place, findings)
        unreadable = {finding.block for finding in findings if finding.block is not None}
        wrong = [block for block in window.blocks if block.id in unreadable or (block.is_readable and _is_wrong(block, offsets, staying))]
        changed = bool(wrong or staying.written)

        written = [line for entry in sorted(staying.written) for line in staying.entries[entry].values()]
        rejected = self.repairer.repair_lines(written, EntryOrigin(self.masks_of(place.topic), self.sink.date_ms())).rejected
        spared = self._write_kept(place, offsets, wrong, staying)
        templates = [line for finding in findings for line in finding.templates]
        changed |= self.repairer.repair_templates(templates).templates > 0 if templates else False

        letters = {one.dead_letter.record.offset: one.dead_letter for one in findings if one.dead_letter is not None}
        for line, rejection in rejected:
            letter = letters.get(line.offset, Expected(records[line.offset], ()))
            letters[line.offset] = letter._replace(rejects=(*letter.rejects, RejectedPiece(line.sub, line.chunk, rejection)))
        if letters:
            self.write_dead_letters(list(letters.values()))
        for block in wrong:
            if block.id not in spared:
                self.repairer.remove_blocks(inner_blocks(self.sink, self.busy_retry, block))
                self.repairer.remove_blocks([block.id])
        return changed

    def _write_kept(self, place: BlockPlace, offsets: range, wrong: Sequence[StoredBlock], staying: Staying) -> set[BlockId]:
        """Write what is to stay of these blocks and is not written yet; return the ids of those that cannot be removed."""
        rejected: set[EntryKey] = set()
        done = set(staying.written)
        for block in wrong:
            own: dict[EntryKey, dict[int, Line]] = {}
            for line in block.lines:
                own.setdefault(entry_of(line), {})[line.chunk] = line
            keys = sorted(own.keys() - done)
            beyond = own | self._entries_beyond(place, [key for key in keys if key.offset not in offsets])
            kept = [line for key in keys for line in (staying.entries if key.offset in offsets else beyond).get(key, {}).values()]
            done.update(keys)
            repaired = self.repairer.repair_lines(kept, EntryOrigin(block.masks or self.masks_of(place.topic), block.written_ms))
            rejected |= {entry_of(one.line) for one in repaired.rejected}
        return {block.id for block in wrong if rejected and any(entry_of(line) in rejected for line in block.lines)}

    def _entries_beyond(self, place: BlockPlace, keys: Sequence[EntryKey]) -> dict[EntryKey, dict[int, Line]]:
        """Return what readers get of entries, given in their order, that lie beyond the window."""
        wanted = set(keys)
        entries: dict[EntryKey, dict[int, Line]] = {}
        end = -1
        for key in keys:
            if key.offset < end:
                continue
            end = key.offset + _READ_OFFSETS
            beyond = read_window(self.sink, self.busy_retry, place.topic, place.partition, range(key.offset, end))
            for line in beyond.lines:
                if (entry := entry_of(line)) in wanted:
                    entries.setdefault(entry, {})[line.chunk] = line
        return entries


def _is_wrong(block: StoredBlock, offsets: range, staying: Staying) -> bool:
    return bool(block.fault) or any(line.offset in offsets and not staying.is_right(line) for line in block.lines)
