"""Writes golden files of Python's loggers: logging, python-json-logger, structlog, loguru, ecs-logging, pygelf, logfmter.

Run it with python-json-logger 4.2.0, structlog 26.1.0, loguru 0.7.3, ecs-logging 2.3.0, pygelf 0.4.3, logfmter 0.0.12 and time-machine
installed: `TZ=UTC python tests/golden/make/python_loggers.py`. What is expected is written here from what is logged; nothing of it is taken
from a decoder.
"""

import io
import json
import logging
import sys
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from types import TracebackType
from typing import Any

import ecs_logging
import structlog
import time_machine
from logfmter import Logfmter
from loguru import logger as loguru_logger
from pygelf import GelfTcpHandler, GelfUdpHandler
from pythonjsonlogger.json import JsonFormatter

KAFKA_MS = 1_780_000_000_000
LOGGED_MS = 1_779_999_000_125
LOGGED_S = (LOGGED_MS + 0.5) / 1000
"""Half a millisecond more: time-machine loses a microsecond."""
FILE = "/srv/cart.py"
EXCEPTION = f'Traceback (most recent call last):\n  File "{FILE}", line 1, in <module>\nValueError: no such sku'

LOGGED: tuple[tuple[int, str, dict[str, Any], bool], ...] = (
    (logging.INFO, "added 3 of sku-77", {}, False),
    (logging.WARNING, "stock is low: é 語 🛒", {"sku": "sku-77", "left": 2, "urgent": True}, False),
    (logging.ERROR, "could not add", {"sku": "sku-78"}, True),
    (logging.DEBUG, "a query:\nselect *\n  from carts", {"ratio": 0.125}, False),
    (logging.CRITICAL, "out of memory", {}, False),
)
"""What each producer logs: level, message, extra fields, and whether there is an exception."""
LEVELS = {logging.DEBUG: "DEBUG", logging.INFO: "INFO", logging.WARNING: "WARN", logging.ERROR: "ERROR", logging.CRITICAL: "FATAL"}
Logged = tuple[int, str, dict[str, Any], bool]


def entry(
    text: str, level: int, fields: Mapping[str, Any], *, trace: str | None = None, service: str = "", time_ms: int = LOGGED_MS
) -> dict[str, Any]:  # fmt: skip
    """Return an expected entry."""
    return {"text": text, "time_ms": time_ms, "level": LEVELS[level], "service": service, "fields": dict(fields), "trace": trace}


def original(level: int, written: str | int | None = None) -> dict[str, Any]:
    """Return the field for what was written where it is not the level's own name."""
    if written is None:
        written = logging.getLevelName(level)
    return {} if isinstance(written, str) and written.upper() == LEVELS[level] else {"level.original": written}


def raised() -> tuple[type[BaseException], BaseException, TracebackType | None]:
    """Return an exception with a stack trace that has no path of this machine."""
    try:
        exec(compile('raise ValueError("no such sku")', FILE, "exec"), {})  # noqa: S102 - as the docstring says
    except ValueError as error:
        return type(error), error, error.__traceback__ and error.__traceback__.tb_next
    raise AssertionError


def record(logged: Logged) -> logging.LogRecord:
    """Return what a logger would make of a call."""
    level, message, extra, has_exception = logged
    made = logging.LogRecord("shop.cart", level, FILE, 42, message, (), raised() if has_exception else None, "add")
    made.__dict__.update(extra)
    return made


def of_logging() -> Iterator[tuple[str, dict[str, Any]]]:
    """Lines of text, an exception behind its line."""
    formatter = logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s")
    for one in LOGGED:
        level, message, _, has_exception = one
        line = f"2026-05-28 20:10:00,125 {logging.getLevelName(level)} shop.cart: {message}"
        yield formatter.format(record(one)), entry(f"{line}\n{EXCEPTION}" if has_exception else line, level, {})


def of_python_json_logger() -> Iterator[tuple[str, dict[str, Any]]]:
    """Return python-json-logger's records."""
    formatter = JsonFormatter("%(asctime)s %(levelname)s %(name)s %(message)s")
    for one in LOGGED:
        level, message, extra, has_exception = one
        trace = "\n" + EXCEPTION if has_exception else None
        yield formatter.format(record(one)), entry(message, level, {"logger": "shop.cart", **original(level), **extra}, trace=trace)


def of_structlog() -> Iterator[tuple[str, dict[str, Any]]]:
    """Return structlog's records, with a trace id that is bound to the logger."""
    trace_id = "0af7651916cd43dd8448eb211c80319c"
    stamps = (structlog.processors.add_log_level, structlog.processors.TimeStamper(fmt="iso"), structlog.processors.format_exc_info)
    structlog.configure(processors=[*stamps, structlog.processors.JSONRenderer()], logger_factory=structlog.ReturnLoggerFactory())
    log = structlog.get_logger().bind(service="cart", trace_id=trace_id)
    for level, message, extra, has_exception in LOGGED:
        name = logging.getLevelName(level).lower()
        line = getattr(log, name)(message, **extra, **({"exc_info": raised()} if has_exception else {}))
        trace = "\n" + EXCEPTION if has_exception else None
        yield line, entry(message, level, {"trace_id": trace_id, **original(level, name), **extra}, trace=trace, service="cart")


def of_loguru() -> Iterator[tuple[str, dict[str, Any]]]:
    """Return loguru's records by `serialize=True`: the line as it would be shown, and what it is made of."""
    out = io.StringIO()
    loguru_logger.remove()
    loguru_logger.add(out, serialize=True, level=0, diagnose=False, backtrace=False)
    for level, message, extra, has_exception in LOGGED:
        out.seek(0)
        out.truncate()
        name = logging.getLevelName(level)
        code = compile(f"log.bind(**extra).opt(exception=error).log({name!r}, message)", FILE, "exec")
        error = raised() if has_exception else None
        exec(code, {"log": loguru_logger, "message": message, "extra": extra, "error": error, "__name__": "cart"})  # noqa: S102 - no paths
        made = json.loads(out.getvalue())["record"]
        line = f"2026-05-28 20:10:00.125 | {name:<8} | cart:<module>:1 - {message}"
        kept = {f"record.{key}": made[key] for key in ("function", "line", "message", "module", "name")}
        others = {**{f"elapsed.{key}": value for key, value in made["elapsed"].items()}, **{f"extra.{k}": v for k, v in extra.items()}}
        others |= {"file.name": "cart.py", "file.path": FILE, "level.icon": made["level"]["icon"], "level.no": level}
        others |= {"process.id": made["process"]["id"], "process.name": "MainProcess", "thread.id": made["thread"]["id"]}
        others |= {"thread.name": "MainThread", "time.repr": made["time"]["repr"]}
        if has_exception:
            others |= {"exception.type": "ValueError", "exception.value": "no such sku", "exception.traceback": True}
            line += f"\n{EXCEPTION}"
        kept |= {f"record.{key}": value for key, value in sorted(others.items())[:11]}
        yield out.getvalue(), entry(line, level, {**original(level), **kept})


def of_ecs_logging() -> Iterator[tuple[str, dict[str, Any]]]:
    """Return ecs-logging's records."""
    formatter = ecs_logging.StdlibFormatter(extra={"service.name": "cart", "host.name": "web-1"})
    for one in LOGGED:
        level, message, extra, has_exception = one
        made = record(one)
        fields = {
            "host.name": "web-1",
            "logger": "shop.cart",
            **original(level, logging.getLevelName(level).lower()),
            **extra,
            "ecs.version": "1.6.0",
        }
        fields |= {"log.original": message, "log.origin.file.line": 42, "log.origin.file.name": "cart.py", "log.origin.function": "add"}
        fields |= {"process.name": "MainProcess", "process.pid": made.process, "process.thread.id": made.thread}
        fields |= {"process.thread.name": "MainThread"}
        if has_exception:
            fields |= {"error.type": "ValueError", "error.message": "no such sku"}
        trace = f'\n  File "{FILE}", line 1, in <module>\n' if has_exception else None
        yield formatter.format(made), entry(message, level, fields, trace=trace, service="cart")


def of_pygelf() -> Iterator[tuple[bytes, dict[str, Any]]]:
    """Return GELF as pygelf sends it: compressed over UDP, ended by NUL over TCP."""
    syslog = {logging.CRITICAL: 2, logging.ERROR: 3, logging.WARNING: 4, logging.INFO: 6, logging.DEBUG: 7}
    udp = GelfUdpHandler(host="127.0.0.1", port=1, include_extra_fields=True, _service="cart")
    tcp = GelfTcpHandler(host="127.0.0.1", port=1, include_extra_fields=True, _service="cart")
    for handler in (udp, tcp):
        handler.domain = "web-1"
        for one in LOGGED:
            level, message, extra, has_exception = one
            fields = {"host.name": "web-1", "level.original": syslog[level], **extra, "version": "1.1"}
            trace = "\n" + EXCEPTION.replace("\n", "\n\n") if has_exception else None
            yield handler.convert_record_to_gelf(record(one)), entry(message, level, fields, trace=trace, service="cart")


def of_logfmter() -> Iterator[tuple[str, dict[str, Any]]]:
    """Return logfmter's lines."""
    formatter = Logfmter(keys=["level", "time", "logger"], mapping={"level": "levelname", "time": "asctime", "logger": "name"})
    for one in LOGGED:
        level, message, extra, has_exception = one
        written = {key: value if isinstance(value, str) else json.dumps(value) for key, value in extra.items()}
        fields = {"logger": "shop.cart", **original(level), **written}
        trace = "\n" + EXCEPTION if has_exception else None
        yield formatter.format(record(one)), entry(message, level, fields, trace=trace)


FILES: Mapping[str, tuple[str, str, Callable[[], Iterator[tuple[str | bytes, dict[str, Any]]]]]] = {
    "python_logging": (f"logging of Python {sys.version_info.major}.{sys.version_info.minor}", "auto", of_logging),
    "python_json_logger": (f"python-json-logger {version('python-json-logger')}", "auto", of_python_json_logger),
    "structlog": (f"structlog {version('structlog')}", "auto", of_structlog),
    "loguru": (f"loguru {version('loguru')}", "auto", of_loguru),
    "ecs_logging": (f"ecs-logging {version('ecs-logging')}", "auto", of_ecs_logging),
    "pygelf": (f"pygelf {version('pygelf')}", "auto", of_pygelf),
    "logfmter": (f"logfmter {version('logfmter')}", "logfmt", of_logfmter),
}


def main() -> None:
    """Write the files."""
    for name, (producer, form, records) in FILES.items():
        lines: list[dict[str, Any]] = [
            {"producer": producer, "made_by": "tests/golden/make/python_loggers.py", "written_from_documentation": False}
        ]
        with time_machine.travel(LOGGED_S, tick=False):
            for value, expected in records():
                raw = value if isinstance(value, bytes) else value.encode()
                lines.append(
                    {
                        "value_base64": b64encode(raw).decode(),
                        "headers": [],
                        "kafka_ms": KAFKA_MS,
                        "format": form,
                        "expected": [expected],
                    }
                )
                if "-v" in sys.argv:
                    sys.stdout.write(f"{raw!r}\n")
        Path(__file__).parents[1].joinpath(f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


if __name__ == "__main__":
    main()
