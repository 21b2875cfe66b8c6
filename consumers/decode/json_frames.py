"""Stack traces that are lists or objects: of lines, of frames, of exceptions with their causes; as the text of their language.

Names of frames and of exceptions differ from logger to logger, what they are made of does not: a frame names a function and its place, an
exception a class, a message, its frames and what caused it. So it is the shape that is looked for, under any name.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from consumers.decode.json_traces import is_frame, is_trace

FRAME_NAMES: Final = (
    "exception", "thrown.extendedStackTrace", "thrown.stackTrace", "stack_trace", "stackTrace", "stacktrace", "error.stack_trace",
    "error.stack", "exception.stackTrace",
)  # fmt: skip
"""Where a list of any lines may be a stack trace."""
_MOST: Final = 2_000
"""Of lines, frames or exceptions: what follows is left out."""
_DEEPEST: Final = 6
"""Objects and lists within each other that are looked at."""
_CLASS: Final = (
    *("className", "exceptionType", "exc_type", "class", "class_name", "name", "type", "kind", "errorType", "ClassName", "Type", "Class"),
    *("exceptionClass", "_class", "Name", "Exception"),
)
_MESSAGE: Final = ("message", "exc_value", "value", "errorMessage", "Message", "ExceptionMessage", "msg", "detail")
_CAUSE: Final = (
    *("cause", "causedBy", "caused_by", "suppressed", "previous", "inner", "innerException", "inner_exception", "InnerException"),
    *("InnerExceptions", "exceptions", "errors", "aggregateErrors", "Cause", "exception"),
)
_SUPPRESSED: Final = {"suppressed": "Suppressed"}
_STACK: Final = (
    *("stack", "stack_trace", "stackTrace", "stacktrace", "StackTrace", "StackTraceString", "Stack", "trace", "traceback", "backtrace"),
    *("extendedStackTrace", "stepArray", "frames", "stack_frames", "Frames", "elements"),
)
_OWNER: Final = ("class", "className", "declaringClass", "module", "namespace", "package", "Class", "ClassName", "DeclaringType")
_METHOD: Final = ("method", "methodName", "func", "function", "functionName", "name", "symbol", "Method", "MethodName", "Function", "fn")
_FILE: Final = ("file", "fileName", "filename", "source", "abs_path", "path", "File", "FileName", "src", "url")
_LINE: Final = ("line", "lineNumber", "lineno", "line_number", "lineNo", "Line", "LineNumber", "no")


def frames_of(document: Mapping[str, object]) -> dict[str, str]:
    """Return the stack traces of an object that are lists or objects, by dotted name, as texts."""
    found: dict[str, str] = {}
    for name in FRAME_NAMES:
        first, _, second = name.partition(".")
        value = document.get(name)
        owner = document.get(first)
        if value is None and second and isinstance(owner, dict):
            value = owner.get(second)
        if isinstance(value, list) and value and (text := _text_of(value[:_MOST])):
            head = _head_of(owner) if second and isinstance(owner, dict) else ""
            causes = _causes_of(owner, 0) if second and isinstance(owner, dict) else ""
            found[name] = head + text + causes
    known = {name.partition(".")[0] for name in found}
    for name, value in document.items():
        if isinstance(value, dict | list) and name not in known:
            found.update(_within(name, value, 0))
    return found


def _within(name: str, value: object, depth: int) -> Iterator[tuple[str, str]]:
    """Yield the stack traces that a value is or holds."""
    if depth > _DEEPEST:
        return
    if isinstance(value, list):
        if value and isinstance(value[0], dict | str) and (text := _trace_of_list(value[:_MOST], depth)):
            yield name, text
    elif isinstance(value, dict):
        if text := _trace_of(value, depth):
            yield _name_of(name, value), text
            return
        for key, one in value.items():
            if isinstance(one, dict | list):
                yield from _within(f"{name}.{key}", one, depth + 1)


def _name_of(name: str, exception: Mapping[str, object]) -> str:
    """Return the name that the text of an exception gets: that of its stack, so that it takes the place of nothing else."""
    return next(f"{name}.{key}" for key in _STACK if exception.get(key) and isinstance(exception[key], str | list))


def _trace_of(exception: Mapping[str, object], depth: int) -> str:
    """Return the text of an exception with its causes; "" if it is none, or if its own text says it all."""
    stack = next((exception[key] for key in _STACK if isinstance(exception.get(key), str | list) and exception[key]), None)
    if isinstance(stack, list):
        lines = _trace_of_list(stack[:_MOST], depth)
        return _headed(exception, lines) + _causes_of(exception, depth) if lines else ""
    if not isinstance(stack, str) or not is_trace("\n" + stack):
        return ""
    causes = _causes_of(exception, depth)
    if not causes or causes.removeprefix("\nCaused by: ") in stack:
        return ""
    return _headed(exception, stack.rstrip("\r\n")) + causes


def _causes_of(exception: Mapping[str, object], depth: int) -> str:
    """Return what follows the frames of an exception: its causes, each with its frames."""
    parts = [(_SUPPRESSED.get(key, "Caused by"), part) for key in _CAUSE for part in _exceptions_in(exception.get(key), depth + 1)]
    return "".join(f"\n{label}: {part}" for label, part in parts[:_MOST])


def _exceptions_in(value: object, depth: int) -> list[str]:
    if depth > _DEEPEST:
        return []
    if isinstance(value, list):
        return [text for one in value[:_MOST] for text in _exceptions_in(one, depth + 1)]
    if not isinstance(value, dict):
        return []
    text = _trace_of(value, depth)
    if not text:
        within = _exceptions_in(value.get("exception"), depth + 1)
        stack = next((one for key in _STACK if isinstance(one := value.get(key), str) and one), "")
        text = within[0] if within else _headed(value, stack.rstrip("\r\n"))
    return [text] if text else []


def _headed(exception: Mapping[str, object], lines: str) -> str:
    """Return frames behind the class and the message of an exception, unless the lines begin with them."""
    name, message = _first_text(exception, _CLASS), _first_text(exception, _MESSAGE)
    head = ": ".join(part for part in (name, message) if part)
    first = lines.partition("\n")[0]
    is_headed = message in first and not first[:1].isspace() and not is_frame(first)
    if not head or (lines and is_headed) or "Traceback (most" in lines[:40]:
        return lines
    return f"{head}\n{lines}" if lines else head


def _trace_of_list(parts: Sequence[object], depth: int) -> str:
    """Return a list of frames or of exceptions as a text; "" if it is none."""
    if all(isinstance(part, str) for part in parts):
        return _lines_of([part for part in parts if isinstance(part, str)])
    known = [part for part in parts if isinstance(part, dict)]
    if not known or len(known) < len(parts):
        return ""
    frames = [_frame(part) for part in known]
    if all(frames):
        return "\n".join(frames)
    if depth > _DEEPEST:
        return ""
    texts = [_text_of_exception(part) or _trace_of(part, depth + 1) or _exception_around(part, depth) for part in known]
    return "\nCaused by: ".join(text for text in texts if text)


def _exception_around(part: Mapping[str, object], depth: int) -> str:
    """Return the text of an exception whose frames are within an object of their own (Sentry)."""
    for key in _STACK:
        inner = part.get(key)
        if isinstance(inner, dict) and (lines := _trace_of(inner, depth + 1)):
            return _headed(part, lines)
    return ""


def _lines_of(lines: Sequence[str]) -> str:
    """Return lines that are frames as a text: as they are where they look like frames, else behind `at`."""
    written = [line.rstrip("\r\n") for line in lines]
    if any(is_frame(line) or is_trace(line) for line in lines):
        return "\n".join(written)
    framed = [_framed(line) for line in written]
    return "\n".join(frame or line for frame, line in zip(framed, written, strict=True)) if any(framed) else ""


def _framed(line: str) -> str:
    """Return a line that names a function, a place or both as a frame; "" if it does not."""
    called, _, place = line.strip().partition(" ")
    several = (f"\tat {called}", f"\tat {called} ({place})") if place and " " not in place else (f"\tat {line.strip()}",)
    return next((frame for frame in several[::-1] if is_frame(frame)), "")


def _frame(part: Mapping[str, object]) -> str:
    """Return a frame in the form of Java, which all of them fit; "" if it names no function, or no place."""
    method, file, owner = _first_text(part, _METHOD), _first_text(part, _FILE), _first_text(part, _OWNER)
    line = next((str(value) for key in _LINE if type(value := part.get(key)) is int or (isinstance(value, str) and value.isdigit())), "")
    if not (method or owner) or not (file or owner) or not (line or (file and owner and "name" not in part)):
        return ""
    called = f"{owner}.{method}" if owner and method else owner or method
    place = f"{file}:{line}" if file and line else file or f"{owner.rpartition('.')[2]}:{line}"
    return f"\tat {called}({place})" if owner else f"\tat {called} ({place})"


def _first_text(part: Mapping[str, object], names: Sequence[str]) -> str:
    return next((value for name in names if isinstance(value := part.get(name), str) and value), "")


def _text_of(parts: Sequence[object]) -> str:
    """Return a list as a text; "" if it is no stack trace."""
    if lines := [part for part in parts if isinstance(part, str)]:
        return "\n".join(lines) if len(lines) == len(parts) else ""
    texts = [_text_of_exception(part) if isinstance(part, dict) else "" for part in parts]
    return "" if "" in texts else "\n".join(texts)


def _text_of_exception(part: Mapping[str, object], depth: int = 0) -> str:
    frames = part.get("frames")
    if not isinstance(frames, list):
        return _java_frame(part)
    text, group = _python_text(part, frames[:_MOST]), part.get("exceptions")
    if not text or not isinstance(group, list) or depth > _DEEPEST:
        return text
    several = [one for inner in group[:_MOST] for one in (inner[:_MOST] if isinstance(inner, list) else [inner])]
    within = [_text_of_exception(one, depth + 1) for one in several if isinstance(one, dict) and isinstance(one.get("frames"), list)]
    return "\n".join([text, *filter(None, within)])


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
