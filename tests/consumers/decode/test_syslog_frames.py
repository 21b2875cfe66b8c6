"""Values of syslog: several messages in one, by octet counts and by line ends; and which values `auto` takes for syslog."""

import numpy as np
import pytest

from consumers.columns import as_texts, byte_column
from consumers.decode.decode_tally import DecodeTally
from consumers.decode.decoder import Decoder
from consumers.decode.found import Found, Values
from consumers.decode.rules import DecodeRules
from consumers.decode.syslog import SyslogReader
from consumers.decode.syslog_frames import split_messages
from tests.rows import rows

KAFKA_MS = 1_795_400_000_000


def read(values: list[bytes], rules: DecodeRules = DecodeRules()) -> Found:  # noqa: B008 - immutable
    return SyslogReader(rules, DecodeTally()).read(Values(values, byte_column(values), np.arange(len(values))))


@pytest.mark.parametrize(("text", "messages"), rows("syslog/messages"))
def test_several_messages_in_a_value_are_several_entries(text: str, messages: list[str] | None) -> None:
    assert split_messages(text.encode()) == (None if messages is None else [one.encode() for one in messages])
    if messages is not None:
        found = read([b"<13>x", text.encode(), b"<13>y"]).entries
        assert found.row.tolist() == [0, *[1] * len(messages), 2]
        assert found.sub.tolist() == [0, *range(len(messages)), 0]


def test_each_message_takes_its_year_from_the_time_of_its_own_record() -> None:
    message = b"<13>Mar  1 00:00:00 host app: text"
    values = [message + b"\n" + message, message]
    kafka_ms = np.array([1_712_000_000_000, 1_743_500_000_000])  # April of 2024 and of 2025
    found = SyslogReader(DecodeRules(), DecodeTally()).read(Values(values, byte_column(values), kafka_ms)).entries
    assert found.time_ms.tolist() == [1_709_251_200_000, 1_709_251_200_000, 1_740_787_200_000]


@pytest.mark.parametrize(("text", "form"), rows("syslog/told_by_auto"))
def test_auto_reads_syslog_by_priority_and_date_and_all_else_as_text(text: str, form: str) -> None:
    decoder = Decoder()
    decoded = decoder.decode([text.encode()], np.full(1, KAFKA_MS))
    assert (decoded.rejected, decoder.tally.records[form]) == ([], 1)
    assert form == "syslog" or as_texts(decoded.entries.text) == [text]
