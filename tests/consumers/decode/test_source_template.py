"""Source templates: which field carries one, and what becomes of it."""

import json
from dataclasses import replace
from itertools import permutations, product
from typing import Any

import pytest

from consumers.decode.rules import DecodeRules, FieldNames
from consumers.decode.source_template import SourceTemplates
from tests.consumers.decode.otlp_messages import log_record, logs_data, otlp_json
from tests.consumers.decode.seen import Seen, decode_values, seen
from tests.rows import rows

WRITTEN = "added {Count} of {Sku}"
OTLP = DecodeRules(format="otlp_proto")
EVENT = {"@t": "2026-05-28T20:10:00Z", "@mt": WRITTEN, "Count": 3, "Sku": "sku-77"}


def read(*documents: Any, rules: DecodeRules | None = None) -> list[Seen]:  # noqa: ANN401
    return seen(decode_values([json.dumps(document).encode() for document in documents], rules).entries)


def template(document: Any, rules: DecodeRules | None = None) -> str | None:  # noqa: ANN401
    """Return the source template of an object, read by the general rules and on the fast path."""
    (alone, *others) = (entry.template for entry in read(*[document] * 20, rules=rules))
    assert set(others) == {alone}
    return alone


def otlp_template(*args: Any, rules: DecodeRules = OTLP, origin: dict[str, Any] | None = None, **others: Any) -> str | None:  # noqa: ANN401
    """Return the source template of a log record, which is the same in both forms and however often it comes."""
    data = logs_data([log_record(*args, **others)] * 4, **(origin or {}))
    proto = decode_values([data.SerializeToString()] * 3, rules).entries
    as_json = decode_values([json.dumps(otlp_json(data)).encode()], replace(rules, format="otlp_json")).entries
    (found,) = {entry.template for entries in (proto, as_json) for entry in seen(entries)}
    return found


@pytest.mark.parametrize(("written", "logger", "text"), rows("source_templates/named"))
def test_a_template_is_named_with_its_logger_and_says_more_than_placeholders(written: str, logger: str, text: str | None) -> None:
    templates = SourceTemplates(DecodeRules())
    assert [templates.text_of(written, logger) for _ in range(2)] == [text, text]


def test_records_without_a_template_have_no_column_of_them() -> None:
    for value in (b'{"msg":"x","logger":"Shop"}', b"a line", b"<14>1 2026-05-28T20:10:00Z h app - - - x"):
        assert decode_values([value] * 5).entries.template is None
    assert decode_values([json.dumps(EVENT).encode()], DecodeRules(source_templates=False)).entries.template is None


def test_the_settings_switch_templates_off_and_name_more_of_them() -> None:
    document = {**EVENT, "log.record.template": "<*> of <*> added"}
    assert template(document) == WRITTEN
    trusted = FieldNames(template=("log.record.template",))
    assert template(document, DecodeRules(names=trusted)) == "<*> of <*> added"
    assert template(document, DecodeRules(names=trusted, source_templates=False)) is None
    assert read(document)[0]._replace(template=None) == read(document, rules=DecodeRules(source_templates=False))[0]


def test_a_template_is_carried_through_envelopes() -> None:
    event = {"specversion": "1.0", "id": "1", "source": "/s", "type": "t", "data": EVENT}
    assert [entry.template for entry in read(event, [event, EVENT], rules=DecodeRules(format="cloudevents"))] == [WRITTEN]
    assert template(event) == WRITTEN


def test_attributes_of_otlp_are_templates_with_the_scopes_name() -> None:
    for name in ("{OriginalFormat}", "message.template", "message_template.text", "sentry.message.template"):
        assert otlp_template("x", {name: WRITTEN, "Count": 3}) == WRITTEN
        assert otlp_template("x", {"Count": 3, name: WRITTEN}, origin={"logger": "Shop.Cart"}) == f"Shop.Cart: {WRITTEN}"
        assert otlp_template("x", {name: "y" * 300}, origin={"logger": "Shop"}) == "Shop: " + "y" * 300
        assert otlp_template({"msg": "x", name: WRITTEN}, origin={"logger": "Shop"}) == f"Shop: {WRITTEN}"
        assert otlp_template("x", {name: "{Message}"}) is None
        assert otlp_template("x", {name: WRITTEN}, rules=DecodeRules(format="otlp_proto", source_templates=False)) is None


def test_an_attribute_of_otlp_names_the_logger_where_the_scope_has_no_name() -> None:
    assert otlp_template("x", {"{OriginalFormat}": WRITTEN, "SourceContext": "Shop"}) == f"Shop: {WRITTEN}"
    assert otlp_template("x", {"{OriginalFormat}": WRITTEN, "SourceContext": "Shop"}, origin={"logger": "own"}) == f"own: {WRITTEN}"


def test_of_several_attributes_the_first_name_counts_that_has_a_text() -> None:
    names = ("{OriginalFormat}", "message.template", "message_template.text")
    for (first, second), (one, other) in product(permutations(names, 2), (("a", "b"), (5, "b"), ("a", 5), ("", "b"))):
        said = {name: text for name, text in ((first, one), (second, other)) if isinstance(text, str) and text}
        assert otlp_template("x", {first: one, second: other}) == next(said[name] for name in names if name in said)


def test_the_name_of_an_event_is_the_template_where_there_is_no_better_one() -> None:
    assert otlp_template("bob came", event_name="user.login") == "user.login"
    assert otlp_template("bob came", event_name="user.login", origin={"logger": "auth"}) == "auth: user.login"
    assert otlp_template("bob came", {"{OriginalFormat}": WRITTEN}, event_name="user.login") == WRITTEN
    off = DecodeRules(format="otlp_proto", source_templates=False)
    assert otlp_template("bob came", event_name="user.login", rules=off) is None


def test_what_a_resource_or_scope_says_is_no_template() -> None:
    """It stands once for thousands of records: their templates would take its size for each of them."""
    for origin in ("resource", "scope"):
        assert otlp_template("x", origin={origin: {"{OriginalFormat}": WRITTEN}}) is None


def test_templates_of_a_value_that_cannot_be_read_go_with_it() -> None:
    good = otlp_json(logs_data([log_record("x"), log_record("y", {"{OriginalFormat}": WRITTEN})]))
    plain = otlp_json(logs_data([log_record("x"), log_record("y")]))
    bad = json.loads(json.dumps(good))
    bad["resourceLogs"][0]["scopeLogs"][0]["logRecords"].append({"timeUnixNano": "no number"})
    decoded = decode_values([json.dumps(one).encode() for one in (good, bad, plain)], DecodeRules(format="otlp_json"))
    assert [row for row, _ in decoded.rejected] == [1]
    assert [(entry.row, entry.template) for entry in seen(decoded.entries)] == [(0, None), (0, WRITTEN), (2, None), (2, None)]


def test_trusted_names_of_otlp_are_those_of_attributes() -> None:
    rules = DecodeRules(format="otlp_proto", names=FieldNames(template=("logger", "trace_id", "status", "k")))
    assert otlp_template("x", {"k": "of k"}, rules=rules, origin={"logger": "Shop"}, trace_id=bytes(range(16))) == "Shop: of k"
    assert otlp_template("x", {"k": "of k", "status": "ok"}, rules=rules) == "ok"


def test_a_megabyte_of_braces_is_looked_through_soon() -> None:
    templates = SourceTemplates(DecodeRules())
    for written in ("{" * 1_000_000, "%(" * 500_000, "%-" + "0" * 1_000_000, "{a}" * 300_000, "%" * 1_000_000):
        assert templates.text_of(written, "") is None or "a" in written


@pytest.mark.parametrize(
    ("record", "template"),
    [
        (b'{"msg": "handled request", "status": 502, "request": {"method": "GET"}}', "handled request status=502"),
        (b'{"msg": "GET /x 502", "status": 502, "request": {"method": "GET"}}', None),
        (b'{"msg": "job ended", "status": 502}', None),
    ],
)
def test_a_status_goes_with_the_message_of_a_request_that_lacks_it(record: bytes, template: str | None) -> None:
    alone, often = ([one.template for one in seen(decode_values([record] * size).entries)] for size in (1, 9))
    assert (alone, often) == ([template], [template] * 9)
