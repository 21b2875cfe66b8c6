"""Standard output without a screen: one JSON object, names with their values, or a question; none of it needs rich."""

import io
import json
import sys
from collections.abc import Mapping

import typer


def print_json(document: Mapping[str, object]) -> None:
    """Print one object on one line, escaped to ASCII where the terminal's encoding is not UTF-8."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    print_text(json.dumps(document, ensure_ascii=encoding.lower() not in ("utf-8", "utf8")))


def print_facts(facts: Mapping[str, str]) -> None:
    """Print one name and value per line, the values aligned."""
    width = max(len(name) for name in facts) + 2
    print_text("\n".join(f"{name:<{width}}{value}" for name, value in facts.items()))


def print_text(text: str) -> None:
    """Print text and a newline, and flush. Raises BrokenPipeError when the reader has gone."""
    if sys.stdout is not None:
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()


def replace_unencodable() -> None:
    """Print `?` for characters that the terminal's encoding lacks, instead of failing."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")


def is_confirmed(question: str) -> bool:
    """Ask a yes-or-no question on the terminal; False without a terminal."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return False
    return typer.confirm(question, default=False)


def counted(number: int, word: str) -> str:
    """Return a number with its noun: `1 line`, `2,000 lines`."""
    return f"{number:,} {word}" if number == 1 else f"{number:,} {word}s"
