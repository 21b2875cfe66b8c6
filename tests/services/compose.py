"""docker-compose.yml, read: the one place where the tags of images stand."""

from pathlib import Path
from typing import Any

import yaml

COMPOSE_FILE = Path(__file__).parents[2] / "docker-compose.yml"


def read_compose() -> dict[str, Any]:
    """Return the compose file as plain dicts and lists."""
    content: dict[str, Any] = yaml.safe_load(COMPOSE_FILE.read_text(encoding="utf-8"))
    return content


def image_of(service: str) -> str:
    """Return the pinned image of a service."""
    image: str = read_compose()["services"][service]["image"]
    return image
