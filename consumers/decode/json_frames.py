"""Stack traces that are lists: of lines, of frames (log4j), or of exceptions with frames (structlog); as the text of their language."""

from collections.abc import Mapping, Sequence
from typing import Final

FRAME_NAMES: Final = (
    "exception", "thrown.extendedStackTrace", "thrown.stackTrace", "stack_trace", "stackTrace", "stacktrace", "error.stack_trace",
    "error.stack", "exception.stackTrace",
)  # fmt: skip
"""Where a list may be a stack trace."""
_MOST: Final = 2_000
"""Of lines, frames or exceptions: what follows is left out."""


def frames_of(document: Mapping[str, object]) -> dict[str, str]:
    """Return the stack traces of an object that are lists, by name, as texts."""
    found: dict[str, str] = {}
    for name in FRAME_NAMES:
        first, _, second = name.partition(".")
        value = document.get(name)
        owner = document.get(first)
        if value is None and second and isinstance(owner, dict):
            value = owner.get(second)
        if isinstance(value, list) and value and (text := _text_of(value[:_MOST])):
            head = _head_of(owner) if second and isinstance(owner, dict) else ""
            found[name] = head + text
    return found


def _text_of(parts: Sequence[object]) -> str:
    """Return a list as a text; "" if it is no stack trace."""
    if lines := [part for part in parts if isinstance(part, str)]:
        return "\n".join(lines) if len(lines) == len(parts) else ""
    texts = [_text_of_exception(part) if isinstance(part, dict) else "" for part in parts]
    return "" if "" in texts else "\n".join(texts)


def _text_of_exception(part: Mapping[str, object]) -> str:
    frames = part.get("frames")
    return _python_text(part, frames[:_MOST]) if isinstance(frames, list) else _java_frame(part)


def _head_of(thrown: Mapping[str, object]) -> str:
    """Return what log4j says beside the frames: class and message."""
    name, message = thrown.get("name"), thrown.get("message")
    if not isinstance(name, str):
        return ""
    return f"{name}: {message}\n" if isinstance(message, str) and message else f"{name}\n"


def _java_frame(frame: Mapping[str, object]) -> str:
    owner, method, file, line = (frame.get(name) for name in ("class", "method", "file", "line"))
    if not (isinstance(owner, str) and isinstance(method, str)):
        return ""
    place = file if isinstance(file, str) else "Unknown Source"
    if isinstance(file, str) and type(line) is int and line > 0:
        place = f"{file}:{line}"
    return f"\tat {owner}.{method}({place})"


def _python_text(one: Mapping[str, object], frames: Sequence[object]) -> str:
    kind, value = one.get("exc_type"), one.get("exc_value")
    if not isinstance(kind, str):
        return ""
    known = [frame for frame in frames if isinstance(frame, dict)]
    lines = [f'  File "{frame.get("filename")}", line {frame.get("lineno")}, in {frame.get("name")}' for frame in known]
    last = f"{kind}: {value}" if isinstance(value, str) and value else kind
    return "\n".join(["Traceback (most recent call last):", *lines, last])
