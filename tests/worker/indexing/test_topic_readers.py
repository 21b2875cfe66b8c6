"""Each topic is read as the first table about it says, and only topics that are read alike are worked together."""

import numpy as np

from consumers.columns import string_column
from consumers.record import Partition
from tests.consumers.records import admit_batch, new_ledger, record
from worker.embedding.model.prepared import PreparedModel
from worker.embedding.tokenizer import Tokenizer
from worker.indexing.entry_rules import NO_RULE
from worker.indexing.record_groups import groups_of
from worker.indexing.topic_readers import TopicReader, TopicReaders
from worker.settings.settings import Settings

SETTINGS = {
    "topic": [
        {"name": "json", "format": "json"},
        {"pattern": r"app\..*", "exclude": [r"app\.old"], "mask": {"mode": "exact"}},
        {"name": "events", "multiline": {"start": "java"}},
    ],
    "drop": [{"name": "no-debug", "level": ["DEBUG"], "topic": r"app\..*"}],
    "sample": [{"name": "some", "above_per_s": 5, "topic": "json"}],
}


def readers_of(words: Tokenizer, model: PreparedModel) -> TopicReaders:
    return TopicReaders(Settings.model_validate(SETTINGS), model, words)


def templates(reader: TopicReader, text: str) -> tuple[str, ...]:
    return reader.chunker.split(string_column([text])).template.values


def test_the_first_table_about_a_topic_holds_and_topics_that_are_read_alike_share_a_reader(
    words: Tokenizer, prepared_model: PreparedModel
) -> None:
    of = readers_of(words, prepared_model).of_topic
    assert of("app.one") is of("app.two")
    assert len({of("json"), of("app.one"), of("events"), of("app.old")}) == 4
    assert of("other") is of("another")
    assert (templates(of("app.one"), "disk 7 full"), templates(of("json"), "disk 7 full")) == (("disk 7 full",), ("disk full",))
    kafka_ms = np.zeros(1, np.int64)
    assert [len(of(topic).decoder.decode([b"no json"], kafka_ms).rejected) for topic in ("json", "events")] == [1, 0]


def test_rules_are_about_the_topics_that_they_name(words: Tokenizer, prepared_model: PreparedModel) -> None:
    of = readers_of(words, prepared_model).of_topic
    entries = of("json").decoder.decode([b'{"level": "debug", "msg": "x"}', b'{"msg": "y"}'], np.zeros(2, np.int64)).entries
    dropped = of("app.one").dropped_by(entries)
    assert dropped is not None
    assert dropped.tolist() == [0, NO_RULE]
    assert of("json").dropped_by(entries) is of("events").dropped_by(entries) is None
    assert [of(topic).sampler is not None for topic in ("json", "app.one")] == [True, False]
    assert [joiner is not None and joiner.joins_lines for joiner in (of(topic).joiner for topic in ("json", "events"))] == [False, True]


def test_records_of_topics_that_are_read_otherwise_are_never_in_one_group(words: Tokenizer, prepared_model: PreparedModel) -> None:
    topics = ["json", "app.one", "json", "events", "app.two"]
    ledger = new_ledger(cap_records=100, cap_bytes=1 << 20)
    ledger.assign([Partition(topic, 0) for topic in topics])
    receipts = [admit_batch(ledger, record(offset, b"x", partition=Partition(topic, 0))) for offset, topic in enumerate(topics)]
    groups = list(groups_of(receipts, kind_of=readers_of(words, prepared_model).of_topic))
    assert [group.offset.tolist() for group in groups] == [[0, 2], [1, 4], [3]]
    assert [group.topic for group in groups] == ["json", "app.one", "events"]


def test_a_group_has_the_headers_and_keys_of_its_records() -> None:
    ledger = new_ledger(cap_records=100, cap_bytes=1 << 20)
    ledger.assign([Partition("logs", 0), Partition("other", 0)])
    plain = [record(offset, b"x", partition=Partition("other", 0))._replace(key=None, headers=()) for offset in range(2)]
    keyed = [record(7, b"x", partition=Partition("logs", 0))._replace(key=b"k", headers=(("h", b"v"),))]
    receipts = [admit_batch(ledger, *some) for some in (plain, keyed)]
    (group,) = groups_of(receipts)
    assert (group.headers, group.keys()) == ([(), (), (("h", b"v"),)], [None, None, b"k"])
    (group,) = groups_of(receipts[:1])
    assert (group.headers, group.keys()) == (None, None)
