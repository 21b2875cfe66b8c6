"""The lines of `benchmarks.by_hand`, and the topics that hold them.

`distinct`: no two lines are alike. `mix`: the files, interleaved as a topic has them. `steady`: many copies of the mix with other digits,
whose templates are all known. The hand-written workers are slow, so each gets a sample of the same lines, spread evenly over them.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain, zip_longest
from typing import NamedTuple

from benchmarks.copies import copied, copies, texts_of_files
from consumers.text.mask import Masker
from producers.kafka import KafkaProducer
from worker.runtime.kafka_admin import KafkaAdmin

PARTITIONS = 4
CORPORA = ("distinct", "mix", "steady")
MOST_CHARACTERS = 250
"""Longer lines are left out: vectail splits what the model does not hold (256 tokens), libraries cut it off, and that is different work."""
_SEND_S = 300.0
_MASKED_AT_ONCE = 8_000


class Sizes(NamedTuple):
    """How many lines each side indexes in a turn."""

    ours: Mapping[str, int]
    """By corpus; of the mix at most all."""
    batched: int
    naive: int


QUICK = Sizes({"distinct": 768, "mix": 16_000, "steady": 200_000}, batched=384, naive=64)
WHOLE = Sizes({"distinct": 4_096, "mix": 32_000, "steady": 1_000_000}, batched=1_024, naive=256)


class Corpus(NamedTuple):
    """Lines of one kind."""

    ours: list[str]
    batched: list[str]
    naive: list[str]
    warm: list[str]
    """One line of each template; empty if nothing is known beforehand."""
    repeated: frozenset[str]
    """Lines of the samples whose vector a worker that has run for long would have in its cache."""


def corpora(files: Sequence[str], sizes: Sizes) -> dict[str, Corpus]:
    """Make all lines."""
    mix = interleaved([texts_of_files([file]) for file in files] if files else [texts_of_files(())])
    mix = [text.replace("\n", " ").replace("\0", " ") for text in mix if len(text) <= MOST_CHARACTERS]
    distinct = distinct_lines(mix, sizes.ours["distinct"])
    steady = [text for some in copies(mix, sizes.ours["steady"]) for text in some]
    counted = Counter(steady)
    by_template: dict[str, str] = {}
    for part in range(0, len(steady), _MASKED_AT_ONCE):
        some = steady[part : part + _MASKED_AT_ONCE]
        by_template.update(zip(Masker().mask(some), some, strict=True))

    def of(lines: list[str], warm: list[str], counts: Mapping[str, int]) -> Corpus:
        batched, naive = spread(lines, sizes.batched), spread(lines, sizes.naive)
        repeated = frozenset(text for text in (*batched, *naive) if counts.get(text, 1) > 1)
        return Corpus(lines, batched, naive, warm, repeated)

    return {
        "distinct": of(distinct, [], {}),
        "mix": of(mix[: sizes.ours["mix"]], [], {}),
        "steady": of(steady, list(by_template.values()), counted),
    }


def interleaved(files: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of files in turns."""
    return [text for text in chain.from_iterable(zip_longest(*files)) if text is not None]


def distinct_lines(texts: Sequence[str], lines: int) -> list[str]:
    """Return so many different lines: the texts, and copies of them with other digits."""
    found: dict[str, None] = {}
    for copy in range(1_000):
        for text in copied(texts, copy):
            if text.isascii() and text == " ".join(text.split()):
                found[text] = None
        if len(found) >= lines:
            break
    return list(found)[:lines]


def spread(lines: Sequence[str], most: int) -> list[str]:
    """Return at most so many lines, evenly spread."""
    return [lines[number * len(lines) // most] for number in range(most)] if len(lines) > most else list(lines)


def fill(bootstrap_servers: str, topics: Mapping[str, Sequence[str]]) -> None:
    """Create topics with these lines. Raises SystemExit if the broker does not take one."""
    admin, failed = KafkaAdmin(bootstrap_servers, {}), list[str]()
    producer = KafkaProducer(bootstrap_servers, {}, say=lambda _line: None)
    for topic, lines in topics.items():
        admin.create_topic(topic, partitions=PARTITIONS, replication_factor=1)
        for number, text in enumerate(lines):
            partition = number // 100 % PARTITIONS
            producer.send(topic, value=text.encode(), partition=partition, delivered=lambda why: failed.append(why) if why else None)
    if producer.flush(_SEND_S) or failed:
        raise SystemExit(f"the broker did not take the lines: {failed[:1]}")
    producer.close(1.0)
