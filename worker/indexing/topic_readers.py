"""How the records of each topic become lines: its decoder, its masks, what it joins, drops and samples.

The first `[[topic]]` table that is about a topic holds for it. Prepare builds the index with it, `worker.inspecting` computes with it the
lines that records must have. Topics with the same table and the same rules share a reader, and so their records are worked together.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from consumers.columns import string_column
from consumers.decode.decode_tally import DecodeTally
from consumers.decode.decoder import Decoder
from consumers.decode.entries import Entries
from consumers.decode.registry_schemas import Schemas
from consumers.text.chunk import Chunker
from consumers.text.redact import Redactor
from consumers.text.regex import find_matching
from worker.embedding.model.prepared import PreparedModel
from worker.embedding.tokenizer import Tokenizer
from worker.indexing.entry_rules import NO_RULE, EntryRules
from worker.indexing.events import EventJoiner
from worker.indexing.pieces import new_chunker, new_decoder
from worker.indexing.sampling import Sampler
from worker.settings.rule_tables import DropTable, RuleTable, SampleTable
from worker.settings.settings import Settings
from worker.settings.tables import MaskTable, new_redactor
from worker.settings.topic_tables import TopicTable


@dataclass(slots=True)
class RuleTally:
    """Counts of what the settings made of entries; they only grow.

    Thread: written by the prepare thread, read by any.
    """

    dropped: Counter[str] = field(default_factory=Counter)
    """Entries that were dropped."""
    sampled: Counter[str] = field(default_factory=Counter)
    """Entries whose text and fields were left out."""
    closed_early: int = 0
    """Events of several records that were closed because too many were open."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TopicReader:
    """How the records of some topics become lines. Equal only to itself.

    Thread: one; its chunker counts with a tokenizer.
    """

    decoder: Decoder
    redactor: Redactor
    chunker: Chunker
    drop: EntryRules | None = None
    """None: nothing is dropped."""
    sampler: Sampler | None = None
    """None: every line keeps its text."""
    joiner: EventJoiner | None = None
    """None: every record is an event of its own, and so is every piece of a line."""

    def dropped_by(self, entries: Entries) -> NDArray[np.int32] | None:
        """Return for each of n entries the place of the rule that drops it, `NO_RULE` if none does: int32[n]. None: no entry is."""
        met = None if self.drop is None or not entries.size else self.drop.first_met(entries)
        return None if met is None or (met == NO_RULE).all() else met


class TopicReaders:
    """Makes the readers, each when the first record of its topics comes.

    Thread: one.
    """

    def __init__(self, settings: Settings, model: PreparedModel, tokenizer: Tokenizer, schemas: Schemas | None = None) -> None:
        """The readers may be used only on the thread of `tokenizer`.

        `schemas`: those of the Schema Registry, put in before a record of theirs is decoded; None: there is no registry.
        """
        self.redactor = new_redactor(settings.redact)
        """Of all readers; it counts what it replaced."""
        self.decode_tally = DecodeTally()
        """The formats that were found."""
        self.rule_tally = RuleTally()
        """What rules dropped and sampled."""
        self._settings = settings
        self._model = model
        self._tokenizer = tokenizer
        self._schemas = schemas
        self._chunkers: dict[MaskTable, Chunker] = {}
        self._by_topic: dict[str, TopicReader] = {}
        self._by_rules: dict[tuple[object, ...], TopicReader] = {}

    def of_topic(self, topic: str) -> TopicReader:
        """Return the reader of a topic."""
        reader = self._by_topic.get(topic)
        if reader is None:
            settings = self._settings
            table = settings.topic_table(topic)
            drop = [rule for rule in settings.drop if _is_about(rule, topic)]
            sample = [rule for rule in settings.sample if _is_about(rule, topic)]
            # A topic that no table is about gets a table of its own, but is read like all others of that kind.
            key = (table.model_copy(update={"name": None, "pattern": None, "exclude": ()}), *drop, *sample)
            reader = self._by_rules.get(key)
            if reader is None:
                reader = self._by_rules[key] = self._new_reader(table, drop, sample)
            self._by_topic[topic] = reader
        return reader

    def _new_reader(self, table: TopicTable, drop: Sequence[DropTable], sample: Sequence[SampleTable]) -> TopicReader:
        """Return a reader for a table, with the rules of its topics."""
        settings = self._settings
        mask = settings.mask if table.mask is None else table.mask
        if mask not in self._chunkers:
            self._chunkers[mask] = new_chunker(mask, settings.decode, self._model, self._tokenizer)
        decoder = new_decoder(table, settings.decode, self.decode_tally, self._schemas)
        return TopicReader(
            decoder=decoder,
            redactor=self.redactor,
            chunker=self._chunkers[mask],
            drop=EntryRules(drop) if drop else None,
            sampler=Sampler(sample, self.rule_tally.sampled) if sample else None,
            joiner=EventJoiner(table.multiline, decoder.open_texts),
        )


def _is_about(rule: RuleTable, topic: str) -> bool:
    return rule.topic is None or bool(find_matching(string_column([topic]), rf"\A(?:{rule.topic})\z"))
