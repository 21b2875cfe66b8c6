"""What the user gave, file, environment and options together, as settings."""

from pathlib import Path
from typing import TYPE_CHECKING

from worker.cli.exits import must_change

if TYPE_CHECKING:
    from worker.settings.settings import Settings

Flags = dict[str, dict[str, object]]
"""Options that stand over a setting: table, key, value."""


def settings_or_fail(config: Path | None, flags: Flags | None = None) -> "Settings":
    """Load the settings; whatever is wrong with them is the user's to change. Raises CommandFailed."""
    from worker.runtime.logs import hide
    from worker.settings.secrets import secrets_of
    from worker.settings.settings import SettingsError, load_settings

    try:
        settings = load_settings(config, flags)
    except SettingsError as error:
        raise must_change(error) from error
    hide(secrets_of(settings))
    return settings


def worker_settings_or_fail(config: Path | None, flags: Flags | None = None) -> "Settings":
    """Load the settings of a worker, and check what only a worker uses: where its Redis is. Raises CommandFailed."""
    from worker.embedding.cache.redis_address import RedisMisconfigured, address_of

    settings = settings_or_fail(config, flags)
    try:
        if settings.redis.url or settings.redis.sentinels:
            address_of(settings.redis)
    except RedisMisconfigured as error:
        raise must_change(error) from error
    return settings


def kafka_flags(bootstrap_servers: str | None) -> Flags:
    """Return the flags of a verb that talks to Kafka."""
    return {"kafka": {} if bootstrap_servers is None else {"bootstrap_servers": bootstrap_servers}}


def model_flags(folder: Path | None, cache: Path | None) -> Flags:
    """Return the flags of a verb about the model."""
    given = {"folder": folder, "cache": cache}
    return {"model": {name: path for name, path in given.items() if path is not None}}
