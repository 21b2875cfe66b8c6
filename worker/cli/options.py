"""Options that several verbs share, how their values are read, and the settings that result from file, environment and options."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from worker.cli.exits import user_error

if TYPE_CHECKING:
    from worker.settings.settings import Settings

TYPER_SETTINGS: dict[str, Any] = {
    "rich_markup_mode": None,
    "no_args_is_help": True,
    "add_completion": False,
    "pretty_exceptions_enable": False,
}

ConfigOption = Annotated[
    Path | None,
    typer.Option(
        "--config",
        "-c",
        help="Settings file (TOML). Environment variables override it; options override both.",
        envvar="VECTAIL_CONFIG",
        metavar="FILE",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output, and nothing else.")]
BootstrapOption = Annotated[str | None, typer.Option(metavar="HOST:PORT", help="Address of Kafka; overrides kafka.bootstrap_servers.")]

Flags = dict[str, Any]
"""Options that override a setting: table, key, value."""

_VERB_ORDER = (
    *("demo", "run", "peek", "feed", "search", "lag", "offsets", "dlq", "verify", "compact", "templates", "counts", "masks", "doctor"),
    *("estimate", "mcp", "topics", "config", "model", "version"),
)


class OrderedVerbs(TyperGroup):
    """Lists the verbs in the order in which a newcomer needs them; a verb that is missing from the order comes first."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ANN401 - typer brings its own click, untyped
        """Return the names of the verbs, in order."""
        return sorted(super().list_commands(ctx), key=lambda name: _VERB_ORDER.index(name) if name in _VERB_ORDER else -1)


def settings_or_fail(config: Path | None, flags: Flags | None = None) -> "Settings":
    """Load the settings. Raises CommandFailed (a user error) for anything that is wrong with them."""
    from worker.runtime.logs import redact_secrets
    from worker.settings.secrets import secrets_of
    from worker.settings.settings import SettingsError, load_settings

    try:
        settings = load_settings(config, flags)
    except SettingsError as error:
        raise user_error(error) from error
    redact_secrets(secrets_of(settings))
    return settings


def worker_settings_or_fail(config: Path | None, flags: Flags | None = None) -> "Settings":
    """Load the settings and also check the Redis address, which only a worker uses. Raises CommandFailed."""
    from worker.embedding.cache.redis_address import RedisMisconfigured, address_of

    settings = settings_or_fail(config, flags)
    try:
        if settings.redis.url:
            address_of(settings.redis)
    except RedisMisconfigured as error:
        raise user_error(error) from error
    return settings


def kafka_flags(bootstrap_servers: str | None) -> Flags:
    """Return the setting that `--bootstrap-servers` overrides."""
    return {"kafka": {} if bootstrap_servers is None else {"bootstrap_servers": bootstrap_servers}}
