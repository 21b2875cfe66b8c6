"""The two formats of an export: NDJSON, exact, and CSV, for spreadsheets."""

import csv
import io
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final, NamedTuple, Protocol

from worker.asking.answers import LineJson

COLUMNS: Final = (
    "time",
    "time_ms",
    "service",
    "level",
    "text",
    "template_text",
    "template",
    "topic",
    "partition",
    "offset",
    "sub",
    "chunk",
    "chunks",
    "kafka_time",
    "id",
    "sampled",
    "fields",
)
"""Of a CSV export, in order. Times are ISO 8601 in UTC, `time_ms` the same since 1970; `fields` is JSON."""
_FORMULA_STARTS = tuple("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")
"""What a spreadsheet may take for the beginning of a formula; the last four are the full-width forms of the first."""


class Reached(NamedTuple):
    """How far an export came."""

    lines: int = 0
    until_ms: int | None = None
    """Every line before it was written; None if none was read."""
    end_ms: int | None = None
    next: dict[str, object] | None = None
    """The query that goes on from here; None: there is nothing more, or nothing was read."""
    reason: str = ""
    """Why it stopped; empty if it is complete."""

    @property
    def state(self) -> str:
        """Return `complete` or `stopped`."""
        return "stopped" if self.reason else "complete"


class Rows(Protocol):
    """A format."""

    @property
    def content_type(self) -> str:
        """The media type."""

    @property
    def head(self) -> bytes:
        """What stands before the first line."""

    def of(self, line: LineJson) -> bytes:
        """Return what is written of a line of a log."""

    def last(self, reached: Reached) -> bytes:
        """Return the last line, which says how it ended."""


class NdjsonRows:
    """A JSON object a line: those of a search's hits, and one that says how it ended."""

    content_type = "application/x-ndjson"
    head = b""

    def of(self, line: LineJson) -> bytes:
        """Return what is written of a line of a log."""
        return _ndjson(line)

    def last(self, reached: Reached) -> bytes:
        """Return the last line, which says how it ended."""
        return _ndjson({"export": {"state": reached.state, **reached._asdict()}})


class CsvRows:
    """RFC 4180 with a header. A text that a spreadsheet could take for a formula begins with an apostrophe."""

    content_type = "text/csv; charset=utf-8; header=present"
    head = ",".join(COLUMNS).encode("ascii") + b"\r\n"

    def of(self, line: LineJson) -> bytes:
        """Return what is written of a line of a log."""
        shown = dict(line) | {"time_ms": line["time"], "time": _iso(line["time"]), "kafka_time": _iso(line["kafka_time"])}
        if "fields" in shown:
            shown["fields"] = json.dumps(shown["fields"], ensure_ascii=False)
        row = io.StringIO(newline="")
        csv.writer(row).writerow([_cell(shown.get(column)) for column in COLUMNS])
        return row.getvalue().encode("utf-8", "replace")

    def last(self, reached: Reached) -> bytes:
        """Return the last line, which says how it ended."""
        if not reached.reason:
            return f"# complete: {reached.lines} lines\r\n".encode("ascii")
        resume = "" if reached.until_ms is None else f"; resume with since_ms={reached.until_ms}"
        if reached.next is not None and "after" in reached.next:
            resume += f" after={reached.next['after']}"
        reason = " ".join(reached.reason.split())
        return f"# stopped: {reason}; {reached.lines} lines{resume}\r\n".encode("utf-8", "replace")


def _ndjson(document: Mapping[str, object]) -> bytes:
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace") + b"\n"


def _cell(content: object) -> object:
    if content is None or isinstance(content, bool):
        return "true" if content else ""
    return f"'{content}" if isinstance(content, str) and content.startswith(_FORMULA_STARTS) else content


def _iso(time_ms: int) -> str:
    try:
        return datetime.fromtimestamp(time_ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    except (OverflowError, ValueError, OSError):  # not in the years 1 to 9999
        return str(time_ms)
