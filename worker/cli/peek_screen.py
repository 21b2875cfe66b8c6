"""What a person sees of `vectail peek`: each record with what came of it, then the totals. Fits 80 columns of a terminal."""

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from textwrap import wrap
from typing import Any

from worker.cli.screen import Screen
from worker.cli.screen_tables import StyledText
from worker.runtime.logs import printable
from worker.runtime.wording import counted, cut

_LABEL_WIDTH = 12
_SAID_BY = {"record": "", "line": " (from the line)", "kafka": " (Kafka's: the record has none that counts)"}


def show_peek(screen: Screen, told: Mapping[str, Any]) -> None:
    """Show the records and the totals."""
    if not told["records"]:
        screen.say(f"{told['topic']} holds no records." if told["source"] == "topic" else "There are no lines.")
        return
    for record in told["records"]:
        for parts in _shown_record(record, screen):
            screen.write(*parts)
        screen.say("")
    for sentence in _totals(told["summary"], told["masks"]):
        for line in wrap(sentence, screen.width):
            screen.say(line)


def _shown_record(record: Mapping[str, Any], screen: Screen) -> Iterator[Sequence[StyledText]]:
    where = f"{record['partition']}/{record['offset']}"
    form = record["format"] or "-"
    if record["outcome"] == "rejected":
        yield (where, "bold"), (f"  {form}  ", "dim"), (f"rejected: {printable(record['reason'])}", "red")
    elif record["outcome"] == "empty":
        yield (where, "bold"), (f"  {form}  ", "dim"), ("empty: dropped", "yellow")
    elif len(record["entries"]) > 1:
        yield (where, "bold"), (f"  {form}, {counted(len(record['entries']), 'entry').replace('entrys', 'entries')}", "dim")
    else:
        yield (where, "bold"), (f"  {form}", "dim")
    for note in record["notes"]:
        yield from _noted(note, screen.width)
    for entry in record["entries"]:
        yield from _shown_entry(entry, screen)


def _shown_entry(entry: Mapping[str, Any], screen: Screen) -> Iterator[Sequence[StyledText]]:
    room = max(screen.width - _LABEL_WIDTH - 2, 20)
    time = "none" if entry["time"] is None else f"{_shown_time(entry['time'])}{_SAID_BY[entry['time_from']]}"
    yield _labelled("time", time)
    yield _labelled("level", f"{printable(entry['level']) or '-'}    service  {printable(entry['service']) or '-'}")
    if entry["fields"]:
        named = (f"{name}={value}" for name, value in json.loads(entry["fields"]).items())
        yield _labelled("fields", cut(printable(" ".join(named)), room))
    yield _labelled("text", cut(screen.text(entry["text"]), room))
    if entry["trace"]:
        yield _labelled("trace", cut(screen.text(entry["trace"].lstrip("\n")), room))
    if entry["dropped_by"] is not None:
        yield _labelled("dropped", f"by the rule {entry['dropped_by']}", "yellow")
    for chunk in entry["chunks"]:
        yield _labelled("template", f"{cut(screen.text(chunk['template']), room - 14)}  {counted(chunk['tokens'], 'token')}", "cyan")
    for note in entry["notes"]:
        yield from _noted(note, screen.width)


def _noted(note: str, width: int) -> Iterator[Sequence[StyledText]]:
    for place, line in enumerate(wrap(note, max(width - _LABEL_WIDTH, 20))):
        yield _labelled("" if place else "note", line, "yellow")


def _labelled(label: str, text: str, style: str = "") -> Sequence[StyledText]:
    return (f"  {label:<{_LABEL_WIDTH - 2}}", "dim"), (text, style)


def _shown_time(time_ms: int) -> str:
    try:
        return datetime.fromtimestamp(time_ms / 1000, UTC).isoformat(sep=" ", timespec="milliseconds").replace("+00:00", "Z")
    except (OverflowError, ValueError, OSError):
        return str(time_ms)


def _totals(summary: Mapping[str, Any], masks: str) -> Iterator[str]:
    forms = ", ".join(f"{form} {records}" for form, records in summary["by_format"].items()) or "none"
    yield f"{counted(summary['records'], 'record')}: {forms}; empty {summary['empty']}, rejected {sum(summary['rejected'].values())}."
    entries = summary["entries"]
    if entries:
        yield (
            f"Of {entries} {'entry' if entries == 1 else 'entries'}: {summary['with_time']} say when they were logged, "
            f"{summary['with_level']} have a level, {summary['with_service']} a service, {summary['with_fields']} fields; "
            f"{counted(summary['templates'], 'template')} (masks {masks})."
        )
    if summary["with_service"] < entries:
        yield (
            "Where a service is missing: `topic.fields.service` names its field in JSON; "
            "in text it stands as `TIME LEVEL name: ` or as syslog's tag."
        )
    if summary["dropped"]:
        yield f"Rules drop {summary['dropped']} of them."
    if summary["joins_records"]:
        yield "Records of this topic are joined to events; here each is shown alone."
