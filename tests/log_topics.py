"""The log topics of a test's settings, which are `[[topic]]` tables."""

import json
from typing import Any

from worker.settings.topic_tables import TopicTable


def log_topics(*names: str, **settings: Any) -> tuple[TopicTable, ...]:  # noqa: ANN401 - whatever a table holds
    """Return a table for each name, all with the same settings."""
    return tuple(TopicTable(name=name, **settings) for name in names)


def topic_line(*names: str) -> str:
    """Return the tables as one line that begins a settings file; it must stand before the first `[table]`."""
    return f"topic = [{', '.join(f'{{ name = {json.dumps(name)} }}' for name in names)}]\n"
