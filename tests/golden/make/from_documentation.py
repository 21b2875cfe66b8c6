"""Writes golden files of producers that could not be run, after their documentation: Fluent Bit, Vector, Filebeat, Serilog, .NET's console.

Run it with msgspec installed: `python tests/golden/make/from_documentation.py`. The files say that they are written from documentation:
Fluent Bit's output plugin `kafka` (`format json` with its timestamp formats, and `msgpack`) behind the filter `kubernetes`; Vector's sink
`kafka` with the codec `json` behind the sources `file` and `kubernetes_logs`; Filebeat's output `kafka`; the formatter of
Serilog.Formatting.Compact, and its rendered one; Serilog's `JsonFormatter`, with rendered messages and without; the JSON formatter of
Microsoft.Extensions.Logging.Console.
"""

import json
from base64 import b64encode
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

KAFKA_MS = 1_780_000_000_000
LOGGED_MS = 1_779_999_000_125
ISO = "2026-05-28T20:10:00.125Z"
STACK = "java.lang.IllegalStateException: no such sku\n\tat shop.Cart.add(Cart.java:42)"
POD = {"k8s.pod.name": "cart-6d4cf56db6-7wvtq", "k8s.container.name": "cart", "k8s.namespace.name": "shop", "k8s.node.name": "node-1"}
LINES = (("added 3 of sku-77", ""), ("ERROR stock is low: é 語 🛒", "ERROR"), (f"ERROR could not add {STACK}", "ERROR"))
"""What a container writes, and the level that it says."""
Record = tuple[bytes, str, dict[str, Any]]


def entry(text: str, level: str, service: str, fields: Mapping[str, Any], trace: str | None = None) -> dict[str, Any]:
    """Return an expected entry."""
    return {"text": text, "time_ms": LOGGED_MS, "level": level, "service": service, "fields": dict(fields), "trace": trace}


def as_json(document: Mapping[str, Any]) -> bytes:
    """Return an object as a value."""
    return json.dumps(document, ensure_ascii=False).encode()


def of_fluent_bit() -> list[Record]:
    """Return Fluent Bit's records of containers' lines, whose text ends with a line feed; the last is an object of its own."""
    kubernetes = {
        "pod_name": POD["k8s.pod.name"],
        "namespace_name": "shop",
        "pod_id": "7d1f0f3c-7c4b-4b7e-a7c2-1f7f2a7a0d3b",
        "labels": {"app": "cart", "pod-template-hash": "6d4cf56db6"},
        "host": "node-1",
        "container_name": "cart",
        "docker_id": "3f1c",
        "container_image": "shop/cart:1.4",
    }
    kept = {
        **POD,
        "stream": "stdout",
        "kubernetes.pod_id": kubernetes["pod_id"],
        "kubernetes.docker_id": "3f1c",
        "kubernetes.container_image": "shop/cart:1.4",
        "kubernetes.labels.pod-template-hash": "6d4cf56db6",
    }
    records: list[Record] = []
    for text, level in LINES:
        body = {"stream": "stdout", "log": f"{text}\n", "kubernetes": kubernetes}
        for time in ({"@timestamp": LOGGED_MS / 1000}, {"@timestamp": "2026-05-28T20:10:00.125000Z"}, {"date": LOGGED_MS / 1000}):
            records.append((as_json({**time, **body}), "auto", entry(text, level, "cart", kept)))
        records.append((msgspec.msgpack.encode({"@timestamp": LOGGED_MS / 1000, **body}), "msgpack", entry(text, level, "cart", kept)))
    inner = json.dumps({"level": "warn", "msg": "stock is low", "time": ISO, "sku": "sku-77"})
    document = {"@timestamp": LOGGED_MS / 1000 + 1, "stream": "stdout", "log": f"{inner}\n", "kubernetes": kubernetes}
    records.append((as_json(document), "auto", entry("stock is low", "WARN", "cart", {**kept, "sku": "sku-77"})))
    return records


def of_vector() -> list[Record]:
    """Return Vector's events."""
    records: list[Record] = []
    kubernetes = {
        "container_name": "cart",
        "pod_labels": {"app": "cart"},
        "pod_name": POD["k8s.pod.name"],
        "pod_namespace": "shop",
        "pod_node_name": "node-1",
    }
    for text, level in LINES:
        time = {"timestamp": "2026-05-28T20:10:00.125000000Z"}
        file = {"file": "/var/log/cart.log", "host": "web-1", "message": text, "source_type": "file", **time}
        kept = {"host.name": "web-1", "file": "/var/log/cart.log", "source_type": "file"}
        records.append((as_json(file), "auto", entry(text, level, "", kept)))
        pod = {"kubernetes": kubernetes, "message": text, "source_type": "kubernetes_logs", "stream": "stderr", **time}
        kept = {**POD, "source_type": "kubernetes_logs", "stream": "stderr"}
        records.append((as_json(pod), "auto", entry(text, level, "cart", kept)))
    return records


def of_filebeat() -> list[Record]:
    """Return Filebeat's events; the last is one of a logger that writes ECS."""
    common: dict[str, Any] = {
        "@timestamp": ISO,
        "@metadata": {"beat": "filebeat", "type": "_doc", "version": "8.15.0"},
        "input": {"type": "filestream"},
        "agent": {"type": "filebeat", "version": "8.15.0", "name": "web-1"},
        "host": {"name": "web-1"},
        "ecs": {"version": "8.0.0"},
        "tags": ["shop"],
    }
    log = {"offset": 7, "file": {"path": "/var/log/cart.log"}}
    kept = {
        "host.name": "web-1",
        "@metadata.beat": "filebeat",
        "@metadata.type": "_doc",
        "@metadata.version": "8.15.0",
        "agent.name": "web-1",
        "agent.type": "filebeat",
        "agent.version": "8.15.0",
        "ecs.version": "8.0.0",
        "input.type": "filestream",
        "log.offset": 7,
        "log.file.path": "/var/log/cart.log",
    }
    # `host.name` is a service only where nothing else is: the last of the names that are looked at.
    records: list[Record] = [
        (as_json({**common, "log": log, "message": text}), "auto", entry(text, level, "web-1", kept)) for text, level in LINES
    ]
    logged = {
        **common,
        "message": "could not add",
        "log": {**log, "level": "ERROR", "logger": "shop.Cart"},
        "service": {"name": "cart"},
        "error": {"type": "java.lang.IllegalStateException", "message": "no such sku", "stack_trace": STACK},
    }
    more = {"logger": "shop.Cart", "error.type": "java.lang.IllegalStateException", "error.message": "no such sku"}
    records.append((as_json(logged), "auto", entry("could not add", "ERROR", "cart", {**kept, **more}, f"\n{STACK}")))
    return records


def of_serilog() -> list[Record]:
    """Return events of Serilog's compact formats: with templates, and rendered."""
    error = "System.InvalidOperationException: no such sku\n   at Shop.Cart.Add(String sku) in Cart.cs:line 42"
    said: tuple[tuple[str, str, dict[str, Any], str | None, str, str | None], ...] = (
        ("added {Count} of {Sku}", "added 3 of sku-77", {"Count": 3, "Sku": "sku-77"}, None, "INFO", None),
        ("stock is low: é 語 🛒 {Left}", "stock is low: é 語 🛒 2", {"Left": 2}, "Warning", "WARN", None),
        ("could not add {Sku}", "could not add sku-78", {"Sku": "sku-78"}, "Error", "ERROR", error),
        ("of no use", "of no use", {}, "Verbose", "TRACE", None),
        ("out of memory", "out of memory", {}, "Fatal", "FATAL", None),
    )
    records: list[Record] = []
    for template, text, properties, written, level, exception in said:
        more = {
            **({"@l": written} if written else {}),
            **({"@x": exception} if exception else {}),
            **properties,
            "SourceContext": "Shop.Cart",
        }
        kept = {**properties, "logger": "Shop.Cart"}
        if written and written.upper() != level:
            kept["level.original"] = written
        trace = exception and f"\n{exception}"
        time = {"@t": "2026-05-28T20:10:00.1250000Z"}
        expected = {**entry(text, level, "", kept, trace), "template": f"Shop.Cart: {template}"}
        records.append((as_json({**time, "@mt": template, **more}), "auto", expected))
        rendered = {**time, "@m": text, "@i": "5a2b7c1d", **more}
        records.append((as_json(rendered), "auto", entry(text, level, "", {**kept, "@i": "5a2b7c1d"}, trace)))
    return records


def of_serilog_json() -> list[Record]:
    """Return events of Serilog's `JsonFormatter`, each without and with a rendered message."""
    exception = "System.InvalidOperationException: no such sku\n   at Shop.Cart.Add(String sku) in Cart.cs:line 42"
    records: list[Record] = []
    for template, text, properties, written, level, error in (
        ("added {Count} of {Sku}", "added 3 of sku-77", {"Count": 3, "Sku": "sku-77"}, "Information", "INFO", None),
        ("could not add {Sku}", "could not add sku-78", {"Sku": "sku-78"}, "Error", "ERROR", exception),
    ):
        said = {**properties, "SourceContext": "Shop.Cart"}
        event = {"Timestamp": "2026-05-28T20:10:00.1250000+00:00", "Level": written, "MessageTemplate": template}
        more = {**({"Exception": error} if error else {}), "Properties": said}
        kept = {**{f"Properties.{name}": value for name, value in properties.items()}, "logger": "Shop.Cart"}
        if written.upper() != level:
            kept["level.original"] = written
        for rendered in ({}, {"RenderedMessage": text}):
            fields = {**kept, "MessageTemplate": template} if rendered else kept
            expected = {**entry(text, level, "", fields, error and f"\n{error}"), "template": f"Shop.Cart: {template}"}
            records.append((as_json({**event, **rendered, **more}), "auto", expected))
    return records


def of_dotnet_console() -> list[Record]:
    """Return what .NET's JSON console writes: with values, without, and through a wrapper whose template says nothing."""
    records: list[Record] = []
    for template, text, values, written, level in (
        ("added {Count} of {Sku}", "added 3 of sku-77", {"Count": 3, "Sku": "sku-77"}, "Information", "INFO"),
        ("out of memory", "out of memory", {}, "Critical", "FATAL"),
        ("{Message}", "stock is low", {"Message": "stock is low"}, "Warning", "WARN"),
    ):
        state = {"Message": text, **values, "{OriginalFormat}": template}
        event = {"Timestamp": ISO, "EventId": 14, "LogLevel": written, "Category": "Shop.Cart", "Message": text}
        kept = {"EventId": 14, "Category": "Shop.Cart", **{f"State.{name}": value for name, value in state.items()}}
        expected = entry(text, level, "", {**kept, "level.original": written})
        if template != "{Message}":
            expected["template"] = f"Shop.Cart: {template}"
        records.append((as_json({**event, "State": state}), "auto", expected))
    return records


def main() -> None:
    """Write the files."""
    for name, producer, records in (
        ("fluent_bit", "Fluent Bit 3, output kafka", of_fluent_bit()),
        ("vector", "Vector, sink kafka", of_vector()),
        ("filebeat", "Filebeat 8, output kafka", of_filebeat()),
        ("serilog", "Serilog.Formatting.Compact", of_serilog()),
        ("serilog_json", "Serilog, JsonFormatter", of_serilog_json()),
        ("dotnet_console", ".NET 8, JSON console", of_dotnet_console()),
    ):
        head = {"producer": producer, "made_by": "tests/golden/make/from_documentation.py", "written_from_documentation": True}
        lines = [
            {"value_base64": b64encode(value).decode(), "headers": [], "kafka_ms": KAFKA_MS, "format": form, "expected": [expected]}
            for value, form, expected in records
        ]
        Path(__file__).parents[1].joinpath(f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in (head, *lines)))


if __name__ == "__main__":
    main()
