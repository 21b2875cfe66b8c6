"""The batcher keeps its promises for any sequence of arrivals, batches and shrinks."""

import math
from itertools import count
from typing import NamedTuple, cast

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from worker.embedding.batch_cap import HOLD_S
from worker.embedding.batcher import Batch, Batcher, Urgency, tokens_of
from worker.embedding.model.vectors import TokenIds

CLASSES: tuple[Urgency, ...] = ("query", "online", "bulk")


class Text(NamedTuple):
    number: int
    ids: TokenIds


class Limits(NamedTuple):
    budget: int
    bulk: int
    """Floor of the bulk."""
    online: int = 0

    @property
    def floor(self) -> int:
        return self.bulk + self.online


class Seen(NamedTuple):
    """One batch, and what waited before and after it."""

    queries: list[int]
    """Tokens of each query."""
    others: int
    """Tokens of all online and bulk texts."""
    waiting_queries: list[int]
    """Tokens of each that waited before the batch was formed."""
    floor: int
    """Of the classes that waited."""
    after: dict[Urgency, int]
    """How many texts waited after it."""
    next_tokens: set[int]
    """Tokens of the texts that are the next of their class."""
    cap: int
    """Most tokens while queries arrive."""
    since_urgent_s: float

    @property
    def others_after(self) -> int:
        return self.after["online"] + self.after["bulk"]


@st.composite
def limits(draw: st.DrawFn) -> Limits:
    budget = draw(st.integers(1, 60))
    bulk = draw(st.integers(1, budget))
    return Limits(budget, bulk, draw(st.integers(0, budget - bulk)))


class Arrival(NamedTuple):
    """Tokens of the texts that arrive before a batch, by class, and how long the previous batch took."""

    texts: dict[Urgency, list[int]]
    took_s: float


Waiting = dict[Urgency, list[Text]]
History = tuple[Limits, list[Arrival]]


@st.composite
def histories(draw: st.DrawFn) -> History:
    """Draw limits, and before each batch the tokens of the texts that arrive."""
    chosen = draw(limits())
    longest_other = draw(st.integers(1, chosen.budget))
    longest_query = draw(st.integers(1, chosen.budget))
    query = st.lists(st.integers(1, longest_query), max_size=4)
    other = st.lists(st.integers(1, longest_other), max_size=6)
    took_s = st.sampled_from([0.0, 0.05, 0.1, 0.2, 0.8, 4.0])
    texts = st.fixed_dictionaries({"query": query, "online": st.just([]) | other, "bulk": other})
    return chosen, draw(st.lists(st.builds(Arrival, texts, took_s), max_size=60))


def play(chosen: Limits, arrivals: list[Arrival]) -> tuple[list[Seen], int]:
    """Process the arrivals, then the rest; check every batch; return the batches, and the tokens of the longest online or bulk text."""
    batcher = new_batcher(chosen)
    numbers = count()
    waiting: Waiting = {urgency: [] for urgency in CLASSES}
    seen: list[Seen] = []
    longest = last_tokens = 0
    since_urgent_s = math.inf
    todo = list(arrivals)
    while todo or any(waiting.values()):
        arrival = todo.pop(0) if todo else Arrival({}, 0.0)
        batcher.observe(last_tokens, arrival.took_s)
        since_urgent_s += arrival.took_s
        for urgency, sizes in arrival.texts.items():
            new = [Text(next(numbers), np.zeros(n, dtype=np.int32)) for n in sizes]
            batcher.add(new, urgency)
            waiting[urgency] += new
            if new and urgency != "bulk":
                since_urgent_s = 0.0
            longest = max([longest, *(sizes if urgency != "query" else [])])
        asked = [len(query.ids) for query in waiting["query"]]
        floor = chosen.online * bool(waiting["online"]) + chosen.bulk * bool(waiting["bulk"])
        batch = batcher.next_batch()
        _take(batch, waiting, chosen.budget)
        last_tokens = batch.tokens
        assert len(batcher) == sum(map(len, waiting.values()))
        assert batcher.waiting_tokens == {urgency: tokens_of(texts) for urgency, texts in waiting.items()}
        after = {urgency: len(texts) for urgency, texts in waiting.items()}
        next_tokens = {len(waiting[urgency][0].ids) for urgency in CLASSES[1:] if waiting[urgency]}
        taken = [len(query.ids) for query in batch.queries]
        seen.append(Seen(taken, tokens_of(batch.others), asked, floor, after, next_tokens, batcher.capped_tokens, since_urgent_s))
    return seen, longest


def _take(batch: Batch[Text], waiting: Waiting, budget: int) -> None:
    """Each text comes out once and in order of its class, within the budget; the batch is not empty while a text waits."""
    assert batch.tokens <= budget
    assert bool(batch.queries or batch.others) == any(waiting.values())
    assert batch.queries == waiting["query"][: len(batch.queries)]
    del waiting["query"][: len(batch.queries)]
    for text in batch.others:
        queue = next(waiting[urgency] for urgency in CLASSES[1:] if waiting[urgency] and waiting[urgency][0] == text)
        del queue[0]


def late_tokens(chosen: Limits, seen: list[Seen]) -> int:
    """Return how many tokens the others may lag behind their floor: one floor if a query was too long to fit beside it."""
    return chosen.floor if any(max(batch.waiting_queries, default=0) > chosen.budget - chosen.floor for batch in seen) else 0


@settings(max_examples=300, deadline=None)
@given(histories())
def test_every_text_comes_out_once_in_order_within_the_budget_and_something_always_comes(history: History) -> None:
    play(*history)


@settings(max_examples=300, deadline=None)
@given(histories())
def test_the_others_get_their_floors_over_any_run_of_batches(history: History) -> None:
    """The floors of the classes that wait, and one less if queries come that are too long to fit beside it."""
    chosen, _ = history
    seen, longest = play(*history)
    late = late_tokens(chosen, seen)
    if chosen.floor + longest - 1 + late > chosen.budget:
        return
    for start in range(len(seen)):
        tokens = floors = 0
        for n, batch in enumerate(seen[start:], start=1):
            if not batch.others_after:
                break
            tokens += batch.others
            floors += batch.floor
            assert tokens >= floors - (longest - 1) - late, (start, n)


@settings(max_examples=300, deadline=None)
@given(histories())
@example(
    (
        Limits(6, 2, 2),
        [Arrival({"query": [3, 4], "online": [], "bulk": []}, 0.0), Arrival({"query": [], "online": [1], "bulk": [1, 1, 3]}, 0.0)],
    )
)
def test_a_query_is_not_passed_over_for_long(history: History) -> None:
    """Once if it is too long to fit beside the floor, else as often as the others' credit lasts; long queries leave that higher."""
    chosen, _ = history
    seen, longest = play(*history)
    credit = max(longest - 1, 0) + late_tokens(chosen, seen)
    passed = 0
    for batch in seen:
        passed = 0 if batch.queries or not batch.waiting_queries else passed + 1
        if passed:
            room = chosen.budget - batch.waiting_queries[0] - chosen.floor
            assert passed <= (credit / (room + 1) if room >= 0 else 1)


@settings(max_examples=300, deadline=None)
@given(histories())
def test_a_batch_with_queries_holds_few_others_and_more_than_the_cap_only_for_its_first_query(history: History) -> None:
    chosen, _ = history
    seen, longest = play(*history)
    for batch in seen:
        if batch.waiting_queries:
            assert batch.others <= max(chosen.floor + longest - 1 + late_tokens(chosen, seen), 0)
            assert batch.others + sum(batch.queries) <= batch.cap or len(batch.queries) <= 1
            if batch.queries and len(batch.queries) < len(batch.waiting_queries):
                left = batch.waiting_queries[len(batch.queries)]
                assert batch.others + sum(batch.queries) + left > batch.cap, "there was room for one more"


@settings(max_examples=300, deadline=None)
@given(histories())
def test_others_alone_fill_the_budget_or_the_cap_for_ten_seconds_of_work_after_an_urgent_one(history: History) -> None:
    chosen, _ = history
    seen, longest = play(*history)
    for batch in seen:
        if not batch.waiting_queries:
            fill = batch.cap if batch.since_urgent_s < HOLD_S else chosen.budget
            assert batch.others <= max(fill, min(chosen.floor + longest - 1 + late_tokens(chosen, seen), chosen.budget))
            assert not batch.others_after or batch.others + max(batch.next_tokens) > fill


@settings(max_examples=300, deadline=None)
@given(histories())
def test_online_and_bulk_share_what_is_theirs_half_and_half_while_both_wait(history: History) -> None:
    """Whatever queries take: over any run of batches in which both wait the tokens of the two differ by one text of each at most."""
    chosen, arrivals = history
    batcher = new_batcher(chosen)
    longest, ahead = [0, 0], [0]
    for arrival in arrivals:
        for urgency, sizes in arrival.texts.items():
            batcher.add([Text(CLASSES.index(urgency), np.zeros(n, dtype=np.int32)) for n in sizes], urgency)
        longest = [max([most, *arrival.texts[urgency]]) for most, urgency in zip(longest, CLASSES[1:], strict=True)]
        batch = batcher.next_batch()
        ahead.append(ahead[-1] + sum(len(text.ids) * (1 if CLASSES[text.number] == "online" else -1) for text in batch.others))
        if not all(batcher.waiting_tokens[urgency] for urgency in CLASSES[1:]):
            ahead = [ahead[-1]]
        assert max(ahead) - min(ahead) <= sum(longest)


def test_a_client_beside_one_with_thousands_of_texts_is_in_the_next_batch() -> None:
    batcher: Batcher[Text] = Batcher(
        budget_tokens=512, bulk_floor_tokens=64, online_floor_tokens=64, topic_of=lambda text: str(text.number)
    )
    for number, urgency in ((0, "online"), (1, "bulk")):
        batcher.add([Text(number, np.zeros(64, dtype=np.int32))] * 2_048, cast("Urgency", urgency))
    for number in range(2, 100):
        assert batcher.next_batch().tokens == 512
        batcher.add([Text(number, np.zeros(19, dtype=np.int32))], "online")
        assert number in [text.number for text in batcher.next_batch().others]


def new_batcher(chosen: Limits, *, topics: int = 1) -> Batcher[Text]:
    """Return a batcher whose log texts are of this many topics, in turn."""
    return Batcher(
        budget_tokens=chosen.budget,
        bulk_floor_tokens=chosen.bulk,
        online_floor_tokens=chosen.online,
        target_s=0.1,
        topic_of=lambda text: str(text.number % topics),
        weight_of=lambda topic: 1.0 + int(topic),
    )


@settings(max_examples=200, deadline=None)
@given(limits(), st.lists(st.tuples(st.integers(0, 2), st.floats(0.1, 1.0)), min_size=1, max_size=60))
def test_topics_share_the_tokens_of_logs_by_weight_while_they_wait(chosen: Limits, plan: list[tuple[int, float]]) -> None:
    """Of any two topics that still wait after a batch, tokens per weight since the beginning differ by one text of each at most."""
    texts = [(topic, max(int(chosen.budget * share), 1)) for topic, share in plan]
    weights = (1.0, 2.0, 0.25)
    batcher: Batcher[Text] = Batcher(
        budget_tokens=chosen.budget,
        bulk_floor_tokens=chosen.floor,
        topic_of=lambda text: str(texts[text.number][0]),
        weight_of=lambda topic: weights[int(topic)],
    )
    batcher.add((Text(number, np.zeros(size, dtype=np.int32)) for number, (_, size) in enumerate(texts)), "bulk")
    longest = max(size for _, size in texts)
    waiting, taken = [sum(topic == one for topic, _ in texts) for one in range(3)], [0.0] * 3
    while len(batcher):
        for number in _names(batcher.next_batch())[1]:
            topic, size = texts[number]
            waiting[topic] -= 1
            taken[topic] += size / weights[topic]
            for one, other in ((0, 1), (0, 2), (1, 2)):
                if waiting[one] and waiting[other]:
                    assert abs(taken[one] - taken[other]) <= 1.001 * longest * (1 / weights[one] + 1 / weights[other])


def _names(batch: Batch[Text]) -> tuple[list[int], list[int]]:
    return [query.number for query in batch.queries], [log.number for log in batch.others]


@settings(max_examples=300, deadline=None)
@given(limits(), st.data())
def test_after_a_shrink_every_batch_is_within_the_smaller_budget_and_something_always_comes(chosen: Limits, data: st.DataObject) -> None:
    """A shrink may come after any batch; no text is longer than the last budget."""
    least = data.draw(st.integers(1, chosen.budget))
    batcher = new_batcher(chosen)
    waiting: Waiting = {urgency: [] for urgency in CLASSES}
    numbers = count()
    budget = chosen.budget
    text = st.lists(st.integers(1, least), max_size=6)
    arrivals = data.draw(st.integers(0, 15))
    while arrivals or any(waiting.values()):
        if arrivals:
            for urgency, some in waiting.items():
                new = [Text(next(numbers), np.zeros(n, dtype=np.int32)) for n in data.draw(text)]
                some.extend(new)
                batcher.add(new, urgency)
        batch = batcher.next_batch()
        _take(batch, waiting, budget)
        arrivals = max(arrivals - 1, 0)
        if arrivals and data.draw(st.booleans()):
            asked = data.draw(st.integers(least, chosen.budget))
            batcher.shrink(asked)
            budget = min(budget, asked)
        assert len(batcher) == sum(map(len, waiting.values()))
    assert len(batcher) == 0
