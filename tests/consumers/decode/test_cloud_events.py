"""CloudEvents: what an event carries is the entry, and its attributes are fields."""

import json
from base64 import b64encode
from datetime import UTC, datetime

from cloudevents.core.bindings.kafka import KafkaMessage, to_binary_event, to_structured_event
from cloudevents.core.v1.event import CloudEvent
from hypothesis import given, settings
from hypothesis import strategies as st

from consumers.decode.rules import DecodeRules
from consumers.record import Header
from tests.consumers.decode.seen import Seen, decode_values, seen

EVENTS = DecodeRules(format="cloudevents")
ATTRIBUTES = {"specversion": "1.0", "id": "e-7", "source": "/cart", "type": "cart.failed", "time": "2023-11-14T22:13:19.500Z"}


def entries(value: bytes, headers: tuple[Header, ...] = (), rules: DecodeRules = EVENTS) -> list[Seen]:
    decoded = decode_values([value], rules, [headers])
    assert not decoded.rejected
    return seen(decoded.entries)


def test_one_bad_event_of_a_batch_rejects_all_of_its_value() -> None:
    batch = [{**ATTRIBUTES, "data": "x"}, {**ATTRIBUTES, "data_base64": b64encode(b"{bad").decode(), "datacontenttype": "text/json"}]
    ((_, rejection),) = decode_values([json.dumps(batch).encode()], EVENTS).rejected
    assert rejection.kind == "undecodable"


names = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), min_size=1, max_size=20)
messages = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), min_size=1).filter(lambda text: text[0] not in "{[")


@settings(deadline=None, max_examples=50)
@given(
    event_id=names,
    source=names,
    message=messages,
    moment=st.datetimes(datetime.fromisoformat("1990-01-01"), datetime.fromisoformat("2023-01-01")),
    is_json=st.booleans(),
)
def test_what_the_librarys_encoder_writes_comes_back_in_each_mode(
    event_id: str,
    source: str,
    message: str,
    moment: datetime,
    is_json: bool,  # noqa: FBT001 - hypothesis passes by name
) -> None:
    attributes = {
        "id": event_id,
        "source": source,
        "type": "t",
        "specversion": "1.0",
        "time": moment.replace(tzinfo=UTC),
        "datacontenttype": "application/json" if is_json else "text/plain",
    }
    event = CloudEvent(attributes, {"message": message} if is_json else message)
    written: list[KafkaMessage] = [to_binary_event(event), to_structured_event(event)]
    headers = [tuple(one.headers.items()) for one in written]
    decoded = decode_values([one.value for one in written], DecodeRules(), headers)
    assert not decoded.rejected
    time_ms = int((moment - datetime.fromisoformat("1970-01-01")).total_seconds() * 1_000 + 1e-6)
    fields = {"cloudevents.event_id": event_id, "cloudevents.event_source": source, "cloudevents.event_type": "t"}
    assert [(entry.text, entry.time_ms, entry.fields) for entry in seen(decoded.entries)] == [(message, time_ms, fields)] * 2
