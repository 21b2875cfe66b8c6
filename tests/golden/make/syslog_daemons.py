"""Writes golden files of rsyslog and syslog-ng: what their templates write of messages that they receive over UDP.

Run it with the files of Debian's rsyslog 8.2302.0 and syslog-ng-core 3.38.1 (and of libwrap0 and libpcre3) unpacked into a folder, not
installed: `python tests/golden/make/syslog_daemons.py FOLDER`. The templates are those that their Kafka outputs use by default and the
others that are usual. What is expected is written here from what is sent; nothing of it is taken from a decoder.
"""

import json
import os
import socket
import subprocess
import sys
import time
from base64 import b64encode
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

PORT = 15_514
LOGGED_MS = 1_779_999_000_125
SENT: tuple[tuple[int, str, str, str], ...] = (
    (6, "INFO", "cart", "added 3 of sku-77"),
    (4, "WARN", "cart", "stock is low: é 語 🛒"),
    (3, "ERROR", "sshd", "error: could not add"),
    (7, "DEBUG", "cart-db", 'a "quoted" \\ query'),
    (2, "FATAL", "kernel", "out of memory"),
)
"""Severity, level, service and message. The facility is local0."""
FACILITY = 16
Entry = dict[str, Any]


def expected(text: str, level: str, service: str, fields: Mapping[str, Any], *, has_ms: bool = True) -> Entry:
    """Return an entry."""
    time_ms = LOGGED_MS if has_ms else LOGGED_MS // 1000 * 1000
    return {"text": text, "time_ms": time_ms, "level": level, "service": service, "fields": dict(fields), "trace": None}


def sent_old(severity: int, service: str, message: str) -> bytes:
    """Return a message as RFC 3164 has it, of which rsyslog takes the year from the clock."""
    return f"<{FACILITY * 8 + severity}>May 28 20:10:00 web-1 {service}[42]: {message}".encode()


def sent_new(severity: int, service: str, message: str) -> bytes:
    """Return a message as RFC 5424 has it."""
    return f'<{FACILITY * 8 + severity}>1 2026-05-28T20:10:00.125Z web-1 {service} 42 audit [shop@32473 sku="sku-77"] {message}'.encode()


def file_format(_severity: int, level: str, service: str, message: str) -> Entry:
    """Return what the line `TIME HOST TAG: MESSAGE` says: no level but that in its message."""
    said = level if message.startswith("error:") else ""
    return expected(f"2026-05-28T20:10:00+00:00 web-1 {service}[42]: {message}", said, service, {}, has_ms=False)


def file_format_of_syslog_ng(_severity: int, level: str, service: str, message: str) -> Entry:
    """Return what syslog-ng's line says."""
    said = level if message.startswith("error:") else ""
    return expected(f"2026-05-28T20:10:00.125+00:00 web-1 {service}[42]: {message}", said, service, {})


def traditional(_severity: int, level: str, service: str, message: str) -> Entry:
    """Return what a line of RFC 3164 without priority says."""
    said = level if message.startswith("error:") else ""
    return expected(f"May 28 20:10:00 web-1 {service}[42]: {message}", said, service, {}, has_ms=False)


def protocol_23(_severity: int, level: str, service: str, message: str) -> Entry:
    """Return what a message of RFC 5424 says."""
    return expected(message, level, service, {"host.name": "web-1", "process.pid": 42, "syslog.facility": "local0"}, has_ms=False)


def forwarded(_severity: int, level: str, service: str, message: str) -> Entry:
    """Return what a message of RFC 3164 with its priority and a time of ISO 8601 says."""
    return expected(message, level, service, {"host.name": "web-1", "process.pid": 42, "syslog.facility": "local0"}, has_ms=False)


def json_of_rsyslog(_severity: int, level: str, service: str, message: str) -> Entry:
    """Return what an object of rsyslog's list template says; its `msg` begins with the blank behind the tag."""
    written = {"INFO": "info", "WARN": "warning", "ERROR": "err", "DEBUG": "debug", "FATAL": "crit"}[level]
    original = {} if written.upper() == level else {"level.original": written}
    return expected(f" {message}", level, service, {"host.name": "web-1", "pid": "42", **original}, has_ms=False)


def json_of_syslog_ng(severity: int, level: str, service: str, message: str) -> Entry:
    """Return what `$(format-json)` says."""
    entry = json_of_rsyslog(severity, level, service, message)
    return {**entry, "text": message, "time_ms": LOGGED_MS, "fields": {**entry["fields"], "_SDATA.shop@32473.sku": "sku-77"}}


RSYSLOG: Mapping[str, tuple[str, Callable[[int, str, str, str], Entry]]] = {
    "RSYSLOG_FileFormat": ("", file_format),
    "RSYSLOG_TraditionalFileFormat": ("", traditional),
    "RSYSLOG_SyslogProtocol23Format": ("", protocol_23),
    "forward": (
        'template(name="forward" type="string" '
        'string="<%PRI%>%TIMESTAMP:::date-rfc3339% %HOSTNAME% %syslogtag:1:32%%msg:::sp-if-no-1st-sp%%msg%\\n")',
        forwarded,
    ),
    "objects": (
        """template(name="objects" type="list" option.jsonf="on") {
 property(outname="@timestamp" name="timereported" dateFormat="rfc3339" format="jsonf")
 property(outname="host" name="hostname" format="jsonf")
 property(outname="severity" name="syslogseverity-text" format="jsonf")
 property(outname="appname" name="app-name" format="jsonf")
 property(outname="pid" name="procid" format="jsonf")
 property(outname="message" name="msg" format="jsonf")
}
""",
        json_of_rsyslog,
    ),
}
SYSLOG_NG: Mapping[str, tuple[str, Callable[[int, str, str, str], Entry]]] = {
    "default of kafka-c": ("${ISODATE} ${HOST} ${MSGHDR}${MSG}\\n", file_format_of_syslog_ng),
    "objects": (
        '$(format-json time="${ISODATE}" level="${LEVEL}" service="${PROGRAM}" message="${MSG}" host="${HOST}" pid="${PID}" --key ".SDATA.*")\\n',
        json_of_syslog_ng,
    ),
}


def quoted(template: str) -> str:
    """Return a string of syslog-ng's configuration."""
    return '"' + template.replace('"', '\\"') + '"'


def run(command: list[str], folder: Path, files: int, sent: Callable[[int, str, str], bytes]) -> None:
    """Run a daemon, send it the messages, and wait until it has written them."""
    root = Path(sys.argv[1]).resolve()
    libraries = (root / "usr/lib/x86_64-linux-gnu", root / "lib/x86_64-linux-gnu", root / "usr/lib/syslog-ng")
    daemon = subprocess.Popen(command, env={**os.environ, "TZ": "UTC", "LD_LIBRARY_PATH": ":".join(map(str, libraries))})
    try:
        time.sleep(2)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            for severity, _, service, message in SENT:
                sender.sendto(sent(severity, service, message), ("127.0.0.1", PORT))
        time.sleep(2)
    finally:
        daemon.terminate()
        daemon.wait()
    if len(list(folder.glob("out.*"))) != files:
        raise SystemExit("it has not written all files")


def write(name: str, producer: str, folder: Path, templates: Mapping[str, tuple[str, Callable[[int, str, str, str], Entry]]]) -> None:
    """Write a golden file."""
    lines: list[dict[str, Any]] = [
        {"producer": producer, "made_by": "tests/golden/make/syslog_daemons.py", "written_from_documentation": False}
    ]
    for number, (_, expect) in enumerate(templates.values()):
        values = folder.joinpath(f"out.{number}").read_bytes().splitlines(keepends=True)
        sys.stdout.buffer.write(b"".join(values))
        lines += [
            {
                "value_base64": b64encode(value).decode(),
                "headers": [],
                "kafka_ms": 1_780_000_000_000,
                "format": "auto",
                "expected": [expect(*one)],
            }
            for value, one in zip(values, SENT, strict=True)
        ]
    Path(__file__).parents[1].joinpath(f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def main() -> None:
    """Write the files."""
    root = Path(sys.argv[1]).resolve()
    with TemporaryDirectory() as made:
        folder = Path(made)
        modules = root / "usr/lib/x86_64-linux-gnu/rsyslog"
        actions = [f'action(type="omfile" file="{folder}/out.{number}" template="{name}")' for number, name in enumerate(RSYSLOG)]
        templates = [template for template, _ in RSYSLOG.values()]
        config = [f'global(workDirectory="{folder}")', 'module(load="imudp")', f'input(type="imudp" port="{PORT}")', *templates, *actions]
        folder.joinpath("rsyslog.conf").write_text("\n".join(config) + "\n")
        run(
            [f"{root}/usr/sbin/rsyslogd", "-n", "-M", str(modules), "-f", f"{folder}/rsyslog.conf", "-i", f"{folder}/pid"],
            folder,
            len(RSYSLOG),
            sent_old,
        )
        write("rsyslog", "rsyslog 8.2302.0", folder, RSYSLOG)
    with TemporaryDirectory() as made:
        folder = Path(made)
        config = ["@version: 3.38", f"source s {{ network(ip(127.0.0.1) port({PORT}) transport(udp) flags(syslog-protocol)); }};"]
        for number, (template, _) in enumerate(SYSLOG_NG.values()):
            config.append(f'destination d{number} {{ file("{folder}/out.{number}" template({quoted(template)}) frac-digits(3)); }};')
            config.append(f"log {{ source(s); destination(d{number}); }};")
        folder.joinpath("syslog-ng.conf").write_text(
            "options { keep-hostname(yes); };\n".join([config[0] + "\n", "\n".join(config[1:]) + "\n"])
        )
        own = [f"--{name}={folder}/{name}" for name in ("persist-file", "pidfile", "control")]
        libraries = f"--module-path={root}/usr/lib/syslog-ng/3.38"
        run(
            [f"{root}/usr/sbin/syslog-ng", "-F", "--no-caps", libraries, f"--cfgfile={folder}/syslog-ng.conf", *own],
            folder,
            len(SYSLOG_NG),
            sent_new,
        )
        write("syslog_ng", "syslog-ng 3.38.1", folder, SYSLOG_NG)


if __name__ == "__main__":
    main()
