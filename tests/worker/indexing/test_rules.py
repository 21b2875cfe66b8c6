"""Drop rules and sample rules: which entries they are about, and what becomes of these in the steps."""

import json
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from consumers.columns import coded_texts, string_column
from consumers.decode.entries import Entries
from tests.worker.chain import Chain
from tests.worker.conftest import NewChain
from tests.worker.indexing.test_restart import restarted
from worker.indexing.entry_rules import EntryRules
from worker.indexing.sampling import SampledSeconds, Sampler, hash_places
from worker.settings.rule_tables import DropTable, SampleTable
from worker.settings.settings import Settings
from worker.settings.topic_tables import MultilineTable


def entries_of(*entries: tuple[str, str, str, str | None]) -> Entries:
    """Return entries of these texts, services, levels and fields."""
    texts, services, levels, fields = zip(*entries, strict=True)
    size = len(entries)
    return Entries(
        row=np.arange(size),
        sub=np.zeros(size, np.int32),
        text=string_column(texts),
        time_ms=np.zeros(size, np.int64),
        service=coded_texts(services),
        level=coded_texts(levels),
        fields=string_column(fields),
    )


def met(rules: list[dict[str, object]], *entries: tuple[str, str, str, str | None]) -> list[int]:
    tables = [DropTable.model_validate({"name": f"r{place}"} | rule) for place, rule in enumerate(rules)]
    places: list[int] = EntryRules(tables).first_met(entries_of(*entries)).tolist()
    return places


def test_all_conditions_of_a_rule_must_hold_and_the_first_rule_counts() -> None:
    entries = (("GET /healthz", "web", "INFO", None), ("GET /healthz", "web", "DEBUG", None), ("GET /x", "db", "DEBUG", None))
    assert met([{"level": ["DEBUG"]}], *entries) == [-1, 0, 0]
    assert met([{"level": ["DEBUG"], "service": ["web"]}], *entries) == [-1, 0, -1]
    assert met([{"pattern": "^GET /healthz$"}, {"level": ["DEBUG"]}], *entries) == [0, 0, 1]
    assert met([{"level": ["INFO", "DEBUG"], "pattern": "/x"}], *entries) == [-1, -1, 0]


def test_a_field_is_found_by_its_name_and_its_value_is_searched_as_it_was() -> None:
    fields = (
        '{"http.route":"/healthz","n":200}',
        '{"n":500,"http.route":"a \\"quoted\\" \\u00e9"}',
        '{"other":"\\"http.route\\":\\"/healthz\\""}',
        None,
        "{}",
    )
    entries = [("x", "", "", one) for one in fields]
    assert met([{"field": "http.route"}], *entries) == [0, 0, -1, -1, -1]
    assert met([{"field": "http.route", "value": "^/healthz$"}], *entries) == [0, -1, -1, -1, -1]
    assert met([{"field": "http.route", "value": '"quoted" é$'}], *entries) == [-1, 0, -1, -1, -1]
    assert met([{"field": "n", "value": "^5.."}], *entries) == [-1, 0, -1, -1, -1]


names = st.sampled_from(["a", "a.b", 'q"', "back\\slash", "x(y", "\\E", "é"])


@settings(deadline=None, max_examples=60)
@given(
    objects=st.lists(
        st.dictionaries(
            st.sampled_from(["a", "a.b", 'q"', "back\\slash", "x(y", "\\E", "é"]),
            st.text(max_size=5) | st.integers() | st.booleans(),
            max_size=4,
        ),
        min_size=1,
        max_size=5,
    ),
    name=names,
    letter=st.sampled_from('ab1"\\'),
)
def test_whatever_is_in_names_and_values_a_field_is_found_as_a_parser_finds_it(
    objects: list[dict[str, object]], name: str, letter: str
) -> None:
    entries = [("x", "", "", json.dumps(one, ensure_ascii=False, separators=(",", ":"))) for one in objects]
    expected = [0 if isinstance(value := one.get(name), str) and letter in value else -1 for one in objects]
    found = met([{"field": name, "value": "\\\\" if letter == "\\" else letter}], *entries)
    of_texts = [place for place, one in zip(found, objects, strict=True) if isinstance(one.get(name, ""), str)]
    assert of_texts == [place for place, one in zip(expected, objects, strict=True) if isinstance(one.get(name, ""), str)]


@pytest.mark.parametrize(
    ("rule", "reason"),
    [({}, "no condition"), ({"value": "x", "level": ["INFO"]}, "needs a field"), ({"pattern": "("}, "RE2"), ({"level": ["LOUD"]}, "TRACE")],
)
def test_a_rule_that_cannot_be_meant_is_refused(rule: dict[str, object], reason: str) -> None:
    with pytest.raises(ValidationError, match=reason):
        DropTable.model_validate({"name": "r", **rule})


def test_two_rules_of_one_name_are_refused() -> None:
    rule = {"name": "r", "level": ["INFO"]}
    with pytest.raises(ValidationError, match="'r' stands twice"):
        Settings.model_validate({"drop": [rule, rule]})


NO_DEBUG = DropTable(name="no-debug", level=("DEBUG",))
NO_HEALTH = DropTable(name="no-health", pattern="healthz")


def test_dropped_entries_are_counted_and_cost_nothing(new_chain: NewChain) -> None:
    chain = new_chain(drop=[NO_DEBUG, NO_HEALTH])
    chain.feed("GET /healthz", "disk full", json.dumps([{"level": "debug", "msg": "a"}, {"msg": "b"}]), '{"level": "debug", "msg": "c"}')
    chain.run()
    assert chain.stored() == [(1, "disk full"), (2, "b")]
    assert chain.committable() == 4
    assert chain.rule_tally.dropped == {"no-debug": 2, "no-health": 1}
    assert chain.ledger.tally["dropped:rule:no-health"] == chain.ledger.tally["dropped:rule:no-debug"] == 1
    assert chain.ledger.tally["indexed"] == 2
    assert chain.ledger.open_bytes == chain.ledger.decoded_bytes == 0


def test_a_record_stays_if_a_rule_drops_its_last_entry_only(new_chain: NewChain) -> None:
    chain = new_chain(drop=[NO_DEBUG])
    chain.feed(json.dumps([{"msg": "b"}, {"level": "debug", "msg": "a"}]))
    chain.run()
    assert chain.stored() == [(0, "b")]
    assert (chain.committable(), chain.ledger.tally["indexed"]) == (1, 1)


def test_what_is_dropped_is_not_redacted_first_and_an_event_is_dropped_whole(new_chain: NewChain) -> None:
    chain = new_chain(drop=[DropTable(name="secrets", pattern="password=hunter2")], redact=["all"], multiline=MultilineTable(pattern="^>"))
    chain.feed("> password=hunter2", "more", "> next", "> last")
    chain.run()
    assert chain.stored() == [(2, "> next")]
    assert chain.ledger.tally["dropped:rule:secrets"] == 2
    assert chain.committable() == 3


SOME = SampleTable(name="some", above_per_s=2, keep=1_000_000)


def texts(chain: Chain) -> list[str | None]:
    return [line.text or None for line in chain.lines()]


def test_above_the_rate_a_line_keeps_everything_but_text_and_fields(new_chain: NewChain) -> None:
    chain = new_chain(sample=[SOME])
    lines = [json.dumps({"msg": f"disk {n} full", "level": "warn", "service": "db", "logger": f"l{n}"}) for n in range(5)]
    chain.feed(*lines)
    chain.run()
    assert texts(chain) == ["disk 0 full", "disk 1 full", None, None, None]
    assert {(line.service, line.level, line.template_text) for line in chain.lines()} == {("db", "WARN", "disk full")}
    assert [line.fields is None for line in chain.lines()] == [line.fields is None for line in chain.lines()[:2]] + [True] * 3
    assert chain.rule_tally.sampled == {"some": 3}
    assert chain.committable() == 5


def test_a_rate_is_counted_over_batches_and_by_kafkas_second(new_chain: NewChain) -> None:
    chain = new_chain(sample=[SOME])
    for n in range(4):
        chain.feed(f"disk {n} full")
    chain.run()
    assert texts(chain) == ["disk 0 full", "disk 1 full", None, None]
    seconds = SampledSeconds()
    assert seconds.ranks(0, np.array([7, 8, 7, 7, 9])).tolist() == [0, 0, 1, 2, 0]
    assert seconds.ranks(0, np.array([9, 7, 8])).tolist() == [1, 3, 1]
    assert seconds.ranks(1, np.array([7])).tolist() == [0]
    for second in range(100, 200):
        seconds.ranks(0, np.array([second]))
    assert seconds.ranks(0, np.array([7, 199])).tolist() == [0, 1]


def test_each_of_kafkas_seconds_has_its_own_first_lines() -> None:
    kafka_ms = np.array([7_000, 7_999, 8_000, 7_500, 8_001, 8_002])
    entries = entries_of(*[("disk full", "", "", None)] * 6)
    chosen = Sampler([SOME], Counter()).choose(entries, np.arange(6), kafka_ms, SampledSeconds())
    assert chosen.tolist() == [False, False, False, True, False, True]


def test_one_in_keep_of_the_others_keeps_its_text() -> None:
    kept = hash_places(np.arange(100_000), np.zeros(100_000, np.int32)) % np.uint64(10) == 0
    assert 9_500 < kept.sum() < 10_500
    assert len(np.unique(hash_places(np.zeros(1_000, np.int64), np.arange(1_000, dtype=np.int32)))) == 1_000


def test_a_replay_leaves_sampled_lines_as_they_are_and_those_with_texts_too(new_chain: NewChain) -> None:
    chain = new_chain(sample=[SOME])
    chain.feed(*(f"disk {n} full" for n in range(5)))
    chain.run()
    again = restarted(chain, new_chain, sample=[SampleTable(name="none", above_per_s=0, keep=1_000_000)])
    again.feed(*(f"disk {n} full" for n in range(5)))
    assert (len(again.embedder), len(again.store_lane)) == (0, 0)
    assert again.committable() == 5
    other = restarted(chain, new_chain)
    other.feed("disk 0 full", "disk 1 full", "login 2 lost", "disk 3 full")
    other.run()
    assert texts(other)[2:4] == ["login 2 lost", None]


def test_a_long_line_loses_the_text_of_every_chunk(new_chain: NewChain) -> None:
    chain = new_chain(sample=[SampleTable(name="none", above_per_s=0, keep=1_000_000)])
    chain.feed(" ".join(f"{one}{other} is not at all like it." for one in "abcdefghijklm" for other in "nopqrstuvwxyz"), "short")
    chain.run()
    assert len(chain.lines()) > 2
    assert set(texts(chain)) == {None}
    assert chain.lines()[0].cut != 0
