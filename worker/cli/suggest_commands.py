"""The option `vectail templates --suggest`; the work is in `suggest_masks`."""

from typing import Annotated

import typer

from worker.cli.options import Shared

SuggestOption = Annotated[
    str | None,
    typer.Option(
        help="Instead: print masks that would merge templates of this file (`-`: standard input) or topic. Needs no index and no worker.",
        metavar="FILE|TOPIC",
    ),
]


def print_suggestions(shared: Shared, source: str, *, top: int) -> None:
    """Print at most `top` suggested masks for a file or a topic. Raises CommandFailed."""
    from worker.cli.suggest_masks import SuggestOptions, suggest_masks
    from worker.cli.suggest_screen import shown_suggestions

    shared.print(suggest_masks(shared.settings(), SuggestOptions(source=source, top=top)), shown_suggestions)
