"""`vectail masks`: options and help; the work is in `masks_list` and `masks_diff`."""

from typing import Annotated

import typer

from worker.cli.options import TYPER_SETTINGS, JsonOption, Shared, takes_options, takes_shared
from worker.cli.output import print_json
from worker.cli.verb_options import DiffOptions

masks_app = typer.Typer(help="Show the masks, or what a change of masks does.", **TYPER_SETTINGS)


@masks_app.command("list")
@takes_shared(kafka=False)
def masks_list_verb(
    *,
    topic: Annotated[str | None, typer.Option(help="The masks of this topic. Default: those of `[mask]`.", metavar="NAME")] = None,
    shared: Shared,
) -> None:
    """List the masks, and which of them are on.

    The built-in masks with what each takes out and an example, and your own.
    """
    from worker.cli.masks_list import list_masks
    from worker.cli.masks_screen import show_masks

    shared.show(list_masks(shared.settings(), topic), show_masks)


@masks_app.command("diff")
@takes_options
def masks_diff_verb(*, options: DiffOptions, as_json: JsonOption = False) -> None:
    """Show which templates a change of masks merges and splits.

    Masks the lines of your files both ways; the largest come first. Nothing is sent or changed: lines that are indexed already keep
    their templates, and only new lines get new ones.

    Exit codes: 0 compared, whatever the difference; 2 something must be changed first (a settings file, a file).
    """
    from worker.cli.masks_diff import diff_masks

    facts = diff_masks(options)
    if as_json:
        print_json(facts)
        return
    from worker.cli.masks_screen import show_difference
    from worker.cli.screen import Screen

    show_difference(Screen(), facts)
