"""Syslog: messages as RFCs, rsyslog, syslog-ng and Cisco write them, and what is none."""

import json
import re
from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from consumers.columns import as_texts, byte_column, string_column
from consumers.decode.found import NO_TIME, Found, Values
from consumers.decode.rules import DecodeRules, FieldNames
from consumers.decode.syslog import SyslogReader, read_structured
from consumers.decode.syslog_heads import CISCO, RFC_3164, read_heads
from consumers.decode.tally import DecodeTally

KAFKA_MS = 1_795_400_000_000
"""2026-11-23T02:13:20Z."""
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LEVELS = ("FATAL", "FATAL", "FATAL", "ERROR", "WARN", "INFO", "INFO", "DEBUG")

Entry = tuple[int, int, str, int | None, str, str, str | None]


def read(values: list[bytes], rules: DecodeRules = DecodeRules()) -> Found:  # noqa: B008 - immutable
    return SyslogReader(rules, DecodeTally()).read(Values(values, byte_column(values), np.full(len(values), KAFKA_MS)))


def entries(values: list[bytes], rules: DecodeRules = DecodeRules()) -> list[Entry]:  # noqa: B008 - immutable
    """Return (place, sub, text, time, service, level, fields) of each entry."""
    found = read(values, rules)
    texts, fields = as_texts(found.text), found.fields.to_pylist()
    times = [None if time_ms == NO_TIME else time_ms for time_ms in found.time_ms.tolist()]
    return [
        (int(found.place[i]), int(found.sub[i]), texts[i], times[i], found.service.text(i), found.level.text(i), fields[i])
        for i in range(found.size)
    ]


def ms(time: str | datetime) -> int:
    """Return a time, or one as ISO writes it, as milliseconds since 1970; what is left over is cut off."""
    time = datetime.fromisoformat(time) if isinstance(time, str) else time
    return (time - EPOCH) // timedelta(milliseconds=1)


def fields(**kept: object) -> str:
    """Return kept fields as they are written; `_` stands for a dot."""
    return json.dumps({name.replace("_", "."): value for name, value in kept.items()}, separators=(",", ":"), ensure_ascii=False)


SD_KEPT = r""""sd.x@32473.iut":"3","sd.x@32473.src":"A\"p]p\\","sd.y@1.a":"h"}"""
CASES: dict[str, tuple[bytes, str, str | None, str, str, str | None]] = {
    "RFC 5424, example 1": (
        b"<34>1 2003-10-11T22:14:15.003Z mymachine.example.com su - ID47 - \xef\xbb\xbf'su root' failed for lonvick on /dev/pts/8",
        "'su root' failed for lonvick on /dev/pts/8",
        *("2003-10-11T22:14:15.003Z", "su", "FATAL"),
        fields(host_name="mymachine.example.com", syslog_facility="auth", syslog_msgid="ID47"),
    ),
    "RFC 5424, example 2": (
        b"<165>1 2003-08-24T05:14:15.000003-07:00 192.0.2.1 myproc 8710 - - %% It's time to make the do-nuts.",
        "%% It's time to make the do-nuts.",
        *("2003-08-24T12:14:15Z", "myproc", "INFO"),
        fields(host_name="192.0.2.1", process_pid=8710, syslog_facility="local4"),
    ),
    "RFC 5424, example 3": (
        b'<165>1 2003-10-11T22:14:15.003Z mymachine evntslog - ID47 [x@32473 iut="3" src="A\\"p\\]p\\\\"][y@1 a="h"] \xef\xbb\xbfAn event',
        "An event",
        *("2003-10-11T22:14:15.003Z", "evntslog", "INFO"),
        '{"host.name":"mymachine","syslog.facility":"local4","syslog.msgid":"ID47",' + SD_KEPT,
    ),
    "RFC 5424, example 4": (
        b'<165>1 2003-10-11T22:14:15.003Z mymachine evntslog - ID47 [e@32473 iut="3"]',
        "",
        *("2003-10-11T22:14:15.003Z", "evntslog", "INFO"),
        '{"host.name":"mymachine","syslog.facility":"local4","syslog.msgid":"ID47","sd.e@32473.iut":"3"}',
    ),
    "RFC 5424, nothing known": (b"<0>1 - - - - - - text\nand more", "text\nand more", None, "", "FATAL", fields(syslog_facility="kern")),
    "RFC 5424, no message": (b"<191>1 - - - - - -\n", "", None, "", "DEBUG", fields(syslog_facility="local7")),
    "RFC 5424, a byte order mark and no message": (b"<7>1 - - - - - - \xef\xbb\xbf", "", None, "", "DEBUG", fields(syslog_facility="kern")),
    "a process that is no number": (
        b"<134>1 2026-11-23T01:00:00Z host app 007 - - x",
        "x",
        *("2026-11-23T01:00:00Z", "app", "INFO"),
        fields(host_name="host", process_pid="007", syslog_facility="local0"),
    ),
    "process 0": (
        b"<134>1 2026-11-23T01:00:00Z host app 0 - - x",
        "x",
        *("2026-11-23T01:00:00Z", "app", "INFO"),
        fields(host_name="host", process_pid=0, syslog_facility="local0"),
    ),
    "rsyslog, RSYSLOG_SyslogProtocol23Format": (
        b"<38>1 2026-11-23T01:02:03.456789+01:00 web1 sshd 24200 - -  Accepted publickey for root\n",
        "Accepted publickey for root\n",
        *("2026-11-23T00:02:03.456Z", "sshd", "INFO"),
        fields(host_name="web1", process_pid=24200, syslog_facility="auth"),
    ),
    "rsyslog, RSYSLOG_FileFormat": (
        b"2026-11-23T01:02:03.456789+00:00 web1 sshd[24200]: Accepted publickey for root\n",
        "Accepted publickey for root\n",
        *("2026-11-23T01:02:03.456Z", "sshd", ""),
        fields(host_name="web1", process_pid=24200),
    ),
    "rsyslog, RSYSLOG_FileFormat, kernel": (
        b"2026-11-23T01:02:03.456789+00:00 web1 kernel: [    0.000000] Linux version 6.1\n",
        "[    0.000000] Linux version 6.1\n",
        *("2026-11-23T01:02:03.456Z", "kernel", ""),
        fields(host_name="web1"),
    ),
    "rsyslog, RSYSLOG_FileFormat, no tag": (
        b"2026-11-23T01:02:03.456789+00:00 web1  a message without a tag\n",
        "a message without a tag\n",
        *("2026-11-23T01:02:03.456Z", "", ""),
        fields(host_name="web1"),
    ),
    "rsyslog, RSYSLOG_ForwardFormat": (
        b"<13>2026-11-23T01:02:03.456789+00:00 web1 app: text",
        "text",
        *("2026-11-23T01:02:03.456Z", "app", "INFO"),
        fields(host_name="web1", syslog_facility="user"),
    ),
    "syslog-ng, ISODATE": (
        b"2026-11-23T01:02:03+00:00 web1 postfix/smtpd[7]: connect from unknown\n",
        "connect from unknown\n",
        *("2026-11-23T01:02:03Z", "postfix/smtpd", ""),
        fields(host_name="web1", process_pid=7),
    ),
    "RFC 3164, example 1": (
        b"<34>Oct 11 22:14:15 mymachine su: 'su root' failed for lonvick on /dev/pts/8",
        "'su root' failed for lonvick on /dev/pts/8",
        *("2026-10-11T22:14:15Z", "su", "FATAL"),
        fields(host_name="mymachine", syslog_facility="auth"),
    ),
    "RFC 3164, example 2": (
        b"<13>Feb  5 17:32:18 10.0.0.99 Use the BFG!",
        "Use the BFG!",
        *("2026-02-05T17:32:18Z", "", "INFO"),
        fields(host_name="10.0.0.99", syslog_facility="user"),
    ),
    "RFC 3164, a module in the tag": (
        b"<86>Dec 10 06:55:46 LabSZ sshd(pam_unix)[24200]: check pass; user unknown",
        "check pass; user unknown",
        *("2025-12-10T06:55:46Z", "sshd", "INFO"),
        fields(host_name="LabSZ", process_pid=24200, syslog_facility="authpriv"),
    ),
    "RFC 3164, no host": (
        b"<30>Nov 23 01:02:03 systemd[1]: Started Session 1.",
        "Started Session 1.",
        *("2026-11-23T01:02:03Z", "systemd", "INFO"),
        fields(process_pid=1, syslog_facility="daemon"),
    ),
    "RFC 3164, no host and no process": (
        b"<30>Nov 23 01:02:03 app: text",
        *("text", "2026-11-23T01:02:03Z", "app", "INFO"),
        fields(syslog_facility="daemon"),
    ),
    "RFC 3164, an IPv6 host": (
        b"<30>Nov 23 01:02:03 2001:db8::1 app: text",
        "text",
        *("2026-11-23T01:02:03Z", "app", "INFO"),
        fields(host_name="2001:db8::1", syslog_facility="daemon"),
    ),
    "RFC 3164, a year": (
        b"<30>Nov 23 2024 01:02:03 host app: text",
        "text",
        *("2024-11-23T01:02:03Z", "app", "INFO"),
        fields(host_name="host", syslog_facility="daemon"),
    ),
    "RFC 3164, without a priority": (
        b"Nov 23 01:02:03 host app[12]: text",
        "text",
        *("2026-11-23T01:02:03Z", "app", ""),
        fields(host_name="host", process_pid=12),
    ),
    "a priority and a tag": (b"<13>app[12]: text", "text", None, "app", "INFO", fields(process_pid=12, syslog_facility="user")),
    "a priority": (b"<13>some text", "some text", None, "", "INFO", fields(syslog_facility="user")),
    "Cisco IOS, its clock not set": (
        b"<189>29: *Mar  1 18:46:11.123 UTC: %SYS-5-CONFIG_I: Configured from console by vty2 (10.34.195.36)",
        "%SYS-5-CONFIG_I: Configured from console by vty2 (10.34.195.36)",
        *(None, "", "INFO"),
        fields(syslog_facility="local7"),
    ),
    "Cisco IOS, its name": (
        b"<187>30: router1: .Nov 23 01:02:03.456: %LINK-3-UPDOWN: Interface up",
        "%LINK-3-UPDOWN: Interface up",
        *("2026-11-23T01:02:03.456Z", "", "ERROR"),
        fields(host_name="router1", syslog_facility="local7"),
    ),
    "Cisco ASA": (
        b"<166>Jan 01 2026 10:00:00 fw1 : %ASA-6-305012: Teardown",
        "%ASA-6-305012: Teardown",
        *("2026-01-01T10:00:00Z", "", "INFO"),
        fields(host_name="fw1", syslog_facility="local4"),
    ),
    "Cisco ASA, no host": (
        b"<166>Jan 01 2026 10:00:00: %ASA-6-305012: Teardown",
        *("%ASA-6-305012: Teardown", "2026-01-01T10:00:00Z", "", "INFO"),
        fields(syslog_facility="local4"),
    ),
    "bytes that are not UTF-8": (
        b"<13>Nov 23 01:02:03 h\xff app: \xfftext",
        "\ufffdtext",
        *("2026-11-23T01:02:03Z", "app", "INFO"),
        fields(host_name="h\ufffd", syslog_facility="user"),
    ),
    "quotes in the host": (
        b'<13>Nov 23 01:02:03 "h\\ app[3]: text',
        "text",
        *("2026-11-23T01:02:03Z", "app", "INFO"),
        fields(host_name='"h\\', process_pid=3, syslog_facility="user"),
    ),
    "NUL at the end": (b"<13>text\n\0", "text\n", None, "", "INFO", fields(syslog_facility="user")),
}


@pytest.mark.parametrize("name", CASES)
def test_a_message_is_its_text_time_program_level_and_fields(name: str) -> None:
    value, text, time, service, level, kept = CASES[name]
    assert entries([value]) == [(0, 0, text, None if time is None else ms(time), service, level, kept)]


def test_messages_of_all_kinds_are_read_together() -> None:
    values = [value for value, *_ in CASES.values()]
    expected = [
        (place, 0, text, None if time is None else ms(time), service, level, kept)
        for place, (_, text, time, service, level, kept) in enumerate(CASES.values())
    ]
    assert entries(values) == expected
    assert entries(values[::-1]) == [(len(values) - 1 - place, *rest) for place, *rest in reversed(expected)]


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (b"no syslog at all", "not syslog"),
        (b"<192>text", "not syslog"),
        (b"<999>1 - - - - - - x", "not syslog"),
        (b"<13", "not syslog"),
        (b"<>text", "not syslog"),
        (b"<14>1 2026-11-23T01:02:03Z host app 1 - no structured data", "not syslog"),
        (b'<14>1 - - - - - [a b="c] x', "not syslog"),
        (b"<14>1 - - - - - [a b=c] x", "not syslog"),
        (b"\n", "not syslog"),
        (b"99 <13>text", "an octet count of syslog is not true"),
        (b"8 <13>text and more", "an octet count of syslog is not true"),
        (b"8 <13>text8 <999>tex", "not syslog"),
        (b"<13>first\n<999>second", "not syslog"),
    ],
)
def test_what_is_not_syslog_is_rejected_and_its_neighbours_are_read(value: bytes, reason: str) -> None:
    found = read([b"<13>before", value, b"<13>after"])
    assert (found.place.tolist(), as_texts(found.text)) == ([0, 2], ["before", "after"])
    assert [(place, rejection.reason) for place, rejection in found.failed] == [(1, f"undecodable: {reason}")]


def test_strict_rules_reject_the_whole_value() -> None:
    found = read([b"<13>a", b"<13>a\n<13>\xff", b"<13>b"], DecodeRules(strict=True))
    assert found.place.tolist() == [0, 2]
    assert [(place, rejection.reason) for place, rejection in found.failed] == [(1, "undecodable: not valid UTF-8")]


def test_zone_and_year_of_the_rules_count_where_a_time_names_none() -> None:
    values = [b"<13>Oct 11 22:14:15 host app: text", b"<13>1 2003-10-11T22:14:15Z - - - - - text"]
    rules = DecodeRules(timezone=timezone(timedelta(hours=2)), year=2020)
    assert [entry[3] for entry in entries(values, rules)] == [ms("2020-10-11T20:14:15Z"), ms("2003-10-11T22:14:15Z")]


def test_fields_follow_the_rules() -> None:
    value = b'<38>1 - host app 12 ID [a b="c"] text'
    assert entries([value], DecodeRules(max_other_fields=0))[0][-1] == fields(host_name="host")
    assert entries([value], DecodeRules(max_other_fields=1))[0][-1] == fields(host_name="host", process_pid=12)
    named = DecodeRules(max_other_fields=0, names=FieldNames(keep=("sd.a.b", "process.pid")))
    assert entries([value], named)[0][-1] == '{"host.name":"host","sd.a.b":"c","process.pid":12}'


WORD = st.text(alphabet="abcXYZ019-_.", min_size=1, max_size=8).filter(lambda word: word != "-")
LABEL = st.none() | WORD
TIMES = st.integers(365 * 86_400 * 10**6, 230 * 365 * 86_400 * 10**6).map(lambda number: EPOCH + timedelta(microseconds=number))
TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\ufeff\x1b"), max_size=20)
PARAMETERS = st.dictionaries(WORD, st.text(alphabet='ab"]\\ [=\nä', min_size=1, max_size=6), max_size=3)


def escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("]", "\\]")


@settings(max_examples=60)
@given(
    priority=st.integers(0, 191), time=st.none() | TIMES, host=LABEL, app=LABEL, process=LABEL, msgid=LABEL,
    elements=st.dictionaries(WORD, PARAMETERS, max_size=2), text=TEXT, bom=st.booleans(),
)  # fmt: skip
def test_what_was_written_as_rfc_5424_comes_back(  # noqa: PLR0913 - the fields of a message
    priority: int, time: datetime | None, host: str | None, app: str | None, process: str | None, msgid: str | None,
    elements: dict[str, dict[str, str]], text: str, *, bom: bool,
) -> None:  # fmt: skip
    written = "".join(
        f"[{name}{''.join(f' {key}={chr(34)}{escaped(value)}{chr(34)}' for key, value in element.items())}]"
        for name, element in elements.items()
    )
    stamp = "-" if time is None else time.isoformat()
    head = f"<{priority}>1 {stamp} {host or '-'} {app or '-'} {process or '-'} {msgid or '-'} {written or '-'} "
    value = head.encode() + b"\xef\xbb\xbf" * bom + text.encode()
    if not text.strip("\r\n") and not bom:
        text = ""  # of a message without text not even line ends are left
    found = read([value], DecodeRules(max_other_fields=1_000))
    assert as_texts(found.text) == [text.removeprefix(" ")]
    assert found.time_ms[0] == (NO_TIME if time is None else ms(time))
    assert (found.service.text(0), found.level.text(0)) == (app or "", LEVELS[priority % 8])
    kept = json.loads(found.fields[0].as_py())
    pid = process if process is None or not process.isdigit() or (process[0] == "0" and process != "0") else int(process)
    expected = {"host.name": host, "process.pid": pid, "syslog.msgid": msgid}
    expected |= {f"sd.{name}.{key}": value for name, element in elements.items() for key, value in element.items()}
    assert kept.pop("syslog.facility")
    assert kept == {name: value for name, value in expected.items() if value is not None}


TAG = st.text(alphabet="abcXYZ_./-", min_size=1, max_size=8).filter(lambda word: word != "-")


@settings(max_examples=60)
@given(
    priority=st.integers(0, 191), time=TIMES, is_iso=st.booleans(), host=WORD, tag=TAG, module=st.booleans(),
    process=st.none() | st.integers(0, 99_999), text=TEXT,
)  # fmt: skip
def test_what_was_written_as_rfc_3164_comes_back(
    priority: int, time: datetime, host: str, tag: str, process: int | None, text: str, *, is_iso: bool, module: bool,
) -> None:  # fmt: skip
    stamp = time.isoformat(timespec="microseconds") if is_iso else f"{time:%b} {time.day:2} {time:%H:%M:%S}"
    number = "" if process is None else f"[{process}]"
    value = f"<{priority}>{stamp} {host} {tag}{'(pam)' if module else ''}{number}: {text}"
    found = read([value.encode()], DecodeRules(year=time.year))
    assert as_texts(found.text) == [text]
    assert found.time_ms[0] == ms(time if is_iso else time.replace(microsecond=0))
    assert (found.service.text(0), found.level.text(0)) == (tag, LEVELS[priority % 8])
    kept = json.loads(found.fields[0].as_py())
    assert kept.pop("syslog.facility")
    assert kept == {"host.name": host} | ({} if process is None else {"process.pid": process})


@given(structured=st.text(alphabet='[]="\\ ab', max_size=40))
def test_structured_data_of_any_shape_is_read_without_an_error(structured: str) -> None:
    assert all(name.startswith("sd.") for name in read_structured(structured))


PIECES = st.sampled_from(
    [
        *(
            "<13>",
            "<999>",
            "1 ",
            "2026-11-23T01:02:03Z ",
            "Nov 23 01:02:03 ",
            "host ",
            "app[12]: ",
            "app: ",
            "- ",
            "text",
            "\n",
            "\0",
            ": ",
        ),
        *("%SYS-5-X: ", "*", '[a b="c"] ', "30 ", "8 ", "\xe4", "12: "),
    ]
)


@settings(max_examples=20)
@given(values=st.lists(st.lists(PIECES, min_size=1, max_size=8).map(lambda pieces: "".join(pieces).encode()), min_size=1, max_size=6))
def test_neighbours_do_not_influence_each_other(values: list[bytes]) -> None:
    alone = [entries([value]) for value in values]
    assert entries(values) == [(place, *entry[1:]) for place, found in enumerate(alone) for entry in found]
    assert [place for place, _ in read(values).failed] == [place for place, found in enumerate(alone) if not found]


@given(pieces=st.lists(PIECES, max_size=8))
def test_the_usual_patterns_find_what_the_general_one_finds(pieces: list[str]) -> None:
    message = "<13>Nov 23 01:02:03 " + "".join(pieces)
    general = re.match(RFC_3164.replace("$", r"\Z").replace(r"\Z-", "$-"), message, re.ASCII)
    assume(general and not re.match(CISCO, message, re.ASCII))
    assert general
    heads = read_heads(string_column([message]))
    found = [as_texts(column)[0] for column in (heads.host, heads.tag, heads.process, heads.text)]
    names = (general["host"], general["tag"] or general["tag2"], general["pid"] or general["pid2"])
    assert found == [*(name or "" for name in names), message[general.end() :]]
