"""Settings of earlier versions: where each is now, or why it went. A file or variable that still has one is refused with that line."""

from typing import Final

MOVED: Final = {
    "decode.format": "topic.format",
    "kafka.topics": "topic.name",
    "milvus.retention_days": "index.retention_days",
    "milvus.writers": "index.writers",
}
"""Old name → the setting that took its place."""

GONE: Final[dict[str, str]] = {}
"""Old name → what its user does now."""


def successor(name: str) -> str:
    """Return the end of the refusal of a former setting; empty if there never was one of this name."""
    if name in MOVED:
        return f": it is {MOVED[name]} now"
    return f": it is gone; {GONE[name]}" if name in GONE else ""
