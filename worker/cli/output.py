"""What goes to standard output without a screen: one JSON object, or names with their values."""

import io
import json
import sys
from collections.abc import Mapping


def print_json(document: Mapping[str, object]) -> None:
    """Print one object on a line of its own, in any encoding of the terminal."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    print_text(json.dumps(document, ensure_ascii=encoding.lower() not in ("utf-8", "utf8")))


def print_facts(facts: Mapping[str, str]) -> None:
    """Print names and values, one a line, the values below each other."""
    width = max(len(name) for name in facts) + 2
    print_text("\n".join(f"{name:<{width}}{value}" for name, value in facts.items()))


def print_text(text: str) -> None:
    """Print text and a line end, at once. Raises BrokenPipeError when nobody reads on."""
    if sys.stdout is not None:
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()


def never_fail_on_a_character() -> None:
    """Show `?` for what the terminal's encoding does not have, instead of failing."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")


def counted(number: int, word: str) -> str:
    """Return a number and what it counts: `1 line`, `2,000 lines`."""
    return f"{number:,} {word}" if number == 1 else f"{number:,} {word}s"
