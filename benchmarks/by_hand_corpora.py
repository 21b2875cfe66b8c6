"""The lines of `benchmarks.by_hand`, and the topics that hold them.

`distinct`: no two lines are alike. `mix`: the files, interleaved as a topic has them. `steady`: many copies of the mix with other digits,
whose templates are all known. The hand-written workers are slow, so each gets a sample of the same lines, spread evenly over them.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, zip_longest
from typing import NamedTuple

from benchmarks.copies import copied, copies, texts_of_files
from benchmarks.send import send
from consumers.text.mask import Masker
from worker.runtime.kafka_admin import KafkaAdmin

PARTITIONS = 4
CORPORA = ("distinct", "mix", "steady")
MOST_CHARACTERS = 250
"""Longer lines are left out: vectail splits what the model does not hold (256 tokens), libraries cut it off, and that is different work."""
_MASKED_AT_ONCE = 8_000


class Sizes(NamedTuple):
    """How many lines each side indexes in a turn."""

    ours: Mapping[str, int]
    """By corpus; of the mix at most all."""
    batched: int
    naive: int


QUICK = Sizes({"distinct": 768, "mix": 16_000, "steady": 200_000}, batched=384, naive=256)
WHOLE = Sizes({"distinct": 4_096, "mix": 32_000, "steady": 1_000_000}, batched=1_024, naive=256)


class Corpus(NamedTuple):
    """Lines of one kind."""

    ours: list[str]
    batched: list[str]
    naive: list[str]
    templates: frozenset[str]
    """What vectail embeds of its lines; where they are not masked, the lines."""
    warm: list[str]
    """One line of each template; empty if nothing is known beforehand."""
    repeated: frozenset[str]
    """Lines of the samples that a worker would find in its cache, had it read the whole topic.

    `mix`: those that occur earlier in the topic. `steady`: those that occur elsewhere in it, since it goes on for ever.
    """


def corpora(files: Sequence[str], sizes: Sizes) -> dict[str, Corpus]:
    """Make all lines."""
    mix = interleaved([texts_of_files([file]) for file in files] if files else [texts_of_files(())])
    mix = [text.replace("\n", " ").replace("\0", " ") for text in mix if len(text) <= MOST_CHARACTERS]
    distinct = distinct_lines(mix, sizes.ours["distinct"])
    steady = [text for some in copies(mix, sizes.ours["steady"]) for text in some]
    mix = mix[: sizes.ours["mix"]]
    known = by_template(steady)
    counted = Counter(steady)
    first = {text: place for place, text in reversed(list(enumerate(mix)))}

    def of(lines: list[str], templates: Iterable[str], warm: list[str], is_repeated: Callable[[int], bool]) -> Corpus:
        batched, naive = spread_over(len(lines), sizes.batched), spread_over(len(lines), sizes.naive)
        repeated = frozenset(lines[place] for place in (*batched, *naive) if is_repeated(place))
        return Corpus(lines, [lines[i] for i in batched], [lines[i] for i in naive], frozenset(templates), warm, repeated)

    return {
        "distinct": of(distinct, distinct, [], lambda _place: False),
        "mix": of(mix, by_template(mix), [], lambda place: first[mix[place]] < place),
        "steady": of(steady, known, list(known.values()), lambda place: counted[steady[place]] > 1),
    }


def by_template(lines: Sequence[str]) -> dict[str, str]:
    """Return one line of each template, by the template's text."""
    masker, found = Masker(), dict[str, str]()
    for part in range(0, len(lines), _MASKED_AT_ONCE):
        some = lines[part : part + _MASKED_AT_ONCE]
        found.update(zip(masker.mask(some), some, strict=True))
    return found


def interleaved(files: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of files in turns."""
    return [text for text in chain.from_iterable(zip_longest(*files)) if text is not None]


def distinct_lines(texts: Sequence[str], lines: int) -> list[str]:
    """Return that many different lines: the texts, and copies of them with other digits."""
    found: dict[str, None] = {}
    for copy in range(1_000):
        for text in copied(texts, copy):
            if text.isascii() and text == " ".join(text.split()):
                found[text] = None
        if len(found) >= lines:
            break
    return list(found)[:lines]


def spread_over(count: int, most: int) -> list[int]:
    """Return the places of at most `most` of `count` lines, evenly spread."""
    return [number * count // most for number in range(most)] if count > most else list(range(count))


def fill(bootstrap_servers: str, topics: Mapping[str, Sequence[str]]) -> None:
    """Create topics with these lines. Raises SystemExit if the broker does not take one."""
    admin = KafkaAdmin(bootstrap_servers, {})
    for topic, lines in topics.items():
        admin.create_topic(topic, partitions=PARTITIONS, replication_factor=1)
        send(bootstrap_servers, topic, (text.encode() for text in lines), partitions=PARTITIONS, in_a_row=100)
