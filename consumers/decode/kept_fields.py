"""Which fields of a structured entry are kept besides its text, time, level, service and trace, and under which names.

Every reader that walks a mapping calls it (JSON, OTLP, MessagePack, CloudEvents, Avro, logfmt). First the well-known fields under
OpenTelemetry's names, whatever the source calls them; then those that the settings name; then others, up to a bound, the least nested
first and then by name. So what is kept does not depend on the order in which a producer writes its fields.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from consumers.decode.json_text import LONGEST_SHORT, Scalar, write_flat
from consumers.decode.rules import DecodeRules

LONGEST_STRING: Final = LONGEST_SHORT
"""Characters; a longer string is left out, unless the settings name its field."""
LONGEST_NAMED_STRING = 1_024
"""Characters; what is beyond it of a field that the settings name is cut off."""
MOST_BYTES = 4_096
"""All kept fields of an entry as JSON; the field that exceeds it and those after it are left out."""
_LONGEST_NAME = 256
_LEAST_INT, _MOST_INT = -(1 << 63), (1 << 64) - 1

LEVEL_ORIGINAL: Final = "level.original"
"""What was written where it is not the level's own name; a reader passes it as a field of this name."""
HTTP_STATUS: Final = "http.response.status_code"

WELL_KNOWN: Final[Mapping[str, tuple[str, ...]]] = {
    "trace_id": (
        *("trace_id", "traceId", "TraceId", "trace.id", "traceid", "traceID", "otelTraceID", "otel.trace_id", "@tr", "mdc.trace_id"),
        *("mdc.traceId", "contextMap.trace_id", "contextMap.traceId", "context.trace_id", "logging.googleapis.com/trace"),
    ),
    "span_id": (
        *("span_id", "spanId", "SpanId", "span.id", "spanid", "spanID", "otelSpanID", "otel.span_id", "@sp", "mdc.span_id"),
        *("mdc.spanId", "contextMap.span_id", "contextMap.spanId", "context.span_id", "logging.googleapis.com/spanId"),
    ),
    "host.name": ("host.name", "host", "hostname", "host.hostname", "_HOSTNAME", "resource.host.name", "agent.hostname"),
    "k8s.pod.name": ("k8s.pod.name", "kubernetes.pod_name", "kubernetes.pod.name", "pod_name", "pod"),
    "k8s.container.name": (
        *("k8s.container.name", "kubernetes.container_name", "kubernetes.container.name", "container_name", "container.name"),
        "CONTAINER_NAME",
    ),
    "k8s.namespace.name": (
        *("k8s.namespace.name", "kubernetes.namespace_name", "kubernetes.namespace", "kubernetes.pod_namespace"),
        *("namespace_name", "namespace"),
    ),
    "k8s.node.name": ("k8s.node.name", "kubernetes.host", "kubernetes.node.name", "kubernetes.pod_node_name", "kubernetes.node_name"),
    "logger": (
        *("logger", "logger_name", "loggerName", "log.logger", "logger.name", "SourceContext", "scope.name"),
        "Properties.SourceContext",
    ),
    HTTP_STATUS: (
        *("http.response.status_code", "http.status_code", "status_code", "http_status", "httpRequest.status", "res.statusCode"),
        *("response_code", "response.status", "DownstreamStatus", "status"),
    ),
    LEVEL_ORIGINAL: (LEVEL_ORIGINAL,),
}
"""By the name that a field gets: the names that sources use, the first that an entry has counts; another one stays under its own name."""
ALIASES: Final = frozenset(alias for aliases in WELL_KNOWN.values() for alias in aliases)
FITS, STATUS = 1, 2
"""What is asked of the value of a field: whether it is short enough, and whether it is the status of an HTTP response."""
STATUS_NAMES: Final = frozenset(WELL_KNOWN[HTTP_STATUS])
_PRIVATE = re.compile("_[a-z]")


def kept_object(items: Mapping[str, object], rules: DecodeRules, used: Collection[str]) -> str | None:
    """Return the kept fields of an entry as a flat JSON object, or None if there are none.

    `items` may be nested; `used` are the dotted names of what became text, time, level, service or trace.
    """
    return kept_of_flat(flat_fields(items), rules, used)


def flat_fields(items: Mapping[str, object]) -> dict[str, Scalar]:
    """Return the strings that are not empty, numbers and booleans of nested objects under their dotted names.

    Of one name that is found twice, dotted and nested, the first counts. A single underscore before a name in lower case goes (GELF).
    """
    found: dict[str, Scalar] = {}
    stack: list[tuple[str, Iterator[tuple[str, object]]]] = [("", iter(items.items()))]
    while stack:
        prefix, pairs = stack[-1]
        for key, value in pairs:
            name = prefix + key if prefix else own_name(key) if key[:1] == "_" else key
            if type(value) is str:  # most are
                if value and name not in found and 0 < len(name) <= _LONGEST_NAME:
                    found[name] = value
            elif isinstance(value, dict):
                if len(name) < _LONGEST_NAME:
                    stack.append((f"{name}.", iter(value.items())))
                    break
            elif is_scalar(value) and 0 < len(name) <= _LONGEST_NAME:
                found.setdefault(name, value)  # type: ignore[arg-type]  # `is_scalar` says so
        else:
            stack.pop()
    return found


def own_name(key: str) -> str:
    """Return the name of a field by its key at the top of an entry."""
    return key[1:] if _PRIVATE.match(key) else key


def is_scalar(value: object) -> bool:
    """Whether a value can be kept: a string that is not empty, a finite number of 64 bits, a boolean."""
    if isinstance(value, str):
        return bool(value)
    if isinstance(value, float):
        return value - value == 0
    return isinstance(value, int) and _LEAST_INT <= value <= _MOST_INT


def kept_of_flat(flat: Mapping[str, Scalar], rules: DecodeRules, used: Collection[str]) -> str | None:
    """Do what `kept_object` does with fields that are already flat."""
    return kept_of_sources(flat, kept_sources({name: kept_flags(name, value) for name, value in flat.items()}, rules, used))


class KeptField(NamedTuple):
    """A field that is kept, and where it is found.

    Thread: any.
    """

    name: str
    """The name that it gets."""
    source: str
    is_named: bool
    """Whether the settings name it, so that it may be long."""

    def convert(self, value: Scalar) -> Scalar | None:
        """Return the value that it gets."""
        if self.name == HTTP_STATUS:
            return http_status(value)
        return value[:LONGEST_NAMED_STRING] if self.is_named and isinstance(value, str) else value


def kept_flags(name: str, value: Scalar) -> int:
    """Return what `kept_sources` must know of a value."""
    is_status = name in STATUS_NAMES and http_status(value) is not None
    return (FITS if fits(value) else 0) | (STATUS if is_status else 0)


def kept_sources(
    flags: Mapping[str, int], rules: DecodeRules, used: Collection[str], *, logger: str | None = None
) -> tuple[KeptField, ...]:  # fmt: skip
    """Return which fields are kept of an entry whose fields have these flags, in their order; `logger` may be named like no logger."""
    named = rules.names.keep
    kept: dict[str, KeptField] = {}
    taken = set(used)
    for name, aliases in WELL_KNOWN.items():
        for alias in (*aliases, logger) if logger and name == "logger" else aliases:
            if alias in flags and alias not in taken and (name != HTTP_STATUS or flags[alias] & STATUS):
                taken.add(alias)
                is_named = name in named or alias in named
                if is_named or flags[alias] & FITS:
                    kept[name] = KeptField(name, alias, is_named)
                break
    for name in named:
        if name in flags and name not in taken and name not in kept:
            taken.add(name)
            kept[name] = KeptField(name, name, is_named=True)
    others = (name for name, flag in flags.items() if flag & FITS and name not in taken and name not in kept)
    kept.update((name, KeptField(name, name, is_named=False)) for name in sorted(others, key=order_of_other)[: rules.max_other_fields])
    return tuple(kept.values())


def kept_of_sources(flat: Mapping[str, Scalar], sources: Iterable[KeptField]) -> str | None:
    """Return kept fields as a flat JSON object, or None if there are none; a source that `flat` has not is left out."""
    kept: dict[str, Scalar] = {}
    for field in sources:
        value = flat.get(field.source)
        if value is not None and (converted := field.convert(value)) is not None:
            kept[field.name] = converted
    return _written(kept) if kept else None


def order_of_other(name: str) -> tuple[int, str]:
    """Return by what fields that are not well-known are ordered: the least nested first, then by name."""
    return name.count("."), name


def fits(value: Scalar) -> bool:
    """Whether a value is short enough for a field that the settings do not name."""
    return not isinstance(value, str) or len(value) <= LONGEST_STRING


def http_status(value: Scalar) -> int | None:
    """Return the status of an HTTP response, from 100 to 599, that a field holds as number or text; None if it is none."""
    if isinstance(value, str) and len(value) == 3 and value.isascii() and value.isdigit():  # noqa: PLR2004 - three digits
        value = int(value)
    return value if type(value) is int and 100 <= value < 600 else None  # noqa: PLR2004 - what HTTP defines


def _written(kept: dict[str, Scalar]) -> str | None:
    try:
        written = write_flat(kept)
    except ValueError:  # a lone surrogate, which only formats other than JSON can hold
        kept = {_valid(name): _valid(value) if isinstance(value, str) else value for name, value in kept.items()}
        written = write_flat(kept)
    while len(written) > MOST_BYTES:
        kept.popitem()
        written = write_flat(kept)
    return written.decode() if kept else None


def _valid(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
