"""Files that are a year old and older, through a whole service: what is asked by time is found by when it was logged."""

import json
import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from tests.worker.running import Ended, World, wait_until
from worker.service.shutdown import Ending

BERLIN = ZoneInfo("Europe/Berlin")
HOUR_MS = 3_600_000
STEP_MS = 15_000
EVENTS = 1_200
"""Of five hours."""
WINDOW_HOUR = 2
_SERVICES = ("checkout", "sshd", "web")
_LEVELS = {"INFO": 6, "WARN": 4, "ERROR": 3}
"""Names, and the severities of syslog."""


class Event(NamedTuple):
    """What a program logged."""

    number: int
    time_ms: int
    service: str
    level: str

    @property
    def text(self) -> str:
        """The message."""
        return f"order {self.number} was looked at"

    def local(self, zone: ZoneInfo) -> datetime:
        """What a clock on the wall showed."""
        return datetime.fromtimestamp(self.time_ms / 1000, UTC).astimezone(zone)


def events_from(first: datetime) -> list[Event]:
    """Return events of every service and level, a quarter of a minute apart."""
    first_ms = round(first.timestamp() * 1000)
    levels = tuple(_LEVELS)
    return [Event(n, first_ms + n * STEP_MS, _SERVICES[n % 3], levels[n // 3 % 3]) for n in range(EVENTS)]


def as_json(event: Event) -> str:
    time = datetime.fromtimestamp(event.time_ms / 1000, UTC).isoformat()
    return json.dumps({"time": time, "level": event.level.lower(), "service": event.service, "message": event.text})


def as_text(event: Event) -> str:
    return f"{event.local(BERLIN).isoformat()} web-1 {event.service}[77]: {event.level} {event.text}"


def as_rfc5424(event: Event) -> str:
    return f"<{8 + _LEVELS[event.level]}>1 {event.local(BERLIN).isoformat()} web-1 {event.service} 77 - - {event.text}"


def number_of(text: str) -> int:
    found = re.search(r"order (\d+) was", text)
    assert found is not None, text
    return int(found[1])


def hour_of(events: Sequence[Event]) -> dict[str, Any]:
    """Return the filters of one of its hours, one service, and errors; a line lies on either edge of the hour."""
    since_ms = events[0].time_ms + WINDOW_HOUR * HOUR_MS
    return {"since_ms": since_ms, "until_ms": since_ms + HOUR_MS, "service": ["sshd"], "level": ["ERROR"]}


def wanted(events: Sequence[Event], filters: dict[str, Any]) -> list[Event]:
    window = range(filters["since_ms"], filters["until_ms"])
    found = [one for one in events if one.time_ms in window and [one.service] == filters["service"] and [one.level] == filters["level"]]
    assert len(found) in range(EVENTS // 5 // 9, EVENTS // 5 // 9 + 2)
    return found


def wait_indexed(running: Ended, records: int) -> None:
    wait_until(lambda: running.service.pipeline.indexing.ledger.tally["indexed"] == records, f"{records} indexed records")


def test_an_hour_of_a_year_ago_one_service_and_its_errors_are_found_exactly(world: World) -> None:
    """The files come a year late: Kafka's time of every line is today's."""
    year_ago = datetime.now(UTC).replace(minute=0, second=0, microsecond=0) - timedelta(days=365)
    makers: tuple[Callable[[Event], str], ...] = (as_json, as_text, as_rfc5424)
    events = events_from(year_ago)
    for partition, make in enumerate(makers):
        world.send(map(make, events), partition=partition)
    running = world.start().opened()
    wait_indexed(running, len(makers) * EVENTS)
    filters = hour_of(events)
    (found,) = world.ask({"text": "order was looked at", "k": 1000, "per_template": 100, "filters": filters})
    counted, today = world.ask(
        {"as": "counts", "by": ["time", "level"], "filters": filters},
        {"as": "counts", "by": ["level"], "filters": {"since_ms": events[-1].time_ms + 1}},
    )
    assert running.stop() == Ending.DRAINED
    expected = wanted(events, filters)
    assert found["complete"]
    assert sorted((hit["partition"], number_of(hit["text"]), hit["time"], hit["service"], hit["level"]) for hit in found["hits"]) == [
        (partition, one.number, one.time_ms, "sshd", "ERROR") for partition in range(len(makers)) for one in expected
    ]
    assert all(hit["kafka_time"] > events[-1].time_ms for hit in found["hits"])
    assert sum(group["lines"] for group in counted["counts"]) == len(makers) * len(expected)
    assert today["counts"] == [], "no line counts as one of today"
