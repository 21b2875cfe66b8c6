"""Options that several verbs have, and what all groups of verbs have in common."""

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

PLAIN: dict[str, Any] = {"rich_markup_mode": None, "no_args_is_help": True, "add_completion": False, "pretty_exceptions_enable": False}

FILE_HELP = "Settings file (TOML). The environment stands over it, options over both."
Config = Annotated[Path | None, typer.Option("--config", "-c", help=FILE_HELP, envvar="VECTAIL_CONFIG", metavar="FILE")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output, and nothing else.")]
Bootstrap = Annotated[str | None, typer.Option(metavar="HOST:PORT", help="Address of Kafka; stands over kafka.bootstrap_servers.")]
Cache = Annotated[Path | None, typer.Option(metavar="DIR", help="Where prepared models are kept; stands over model.cache.")]
Hits = Annotated[int, typer.Option("-k", help="Hits for each question.", min=1, max=1000, metavar="N")]
Query = typer.Option("--query", "-q", help="Ask this once all is indexed; may be repeated.", metavar="TEXT")
Copies = typer.Option(help="Copies of each topic. Not given: the broker's default.", min=1, metavar="N")

_ORDER = (
    *("demo", "run", "feed", "search", "lag", "offsets", "dlq", "verify", "templates"),
    *("estimate", "topics", "config", "model", "version"),
)


class Verbs(TyperGroup):
    """Lists the verbs as a newcomer needs them, whatever file they are from; one that is not in the order would be the first.

    Thread: main.
    """

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ANN401 - typer brings its own click, untyped
        """Return the names, in order."""
        return sorted(super().list_commands(ctx), key=lambda name: _ORDER.index(name) if name in _ORDER else -1)
