"""Standard output without a screen: one JSON object, names with their values, or a question; none of it needs rich.

Logs hold what strangers write, so nothing reaches a terminal that it would interpret: controls, C1 among them, and format characters such
as bidirectional marks are escaped, in texts by `printable_lines`, in JSON by `json_text`.
"""

import io
import json
import sys
from collections.abc import Mapping

import typer

from worker.cli import screen_tables as tables
from worker.runtime.logs import printable, printable_lines


def print_json(document: Mapping[str, object]) -> None:
    """Print one object on one line, escaped to ASCII where the terminal's encoding is not UTF-8."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    print_text(json_text(document, ensure_ascii=encoding.lower() not in ("utf-8", "utf8")))


def json_text(document: object, *, ensure_ascii: bool) -> str:
    """Return JSON on one line; what a terminal would interpret is escaped as JSON escapes it, so that it reads back the same."""
    text = json.dumps(document, ensure_ascii=ensure_ascii)
    return text if text.isprintable() else "".join(one if one.isprintable() else json.dumps(one)[1:-1] for one in text)


def facts_text(facts: Mapping[str, str]) -> str:
    """Return one name and value per line, the values aligned."""
    return "\n".join(tables.plain(tables.facts(facts.items())))


def print_text(text: str) -> None:
    """Print text and a newline, and flush. Raises BrokenPipeError when the reader has gone."""
    if sys.stdout is not None:
        sys.stdout.write(f"{printable_lines(text)}\n")
        sys.stdout.flush()


def warn(line: str) -> None:
    """Write one line to standard error."""
    sys.stderr.write(f"vectail: {printable(line)}\n")
    sys.stderr.flush()


def replace_unencodable() -> None:
    """Print `?` for characters that the terminal's encoding lacks, instead of failing."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")


def is_confirmed(question: str) -> bool:
    """Ask a yes-or-no question on the terminal; False without a terminal."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return False
    return typer.confirm(printable_lines(question), default=False)
