"""`vectail compact`: options and help; the work is in `compact`."""

from typing import Annotated

import typer

from worker.cli.exits import failure
from worker.cli.options import TYPER_SETTINGS, BootstrapOption, ConfigOption, JsonOption, kafka_flags, settings_or_fail
from worker.cli.output import counted, print_json

compact_app = typer.Typer(**TYPER_SETTINGS)


@compact_app.command("compact")
def compact_verb(
    *,
    patience: Annotated[float, typer.Option(help="Seconds to wait for Milvus.", min=0.1, max=3600, metavar="N")] = 60.0,
    bootstrap_servers: BootstrapOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Merge small blocks of the index that stopped workers left.

    Running workers do it themselves: the group must have no members, and a Milvus Lite folder must not be in use. Takes at least 20
    seconds if anything was merged: readers may still need the small blocks for so long.

    Exit codes: 0 done; 1 a block cannot be read, or Milvus does not answer; 2 something must be changed first (stop the workers, the
    settings, the index).
    """
    from worker.cli.compact import compact_index, show_compacted
    from worker.cli.screen import Screen

    screen = Screen(silent=as_json)
    result = compact_index(settings_or_fail(config, kafka_flags(bootstrap_servers)), screen, patience_s=patience)
    print_json(result) if as_json else show_compacted(screen, result)
    if result["damaged"]:
        raise failure(f"{counted(result['damaged'], 'merge')} left out: a block cannot be read; `vectail verify --repair` writes it again")
