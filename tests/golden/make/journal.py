"""Writes tests/golden/journald.jsonl: what `journalctl -o json` writes of entries that journald was sent, with its native protocol.

Run it as root where systemd 252 is installed, running or not: `python tests/golden/make/journal.py`. journald runs in a namespace of its
own. What is expected is written here from what is sent; nothing of it is taken from a decoder.
"""

import json
import os
import re
import socket
import struct
import subprocess
import sys
import time
from base64 import b64encode
from pathlib import Path
from typing import Any

NAMESPACE = f"golden{os.getpid()}"
FOLDER = Path("/run/systemd") / f"journal.{NAMESPACE}"
SENT: tuple[tuple[str, int, str, dict[str, Any]], ...] = (
    ("added 3 of sku-77", 6, "INFO", {}),
    ("stock is low: é 語 🛒", 4, "WARN", {"SKU": "sku-77"}),
    ("could not add", 3, "ERROR", {"CODE_FUNC": "add"}),
    ("a query:\nselect *\n  from carts", 7, "DEBUG", {}),
    ("out of memory", 0, "FATAL", {}),
    ("in \x1b[31mcolour\x1b[0m", 5, "INFO", {}),
)
"""Message, priority, level, and other fields."""
MOST_OTHERS = 16
OWN_ID = re.compile(rb'("_(?:MACHINE|BOOT)_ID":"|;b=)[0-9a-f]{32}')
"""They are this machine's, and so are the paths and its name: others take their place."""


def packed(fields: dict[str, str]) -> bytes:
    """Return an entry in journald's native protocol."""
    return b"".join(
        name.encode() + b"\n" + struct.pack("<Q", len(value.encode())) + value.encode() + b"\n" for name, value in fields.items()
    )


def line(value: bytes, message: str, level: str, priority: int) -> dict[str, Any]:
    """Return a line of the golden file. What journald adds of itself is taken from what it wrote; all of it is text."""
    written = json.loads(value)
    text = message.replace("\x1b[31m", "").replace("\x1b[0m", "")
    gone = ("MESSAGE", "__REALTIME_TIMESTAMP", "_HOSTNAME", "PRIORITY", "SYSLOG_IDENTIFIER")
    others = {name: one for name, one in written.items() if name not in gone and isinstance(one, str) and len(one) <= 256}
    fields = {name: others[name] for name in sorted(others)[:MOST_OTHERS]}
    fields |= {"host.name": written["_HOSTNAME"], "level.original": str(priority)}
    time_ms = int(written["__REALTIME_TIMESTAMP"]) // 1000
    expected = {"text": text, "time_ms": time_ms, "level": level, "service": "cart", "fields": fields, "trace": None}
    return {
        "value_base64": b64encode(value).decode(),
        "headers": [],
        "kafka_ms": time_ms + 1500,
        "format": "auto",
        "expected": [expected],
    }


def main() -> None:
    """Write the file."""
    journald = subprocess.Popen(["unshare", "-m", "/lib/systemd/systemd-journald", NAMESPACE])
    try:
        time.sleep(2)
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
            for message, priority, _, more in SENT:
                fields = {"MESSAGE": message, "PRIORITY": str(priority), "SYSLOG_IDENTIFIER": "cart", **more}
                sender.sendto(packed(fields), str(FOLDER / "socket"))
        time.sleep(1)
        made = subprocess.run(
            ["journalctl", f"--namespace={NAMESPACE}", "-o", "json", "--all", "SYSLOG_IDENTIFIER=cart"], check=True, capture_output=True
        ).stdout
    finally:
        journald.terminate()
        journald.wait()
    paths = ((sys.executable, "/usr/bin/python3"), (os.path.realpath(sys.executable), "/usr/bin/python3"), (sys.argv[0], "cart.py"))
    for own, neutral in (*paths, (f'"{socket.gethostname()}"', '"web-1"'), (NAMESPACE, "golden")):
        made = made.replace(own.encode(), neutral.encode())
    made = OWN_ID.sub(rb"\g<1>" + b"0" * 32, made)
    head = {"producer": "journalctl of systemd 252", "made_by": "tests/golden/make/journal.py", "written_from_documentation": False}
    lines = [
        line(value, message, level, priority)
        for value, (message, priority, level, _) in zip(made.splitlines(keepends=True), SENT, strict=True)
    ]
    sys.stdout.buffer.write(made)
    Path(__file__).parents[1].joinpath("journald.jsonl").write_text("".join(json.dumps(one) + "\n" for one in (head, *lines)))


if __name__ == "__main__":
    main()
