"""Stack traces in texts, recognised by the shapes of their frames: a trace under any name, and one that follows a message in one text.

Each line is looked at once, by patterns that never go back over more than a bounded part of it.
"""

import re
from collections.abc import Iterable
from typing import Final

_LONGEST_LINE: Final = 2_048
"""Characters of a line that are looked at."""
_MOST_LINES: Final = 2_000
_MOST_HEAD: Final = 20
"""Lines of an exception's message, before its first frame."""
_SOURCE: Final = (
    "py|pyx|js|mjs|cjs|jsx|ts|tsx|mts|vue|svelte|go|rs|rb|erb|php|java|kt|kts|scala|groovy|clj|cs|fs|vb|c|cpp|cxx|h|hpp|m|mm|swift|ex|exs|"
    "erl|lua|dart|hs|jl|nim|zig|cr|html"
)
"""Ends of the names of source files: `kafka.local:9092` is no place in one."""
_PLACE: Final = rf"(?:[A-Z]:)?[^\s:()]{{1,400}}\.(?:{_SOURCE}):\d{{1,7}}"
_FRAME: Final = re.compile(
    "|".join(
        (
            r"[ \t]{1,40}at (?=[^\s(]{0,400}\.)[^\s()]{1,400}\([^()]{0,600}\)",  # Java and .NET
            r"[ \t]{1,40}at .{1,400} \([^()]{0,600}(?::\d{1,7}|<anonymous>|native)\)",  # Node
            rf"[ \t]{{1,40}}at (?:async )?(?:[a-z]{{1,20}}:[\w/]{{1,400}}:\d|(?:[a-z]{{1,20}}://)?{_PLACE})",  # Node, Rust: without a name
            r"[ \t]{1,40}\.\.\. \d{1,6} (?:more|common frames omitted)",  # Java
            r'[ \t+|]{1,40}File "[^"]{1,400}", line \d',  # Python
            r"[ \t+|]{0,40}(?:Exception Group )?Traceback \(most recent call last\):",
            rf"\t{_PLACE}(?: \+0x[0-9a-f]|$)",  # Go
            r"goroutine \d{1,12} \[",
            rf"(?:[ \t]{{1,40}}(?:from )?)?{_PLACE}:in [`'\"]",  # Ruby
            r"[ \t]{0,40}#\d{1,5} {1,8}(?:\{main\}|[^\s()]{1,400}\(\d{1,7}\): |[^\s()]{1,400} ?\([^()]{1,400}:\d)",  # PHP, Dart
            r"[ \t]{0,40}#\d{1,5} {1,8}0x[0-9a-f]{4,16} in ",  # gdb and sanitizers
            r"[ \t]{1,40}\([\w.\-]{1,100} [\w.+\-]{1,60}\) [^\s:()]{1,400}:\d{1,7}: ",  # Elixir
            r"[^\s@]{0,200}@[a-z\-]{1,20}://\S{1,400}:\d{1,7}:\d",  # Firefox, Safari
            r"\t[^\s:]{1,400}:\d{1,7}: in (?:function|main|upvalue|local|field|method)",  # Lua
            r"[ \t]{1,40}.{1,400} called at \S{1,400}(?: line |:)\d",  # Perl, Haskell
            r'(?:Called|Raised|Re-raised) (?:from|at) .{1,400} in file "',  # OCaml
            r"[ \t]{1,40}\d{1,5}: +(?:0x[0-9a-f]{4,16} - )?[\w<][\w:<>{}#$]{0,400}::",  # Rust
        )
    )
)
"""The beginning of a line that is a frame of a stack trace, or can be nothing else than part of one."""
_BEGINS: Final = re.compile(
    r"[ \t+|]{0,40}(?:Exception Group )?Traceback \(most recent call last\):|goroutine \d{1,12} \[|(?i:stack (?:back)?trace(?:back)?:)|"
    r"\[stacktrace\]|(?:Caused by: |Exception in thread \"[^\"]{0,200}\" )?(?:[\w$]{1,100}[.\\:/]{1,2}){0,20}"
    r"[\w$]{0,100}(?:Exception|Error|Throwable|Fault|Failure|Panic|Died)(?:\(\w{0,40}\))?(?: \[[^\]]{1,100}\])?(?:: |:?$)|"
    r"(?:[a-z_][\w$]{0,100}\.){1,20}[A-Z][\w$]{0,100}: "
)
"""The beginning of the first line of a trace: its heading, or the class of an exception."""
_GO_CALL: Final = re.compile(r"[\w./*()\-]{1,400}(?:\([^()]{0,400}\))?$")


def is_trace(text: str) -> bool:
    """Whether a text has a frame of a stack trace in it, and is more than a line."""
    return "\n" in text[:-1] and _first_frame(_lines_of(text)) >= 0


def have_lines(texts: Iterable[str | None]) -> bool:
    """Whether any of the texts may be more than a line."""
    known = list(filter(None, texts))
    joined = "".join(known)
    if "\n" not in joined or "\0" in joined:
        return "\n" in joined
    parted = "\0".join(known)
    return parted.count("\n") > parted.count("\n\0") + parted.endswith("\n")


def is_frame(line: str) -> bool:
    """Whether a line is a frame of a stack trace."""
    return bool(_FRAME.match(line[:_LONGEST_LINE]))


def split_trace(text: str) -> tuple[str, str] | None:
    """Return a message and the stack trace that follows it in one text; None if there is none, or nothing before it."""
    if "\n" not in text[:-1]:
        return None
    lines = _lines_of(text)
    first = _first_frame(lines)
    if first < 1:
        return None
    start = _start_of(lines, first)
    if start < 1:
        return None
    size = sum(len(line) + 1 for line in lines[:start])
    message = text[: size - 1].rstrip("\r\n \t")
    return (message, text[size:].rstrip("\r\n")) if message.strip() else None


def _lines_of(text: str) -> list[str]:
    return text.split("\n", _MOST_LINES)


def _first_frame(lines: list[str]) -> int:
    """Return the place of the first line that is a frame; -1 if there is none."""
    for place, line in enumerate(lines):
        if _FRAME.match(line[:_LONGEST_LINE].rstrip("\r")):
            return place
    return -1


def _start_of(lines: list[str], first: int) -> int:
    """Return where a trace begins whose first frame is given: at its heading or exception, if that is not the message itself."""
    if lines[first].startswith("\t") and not lines[first].startswith("\tat ") and _GO_CALL.match(lines[first - 1][:_LONGEST_LINE]):
        return first - 1  # Go writes a function and below it its place
    for place in range(first, max(first - _MOST_HEAD, 0), -1):
        if _BEGINS.match(lines[place][:_LONGEST_LINE].rstrip("\r")):
            return place
    return first
