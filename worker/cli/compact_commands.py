"""`vectail compact`: options and help; the work is in `compact`."""

from typing import Annotated

import typer

from worker.cli.exits import failure
from worker.cli.options import TYPER_SETTINGS, Shared, takes_shared
from worker.runtime.wording import counted

compact_app = typer.Typer(**TYPER_SETTINGS)


@compact_app.command("compact")
@takes_shared()
def compact_verb(
    *,
    patience: Annotated[float, typer.Option(help="Seconds to wait for Milvus.", min=0.1, max=3600, metavar="N")] = 60.0,
    shared: Shared,
) -> None:
    """Merge small blocks of the index that stopped workers left.

    Running workers do it themselves: the group must have no members, and a Milvus Lite folder must not be in use. Takes at least 20
    seconds if anything was merged: readers may still need the small blocks for so long.

    Exit codes: 0 done; 1 a block cannot be read, or Milvus does not answer; 2 something must be changed first (stop the workers, the
    settings, the index).
    """
    from worker.cli.compact import compact_index, show_compacted

    result = compact_index(shared.settings(), shared.screen(), patience_s=patience)
    shared.show(result, show_compacted)
    if result["damaged"]:
        raise failure(f"{counted(result['damaged'], 'merge')} left out: a block cannot be read; `vectail verify --repair` writes it again")
