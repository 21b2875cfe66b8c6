"""`vectail masks`: options and help; the work is in `masks_list` and `masks_diff`."""

from dataclasses import dataclass
from typing import Annotated

import typer

from worker.cli.options import TYPER_SETTINGS, JsonOption, Shared, takes_options, takes_shared
from worker.cli.output import print_json

masks_app = typer.Typer(help="Show the masks, or what a change of masks does.", **TYPER_SETTINGS)

TopicOption = Annotated[str | None, typer.Option(help="The topic whose settings hold. Default: the first of the settings.", metavar="NAME")]
_SETS = "a settings file, `default` (the built-in masks), or `2` (those of version 2)"


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


@dataclass(frozen=True, kw_only=True)
class DiffOptions:
    """The options of `vectail masks diff`."""

    old: Annotated[str, typer.Argument(help=f"The masks of now: {_SETS}.", metavar="OLD")]
    new: Annotated[str, typer.Argument(help="The masks to come, given likewise.", metavar="NEW")]
    files: Annotated[list[str], typer.Argument(help="Log files, `-` for standard input.", metavar="FILE")]
    sample: Annotated[int, typer.Option(help="Read about this many lines, spread over the files.", min=1, max=5_000_000, metavar="N")] = (
        200_000
    )
    k: Annotated[int, typer.Option("-k", help="Show this many merged templates, and as many split ones.", min=1, max=1000, metavar="N")] = (
        10
    )
    topic: TopicOption = None


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
