"""Options that several verbs share, how their values are read, and the settings that result from file, environment and options."""

import re
from datetime import UTC, datetime
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
_AGO = re.compile(r"(\d+(?:\.\d+)?)([smhdw])")
_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_EARLIEST_MS = -(1 << 62)


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
        if settings.redis.url or settings.redis.sentinels:
            address_of(settings.redis)
    except RedisMisconfigured as error:
        raise user_error(error) from error
    return settings


def kafka_flags(bootstrap_servers: str | None) -> Flags:
    """Return the setting that `--bootstrap-servers` overrides."""
    return {"kafka": {} if bootstrap_servers is None else {"bootstrap_servers": bootstrap_servers}}


def since_ms(text: str, *, now_ms: int) -> int | None:
    """Return the first wanted millisecond since 1970, None for `all`.

    `text` is a span before now (`90s`, `15m`, `1h`, `7d`, `2w`), a date or time (UTC unless it says otherwise), or `all`. Raises
    CommandFailed for anything else.
    """
    return None if text == "all" else _moment_ms(text, now_ms, "--since", "a time such as 2026-01-31T12:00, or all")


def until_ms(text: str, *, now_ms: int) -> int:
    """Return the first millisecond since 1970 that is no longer wanted; reads what `since_ms` reads, except `all`."""
    return _moment_ms(text, now_ms, "--until", "or a time such as 2026-01-31T12:00")


def _moment_ms(text: str, now_ms: int, option: str, or_else: str) -> int:
    ago = _AGO.fullmatch(text.strip())
    if ago is not None:
        return max(now_ms - round(float(ago[1]) * _SECONDS[ago[2]] * 1000), _EARLIEST_MS)
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        raise user_error(f"{option} {text!r}: give a span such as 90s, 15m, 1h or 7d, {or_else}") from None
    return round((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)
