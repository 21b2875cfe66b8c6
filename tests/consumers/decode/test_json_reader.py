"""Reading JSON: several objects a value, values of other formats, bad values beside good ones, and forms that change."""

import json

import numpy as np
import pytest

from consumers.columns import as_texts, byte_column
from consumers.decode.found import NO_TIME, Found, Values, undecodable
from consumers.decode.json_columns import JsonColumns
from consumers.decode.json_form import ObjectForm
from consumers.decode.json_reader import JsonReader
from consumers.decode.json_roles import RoleRules
from consumers.decode.rules import DecodeRules, FieldNames

KAFKA_MS = 1_767_323_045_678


def values_of(*values: bytes) -> Values:
    return Values(values, byte_column(values), np.full(len(values), KAFKA_MS))


def read(*values: bytes, rules: DecodeRules = DecodeRules()) -> Found:  # noqa: B008 - immutable
    return JsonReader(rules).read(values_of(*values))


def rows_of(found: Found) -> list[tuple[int, int, str]]:
    """Return (place, sub, text) of each entry."""
    return list(zip(found.entries.row.tolist(), found.entries.sub.tolist(), as_texts(found.entries.text), strict=True))


def test_a_megabyte_of_small_objects_is_refused_without_reading_all_of_it() -> None:
    for value in (b"{}" * 500_000, b"{}\n" * 333_000, b"\n" * 999_999 + b"{", b'{"a":' * 200_000):
        assert read(value, rules=DecodeRules(max_entries=10)).failed


class Foreign:
    """Answers with one entry a value, and refuses what says so."""

    def __init__(self) -> None:
        self.seen: list[bytes] = []

    def read(self, values: Values) -> Found:
        self.seen += values.value
        good = [place for place, value in enumerate(values.value) if b"refuse" not in value]
        failed = [(place, undecodable("no")) for place in range(values.size) if place not in good]
        found = read(*[b'{"msg":"foreign"}'] * len(good)) if good else read(b"")
        return Found(found.entries._replace(row=np.array(good, np.int64)), failed)


OTLP = b'{"resourceLogs":[]}'
EVENT = b'{"specversion":"1.0","id":"1","source":"/a","type":"t","data":{"msg":"x"}}'


@pytest.mark.parametrize(
    "value", [OTLP, b'{"x":1,"resource_logs":[]}', b'[{"resourceLogs":[]}]', b' { "resourceLogs" : [] }', OTLP + b"\n" + OTLP]
)
def test_batches_of_otlp_go_to_their_reader(value: bytes) -> None:
    batches, events = Foreign(), Foreign()
    reader = JsonReader(DecodeRules(), batches=batches, events=events)
    for _ in range(3):
        found = reader.read(values_of(b'{"msg":"x"}', value, b'{"msg":"y"}', value + b" "))
        assert rows_of(found) == [(0, 0, "x"), (1, 0, "foreign"), (2, 0, "y"), (3, 0, "foreign")]
    assert batches.seen == [value, value + b" "] * 3
    assert not events.seen


def test_events_go_to_their_reader_also_after_objects_with_the_same_keys() -> None:
    batches, events = Foreign(), Foreign()
    reader = JsonReader(DecodeRules(), batches=batches, events=events)
    alike = b'{"specversion":1,"id":"1","source":"/a","type":"t","data":{"msg":"x"},"msg":"y"}'
    for _ in range(3):
        found = reader.read(values_of(*[alike] * 20, EVENT, EVENT.replace(b"{", b'{"refuse":1,', 1)))
        assert rows_of(found) == [*((row, 0, "y") for row in range(20)), (20, 0, "foreign")]
        assert found.failed == [(21, undecodable("no"))]
    assert len(events.seen) == 6


def test_objects_that_only_look_like_a_batch_are_objects() -> None:
    reader = JsonReader(DecodeRules(), batches=Foreign(), events=Foreign())
    found = reader.read(values_of(b'{"resourceLogs":5,"msg":"a"}', b'{"specversion":"1.0","msg":"b"}', b'{"msg":"\\"resourceLogs\\": ["}'))
    assert [text for _, _, text in rows_of(found)] == ["a", "b", '"resourceLogs": [']


def test_a_batch_has_as_many_entries_as_a_record_may_have() -> None:
    rules = DecodeRules(max_entries=3)
    batch = b'{"records":[{"message":"a"},{"message":"b"}]}'
    assert len(rows_of(read(batch, rules=rules))) == 2
    nested = b'{"records":[{"events":[{"message":"a"},{"message":"b"}]},{"events":[{"message":"c"},{"message":"d"}]}]}'
    for value in (batch + b"\n" + batch, nested):
        assert [rejection.kind for _, rejection in read(value, rules=rules).failed] == ["too_many_entries"]


def test_without_other_readers_batches_are_objects() -> None:
    assert [text for _, _, text in rows_of(read(OTLP, EVENT))] == [
        OTLP.decode(),
        "x",
    ]


def test_a_name_of_the_settings_that_holds_nothing_useful_is_passed_over() -> None:
    names = FieldNames(text=("n",), time=("n",), level=("n",), service=("n",))
    found = read(b'{"n":5,"message":"a","level":"info","app":"x"}', rules=DecodeRules(names=names)).entries
    assert (found.text[0].as_py(), found.service.text(0), found.level.text(0), int(found.time_ms[0])) == ("a", "x", "INFO", NO_TIME)


def test_a_form_that_nothing_fits_any_more_is_forgotten() -> None:
    form = ObjectForm(())
    assert form.learn([{f"k{i}": 1 for i in range(96)}])
    assert not form.learn([{"other": 1}])
    form.count_strangers(30_000, 30_000)
    assert form.parser is None
    assert form.learn([{"other": 1}])


def test_records_that_fit_are_not_forgotten_beside_strangers() -> None:
    form = ObjectForm(())
    form.learn([{"a": 1}])
    for _ in range(10):
        form.count_strangers(9_000, 10_000)
        form.count_strangers(4_000, 10_000)
    assert form.parser is not None


def test_nested_texts_are_remembered_up_to_a_bound() -> None:
    columns = JsonColumns(DecodeRules(), RoleRules(DecodeRules()))
    columns.form.learn([{"msg": "a", "n": {"id": 0}}])
    for start in range(0, 12_000, 3_000):
        values = [json.dumps({"msg": "a", "n": {"id": i}}).encode() for i in range(start, start + 3_000)]
        (found,), others = columns.read(values, np.zeros(3_000, np.int64))
        assert not others
        assert found.fields.to_pylist() == [f'{{"n.id":{i}}}' for i in range(start, start + 3_000)]
        assert len(columns._nested["n"]) <= 4_096  # noqa: SLF001 - the bound cannot be seen from outside


def test_many_different_keys_are_bounded_and_all_read() -> None:
    reader = JsonReader(DecodeRules(max_other_fields=1))
    for start in range(0, 2_000, 200):
        found = reader.read(values_of(*(json.dumps({"msg": "a", f"k{i}": i}).encode() for i in range(start, start + 200)))).entries
        assert found.fields.to_pylist() == [f'{{"k{i}":{i}}}' for i in range(start, start + 200)]
