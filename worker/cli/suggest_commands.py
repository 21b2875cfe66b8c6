"""The option `vectail templates --suggest`; the work is in `suggest_masks`."""

from typing import TYPE_CHECKING, Annotated

import typer

from worker.cli.output import print_json, print_text

if TYPE_CHECKING:
    from worker.settings.settings import Settings

SuggestOption = Annotated[
    str | None,
    typer.Option(
        help="Instead: print masks that would merge templates of this file (`-`: standard input) or topic. Needs no index and no worker.",
        metavar="FILE|TOPIC",
    ),
]


def print_suggestions(settings: "Settings", source: str, *, top: int, as_json: bool) -> None:
    """Print at most `top` suggested masks for a file or a topic. Raises CommandFailed."""
    from worker.cli.suggest_masks import SuggestOptions, suggest_masks
    from worker.cli.suggest_screen import shown_suggestions

    facts = suggest_masks(settings, SuggestOptions(source=source, top=top))
    print_json(facts) if as_json else print_text(shown_suggestions(facts))
