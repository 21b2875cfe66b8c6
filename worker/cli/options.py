"""Options that several verbs share, how their values are read, and the settings that result from file, environment and options."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, fields
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_type_hints

import typer
from typer.core import TyperGroup

from worker.cli.exits import user_error
from worker.cli.output import print_json, print_text

if TYPE_CHECKING:
    from worker.cli.screen import Screen
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

Document = TypeVar("Document", bound=Mapping[str, object])
Flags = dict[str, object]
"""Options that override a setting: table, key, value."""

_VERB_ORDER = (
    *(
        "demo",
        "run",
        "serve",
        "peek",
        "feed",
        "search",
        "lag",
        "offsets",
        "dlq",
        "verify",
        "compact",
        "reindex",
        "templates",
        "counts",
        "masks",
        "doctor",
    ),
    *("estimate", "mcp", "topics", "config", "model", "version"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """The options that nearly every verb has."""

    config: Path | None
    bootstrap_servers: str | None = None
    as_json: bool

    def settings(self, flags: Flags | None = None) -> "Settings":
        """Load the settings. Raises CommandFailed."""
        return settings_or_fail(self.config, (flags or {}) | kafka_flags(self.bootstrap_servers))

    def screen(self) -> "Screen":
        """Return a screen, which is silent with `--json`."""
        from worker.cli.screen import Screen

        return Screen(silent=self.as_json)

    def show(self, document: Document, show: Callable[["Screen", Document], object] | None = None) -> None:
        """Print a document with `--json`; else show it on a screen, unless the verb did so itself."""
        if self.as_json:
            print_json(document)
        elif show is not None:
            show(self.screen(), document)

    def print(self, document: Document, text_of: Callable[[Document], str]) -> None:
        """Print a document with `--json`, else its text."""
        print_json(document) if self.as_json else print_text(text_of(document))


def takes_shared(*, kafka: bool = True) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a verb the shared options in place of its parameter `shared`; `kafka`: with `--bootstrap-servers`."""
    options: dict[str, tuple[object, object]] = {"bootstrap_servers": (BootstrapOption, None)} if kafka else {}
    options |= {"config": (ConfigOption, None), "as_json": (JsonOption, False)}
    return lambda verb: with_options(verb, "shared", options, Shared)


def takes_options(verb: Callable[..., None]) -> Callable[..., None]:
    """Give a verb the options that the fields of its parameter `options`, a dataclass, declare."""
    declares = get_type_hints(verb)["options"]
    annotations = get_type_hints(declares, include_extras=True)
    return with_options(verb, "options", {one.name: (annotations[one.name], _default(one)) for one in fields(declares)}, declares)


def _default(of: "Field[object]") -> object:
    return inspect.Parameter.empty if of.default is MISSING else of.default


def with_options(
    verb: Callable[..., None], name: str, options: Mapping[str, tuple[object, object]], read: Callable[..., object]
) -> Callable[..., None]:
    """Return the verb with options (annotation and default, by name) in place of one parameter, which gets what `read` makes of them."""

    @wraps(verb)
    def called(**words: object) -> None:
        given = {option: words.pop(option) for option in options}
        verb(**words, **{name: read(**given)})

    ours = [
        inspect.Parameter(option, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
        for option, (annotation, default) in options.items()
    ]
    own = inspect.signature(verb).parameters.values()
    parameters = [one for parameter in own for one in (ours if parameter.name == name else [parameter])]
    called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    called.__annotations__ = {one.name: one.annotation for one in parameters}
    return called


class OrderedVerbs(TyperGroup):
    """Lists the verbs in the order in which a newcomer needs them; a verb that is missing from the order comes first."""

    def list_commands(self, ctx: object) -> list[str]:
        """Return the names of the verbs, in order."""
        del ctx
        return sorted(self.commands, key=lambda name: _VERB_ORDER.index(name) if name in _VERB_ORDER else -1)


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
