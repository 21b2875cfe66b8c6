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

KAFKA_MS = 1_795_400_000_000


def read(values: list[bytes], rules: DecodeRules = DecodeRules()) -> Found:  # noqa: B008 - immutable
    return SyslogReader(rules, DecodeTally()).read(Values(values, byte_column(values), np.arange(len(values))))


@pytest.mark.parametrize(
    ("value", "messages"),
    [
        (b"8 <13>text", [b"<13>text"]),
        (b"8 <13>text9 <13>t\nxt2\n", [b"<13>text", b"<13>t\nxt2"]),
        (b"9 <13>text\n\n9 <13>text2", [b"<13>text\n", b"<13>text2"]),
        (b"<13>a\n<14>b\r\n<15>c\n", [b"<13>a", b"<14>b", b"<15>c\n"]),
        (b"<13>a\0\n<14>b", [b"<13>a", b"<14>b"]),
        (b"<13>a\n  at Main.java:3\n<b>\n<14>b", [b"<13>a\n  at Main.java:3\n<b>", b"<14>b"]),
        (b"9 <13>text", None),
        (b"7 <13>text", None),
        (b"999999999 <13>text", None),
    ],
)
def test_several_messages_in_a_value_are_several_entries(value: bytes, messages: list[bytes] | None) -> None:
    assert split_messages(value) == messages
    if messages is not None:
        found = read([b"<13>x", value, b"<13>y"]).entries
        assert found.row.tolist() == [0, *[1] * len(messages), 2]
        assert found.sub.tolist() == [0, *range(len(messages)), 0]


def test_each_message_takes_its_year_from_the_time_of_its_own_record() -> None:
    message = b"<13>Mar  1 00:00:00 host app: text"
    values = [message + b"\n" + message, message]
    kafka_ms = np.array([1_712_000_000_000, 1_743_500_000_000])  # April of 2024 and of 2025
    found = SyslogReader(DecodeRules(), DecodeTally()).read(Values(values, byte_column(values), kafka_ms)).entries
    assert found.time_ms.tolist() == [1_709_251_200_000, 1_709_251_200_000, 1_740_787_200_000]


def test_auto_reads_syslog_by_priority_and_date_and_all_else_as_text() -> None:
    sure = [
        *(b"<34>1 2003-10-11T22:14:15.003Z host su - ID47 - text", b"<34>Oct 11 22:14:15 host su: text", b"<34>1 - - - - - - text"),
        *(b"<13>2026-11-23T01:02:03Z host app: text", b"18 <13>1 - - - - - -\n\0", b"\n29 <13>Nov 23 01:02:03 app: text"),
        *(b"<14>1 2026-11-23T01:02:03Z host app 1 - no structured data", b'<14>{"msg":"text"}', b'<14>a=1 b="2" text', b"<14>app: text"),
        *(b"<187>29: %LINK-3-UPDOWN: text", b"<30>2026:11:23-10:00:00 utm-1 app[1]: text", b"<6>[   12.345678] usb 1-1: text"),
        *(b"<30>firewall,info input: text", b"<134>CEF:0|a|b|1|2|c|3|text", b"16 <14>app[1]: text"),
        *(b"<189>29: *Mar  1 18:46:11: %SYS-5-CONFIG_I: text", b"<189>29: r1: Mar  1 18:46:11: %SYS-5-CONFIG_I: text"),
    ]
    unsure = [
        *(b"<13>text", b"<b>1 text", b"<1", b"<", b"1 <", b"12 <13>text", b"2026-11-23T01:02:03Z host app: text", b"<13>11 text"),
        *(b"<14>1 yesterday host app 1 - no structured data", b"<1234>1 - - - - - - text", b"<5> retries left", b"<192>app: text"),
        *(b'<404>{"a":1}', b"<013>a=1 b=2", b"<13>a=1 and no more", b"<12> of 30: done", b"<b>date=2026-11-23 time=10:00:00</b>"),
    ]
    for values, form in ((sure, "syslog"), (unsure, "text")):
        decoder = Decoder()
        assert decoder.decode(values, np.full(len(values), KAFKA_MS)).rejected == []
        assert decoder.tally.records[form] == len(values)
    kept = Decoder().decode(unsure, np.full(len(unsure), KAFKA_MS)).entries
    assert as_texts(kept.text) == [value.decode() for value in unsure]
