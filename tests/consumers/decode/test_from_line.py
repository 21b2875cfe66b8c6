"""Time, level and service from the beginning of lines, as real programs write them, and none where a line names none."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from consumers.columns import string_column
from consumers.decode.found import NO_TIME
from consumers.decode.from_line import LineHeaders

KAFKA_MS = 1_795_435_200_000
"""2026-11-23 12:00 UTC."""
HEAD_BYTES = 127
"""How many bytes of a line are looked at."""


def read(*lines: str, headers: LineHeaders | None = None) -> list[tuple[str | None, str, str]]:
    """Return the time in UTC, the level and the service of each line."""
    headers, column = headers or LineHeaders(), string_column(lines)
    times = headers.times(column, np.full(len(lines), KAFKA_MS)).tolist()
    levels, services = headers.levels(column), headers.services(column)
    assert set(levels.codes.tolist()) == set(range(len(levels.values)))
    assert set(services.codes.tolist()) == set(range(len(services.values)))
    return [(written(time_ms), levels.text(row), services.text(row)) for row, time_ms in enumerate(times)]


def written(time_ms: int) -> str | None:
    """Return a time in ISO 8601, without milliseconds where there are none."""
    if time_ms == NO_TIME:
        return None
    seconds = datetime.fromtimestamp(time_ms // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    return seconds + (f".{time_ms % 1000:03}" if time_ms % 1000 else "")


LINES: list[tuple[str, str | None, str, str]] = [
    ("2026-11-23T10:00:00.123Z  INFO 1234 --- [main] c.e.App : Started", "2026-11-23T10:00:00.123", "INFO", ""),
    ("[2026-11-23T10:00:00,123][WARN ][o.e.n.Node] [es-1] started", "2026-11-23T10:00:00.123", "WARN", ""),
    ("[2026-11-23 10:00:00,123] ERROR [KafkaServer id=1] Fatal (kafka.server.KafkaServer)", "2026-11-23T10:00:00.123", "ERROR", ""),
    ("2026/11/23 10:00:00 [error] 123#0: *1 open() failed", "2026-11-23T10:00:00", "ERROR", ""),
    ("2026-11-23 10:00:00,123 - my.module - ERROR - it broke", "2026-11-23T10:00:00.123", "ERROR", ""),
    ("2026-11-23 10:00:00,123 - root - warning - it broke", "2026-11-23T10:00:00.123", "WARN", ""),
    ("2026-11-23 10:00:00.123 | DEBUG    | mod:func:1 - msg", "2026-11-23T10:00:00.123", "DEBUG", ""),
    ("[2026-11-23 10:00:00 +0100] [123] [INFO] Starting gunicorn", "2026-11-23T09:00:00", "INFO", ""),
    ("[2026-11-23 10:00:00,123: INFO/MainProcess] celery ready", "2026-11-23T10:00:00.123", "INFO", ""),
    ("I, [2026-11-23T10:00:00.123456 #1234]  INFO -- : started", "2026-11-23T10:00:00.123", "INFO", ""),
    ("E1123 10:00:00.123456    1 main.go:12] it broke", "2026-11-23T10:00:00.123", "ERROR", ""),
    ("I20261123 10:00:00.123456 1 main.cc:12] fine", "2026-11-23T10:00:00.123", "INFO", ""),
    ("[I 2026-11-23 10:00:00.123 ServerApp] up", "2026-11-23T10:00:00.123", "INFO", ""),
    ("03-17 16:13:38.811  1702  2395 D WindowManager: printFreezing", "2026-03-17T16:13:38.811", "DEBUG", ""),
    ("E/AndroidRuntime( 1234): FATAL EXCEPTION: main", None, "ERROR", ""),
    ("I/O error on device sda", None, "", ""),
    ("2026-11-23T10:00:00.123+0000 I NETWORK  [listener] connection accepted", "2026-11-23T10:00:00.123", "INFO", ""),
    ("2016-09-28 04:30:30, Info                  CBS    Loaded Servicing Stack", "2016-09-28T04:30:30", "INFO", ""),
    ("20171223-22:15:29:606|Step_LSC|30002312|onStandStepChanged 3579", "2017-12-23T22:15:29.606", "", ""),
    ("[10.30 16:49:06] chrome.exe - proxy.cse.cuhk.edu.hk:5070 open through proxy", "2026-10-30T16:49:06", "", ""),
    ("Jun 14 15:16:01 combo sshd(pam_unix)[19939]: authentication failure; logname=", "2026-06-14T15:16:01", "", "sshd"),
    ("- 1131566461 2005.11.09 dn228 Nov 9 12:01:01 dn228/dn228 crond(pam_unix)[2915]: session closed", "2005-11-09T20:01:01", "", ""),
    ("2026-11-23T10:00:00.123456+00:00 web-1 nginx[12]: error: no such file", "2026-11-23T10:00:00.123", "ERROR", "nginx"),
    ("2026-11-23T10:00:00Z web-1 kernel: WARNING: CPU 1", "2026-11-23T10:00:00", "WARN", "kernel"),
    ('10.0.0.1 - frank [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.0" 200 2326', "2000-10-10T20:55:36", "", ""),
    ('::1 - - [10/Oct/2000:13:55:36 -0700] "TRACE / HTTP/1.0" 200 2326', "2000-10-10T20:55:36", "", ""),
    ("ERROR:root:it broke", None, "ERROR", ""),
    ("error: no such file", None, "ERROR", ""),
    ("Warning: this is deprecated", None, "WARN", ""),
    ("panic: runtime error: index out of range", None, "FATAL", ""),
    ("no error found", None, "", ""),
    ("INFO: error count 3", None, "INFO", ""),
    ("the error: was not there", None, "", ""),
    ("User 2026-11-23 10:00:00 logged in", None, "", ""),
    ("backup of 2026-11-23 10:00:00 done", None, "", ""),
    ("took from 10:00:00 2026-11-23 10:00:00", None, "", ""),
    ('time="2026-11-23T10:00:00Z" level=warning msg="it is ERROR"', "2026-11-23T10:00:00", "WARN", ""),
    ('time=2026-11-23T10:00:00.000Z level=INFO msg="x y"', "2026-11-23T10:00:00", "INFO", ""),
    ("ts=2026-11-23T10:00:00.000Z caller=main.go:12 level=error msg=x", "2026-11-23T10:00:00", "ERROR", ""),
    ('msg="it level=error" x', None, "", ""),
    ("level=info msg=hello", None, "INFO", ""),
    ("2026-11-23 10:00:00.123 UTC [1234] ERROR:  relation does not exist", "2026-11-23T10:00:00.123", "ERROR", ""),
    ("2026-11-23 10:00:00.123 UTC [1234] LOG:  checkpoint starting", "2026-11-23T10:00:00.123", "INFO", ""),
    ("2026-11-23T10:00:00.123456Z 0 [Warning] [MY-010068] [Server] CA certificate", "2026-11-23T10:00:00.123", "WARN", ""),
    ("[Sun Dec 04 04:47:44.123456 2005] [core:error] [pid 1] AH00001", "2005-12-04T04:47:44.123", "ERROR", ""),
    ("[Sun Dec 04 04:47:44.123456 2005] [mpm_event:notice] [pid 1:tid 2] AH00489", "2005-12-04T04:47:44.123", "INFO", ""),
    ("[2026-11-23 10:00:00.123][1][info][main] [source/server.cc:1] initializing", "2026-11-23T10:00:00.123", "INFO", ""),
    ("1234:M 23 Nov 2026 10:00:00.123 * Ready to accept connections", "2026-11-23T10:00:00.123", "", ""),
    ("23-Nov-2026 10:00:00.123 SEVERE [main] org.apache.catalina.X msg", "2026-11-23T10:00:00.123", "ERROR", ""),
    ("Nov 23, 2026 10:00:00 PM org.foo.Bar run", "2026-11-23T22:00:00", "", ""),
    ("[1163890000] SERVICE ALERT: host;x", "2006-11-18T22:46:40", "", ""),
    ("1286536308.779    180 192.168.0.224 TCP_MISS/200 411 GET", "2010-10-08T11:11:48.779", "", ""),
    ("1700000000 bytes freed", None, "", ""),
    ("1610612736 KB total", None, "", ""),
    ("1700000000123 INFO started", "2023-11-14T22:13:20.123", "INFO", ""),
    ("[   12.345678] usb 1-1: new device", None, "", ""),
    ("2026-11-23T10:00:00.123+0100\tINFO\tfile.go:12\tmsg", "2026-11-23T09:00:00.123", "INFO", ""),
    ("2026-11-23T10:00:00.123+0100\tinfo\tfile.go:12\tmsg", "2026-11-23T09:00:00.123", "INFO", ""),
    ('INFO 2026-11-23 10:00:00,123 basehttp "GET /"', "2026-11-23T10:00:00.123", "INFO", ""),
    ("[INFO] 2026-11-23 10:00:00 hello", "2026-11-23T10:00:00", "INFO", ""),
    ("ERROR: 2026-11-23 10:00:00: hello", "2026-11-23T10:00:00", "ERROR", ""),
    ("web-1  | 2026-11-23T10:00:00Z WARN x", "2026-11-23T10:00:00", "WARN", ""),
    ('INFO:     127.0.0.1:1 - "GET / HTTP/1.1" 200 OK', None, "INFO", ""),
    ("2026-11-23 10:00:00,123 root INFO msg", "2026-11-23T10:00:00.123", "INFO", ""),
    ("2026-11-23 10:00:00 Error something", "2026-11-23T10:00:00", "", ""),
    ("Jul  1 09:00:55 host com.apple.x[1] (svc[2]): Service exited", "2026-07-01T09:00:55", "", "com.apple.x"),
    ("Jul  1 09:00:55 host proc[1] <Error>: it broke", "2026-07-01T09:00:55", "ERROR", "proc"),
    ("Dec 10 06:55:46 sshd[24200]: hello", "2025-12-10T06:55:46", "", "sshd"),
    ("*Mar  1 00:00:00.123: %SYS-5-CONFIG_I: Configured", "2026-03-01T00:00:00.123", "", ""),
    ("Mon Nov 23 10:00:00 UTC 2026 up", "2026-11-23T10:00:00", "", ""),
    ("11/23/2026 10:00:00 PM ERROR x", "2026-11-23T22:00:00", "ERROR", ""),
    ("2026-11-23T10:00:00.123Z INFO main: started", "2026-11-23T10:00:00.123", "INFO", ""),
    ("http 2018-07-02T22:23:00.186641Z app/my-loadbalancer/50dc6c495c0c9188", "2018-07-02T22:23:00.186", "", ""),
    ("<Error> something", None, "ERROR", ""),
    ("[error] something", None, "ERROR", ""),
    ("WARN  o.a.k.Foo - x", None, "WARN", ""),
    ("2026-11-23", None, "", ""),
    ("", None, "", ""),
    ("FATAL", None, "FATAL", ""),
    ("error", None, "", ""),
    ("ERRORS were found", None, "", ""),
    ("INFORMATIONAL: x", None, "INFO", ""),
    ("=ERROR REPORT==== 23-Nov-2026::10:00:00 ===", None, "ERROR", ""),
    ("10:00:00.123 [main] WARN  c.e.Foo - x", None, "WARN", ""),
    ("Dec 10 06:55:46 web-1 INFO: x", "2025-12-10T06:55:46", "INFO", ""),
    ("2026-11-23 10:00:00+00 db1 postgres[1]: x", "2026-11-23T10:00:00", "", ""),
]


@pytest.mark.parametrize(("line", "time", "level", "service"), LINES)
def test_a_line_tells_time_level_and_service_at_its_beginning(line: str, time: str | None, level: str, service: str) -> None:
    assert read(line) == [(time, level, service)]


@pytest.mark.parametrize(
    "line",
    [
        "no error found", "the job ended with ERROR", "3 errors in 2 files", "an error: of this kind", "Failed with FATAL error",
        "errors: 3",
        "10.0.0.1 had an ERROR", "debugging is on", "Infos and Errors", "traceback (most recent call last):", "erroring out", "ERRORS: 3",
        "informed the user",
        "warned about it", "criticality is high", "A new connection", "I am here", "it is in error [error]",
        "2026-11-23 10:00:00 there was an ERROR",
        "2026-11-23 10:00:00 an old ERROR",
        "2026-11-23 10:00:00 error while reading", "Dec 10 06:55:46 web-1 app[1]: no error: fine",
        "Dec 10 06:55:46 web-1 app[1]: found ERROR", 'msg="level=error"', "key=error", "level=unknown", "level=errors",
        "[errors] x", "[error", "<error x>", "E1123", "E/", "W/O a licence: x", "[main] started without error",
    ],
)  # fmt: skip
def test_a_word_of_prose_is_no_level(line: str) -> None:
    assert read(line)[0][1] == ""


@pytest.mark.parametrize(
    "line",
    [
        "User 2026-11-23 10:00:00 logged in",
        "copied at 2026-11-23T10:00:00Z from a to b",
        "Certificate expires 2026-11-23 10:00:00",
        "see [10/Oct/2000:13:55:36 -0700] for more",
        "error on [10/Oct/2000:13:55:36 -0700] again",
        "1700000000 bytes freed",
        "1700000000",
        "20261123100000 records",
        "x" * 65 + " 2026-11-23T10:00:00Z",
        "10.0.0.1 2026-11-23",
        "first line\n2026-11-23T10:00:00Z second line",
    ],
)
def test_a_time_in_the_middle_of_a_message_is_not_the_lines(line: str) -> None:
    assert read(line)[0][0] is None


@pytest.mark.parametrize(
    ("line", "service"),
    [
        ("Dec 10 06:55:46 web-1 sshd[24200]: x", "sshd"),
        ("Dec 10 06:55:46 web-1 sshd: x", "sshd"),
        ("Dec 10 06:55:46 web-1 sshd:", "sshd"),
        ("Dec  1 06:55:46 web-1 postfix/smtpd[2]: x", "postfix/smtpd"),
        ("Dec  1 06:55:46 web-1 com.apple.x_y-z[2]: x", "com.apple.x_y-z"),
        ("Dec 10 06:55:46 web-1 crond(pam_unix)[2915]: x", "crond"),
        ("2026-11-23T10:00:00+01:00 web-1 nginx[12]: x", "nginx"),
        ("2026-11-23T10:00:00+01:00 fe80::1 nginx[12]: x", "nginx"),
        ("Dec 10 06:55:46 web-1 last message repeated 2 times", ""),
        ("Dec 10 06:55:46 web-1 2: x", ""),
        ("Dec 10 06:55:46 web-1 sshd[24200] x", ""),
        ("Dec 10 06:55:46 web-1 sshd[24 200]: x", ""),
        ("Dec 10 06:55:46 web-1 ERROR: x", ""),
        ("Dec 10 06:55:46 ERROR main: x", ""),
        ("Dec 10 06:55:46 web-1 " + "x" * 64 + ": x", "x" * 64),
        ("Dec 10 06:55:46 web-1 " + "x" * 65 + ": x", ""),
        ("Dec 10 06:55:46 web-1", ""),
        ("Dec 10 06:55:46", ""),
        ("2026-11-23T10:00:00 web-1 nginx[12]: x", ""),
        ("2026-11-23 10:00:00+01:00 web-1 nginx[12]: x", ""),
        ("2026-11-23T10:00:00Z INFO main: x", ""),
        ("2026-11-23T10:00:00Z  INFO main: x", ""),
        ("10.0.0.1 sshd[1]: x", ""),
    ],
)
def test_a_service_is_the_tag_of_syslog(line: str, service: str) -> None:
    assert read(line)[0][2] == service


def test_what_a_line_says_does_not_depend_on_the_lines_beside_it() -> None:
    headers = LineHeaders()
    lines = [line for line, *_ in LINES]
    many = [*lines, *reversed(lines)] * 20

    together = read(*many, headers=headers)

    alone = {line: read(line, headers=headers)[0] for line in lines}
    assert together == [alone[line] for line in many]
    assert read(*many, headers=headers) == together


def test_a_line_never_takes_anything_from_the_next_one() -> None:
    lines = ["", "2026-11-23", "2026-11-23T10:00:0", "[", "INF", "Dec 10 06:55:46 web-1 ", "level=", "2026-11-23 10:00:00 error"]
    for line in lines:
        for other in ("T10:00:00Z x", " 10:00:00", "0Z", "2026-11-23T10:00:00Z x", "O: x", "sshd[1]: x", "error"):
            assert read(line, other)[0] == read(line)[0]


def test_a_head_is_read_to_its_last_byte_and_no_further() -> None:
    for size in range(100, 140):
        line = "[" + "x" * (size - 10) + "] ERROR: broken"
        assert read(line) == [(None, "ERROR" if size < HEAD_BYTES + 2 else "", "")], size


@pytest.mark.parametrize("time", ["Jan 33 10:00:00", "Nov 00 10:00:00", "01-45 10:00:00.5", "E0132 10:00:00.123456", "99 Nov 10:00:00"])
def test_a_day_that_no_month_has_is_no_time(time: str) -> None:
    assert read(f"{time} up")[0][0] is None


def test_zone_and_year_of_the_rules_are_those_of_lines_that_name_none() -> None:
    headers = LineHeaders(timezone=ZoneInfo("Europe/Berlin"), year=2019)

    assert read("Dec 10 06:55:46 web-1 sshd[1]: x", headers=headers) == [("2019-12-10T05:55:46", "", "sshd")]
    assert read("2026-07-01 00:00:00,5 INFO x", headers=headers) == [("2026-06-30T22:00:00.500", "INFO", "")]
    assert read("2026-07-01T00:00:00Z INFO x", headers=headers) == [("2026-07-01T00:00:00", "INFO", "")]


def test_no_lines_say_nothing() -> None:
    assert read() == []
