"""`vectail reindex`: options and help; the work is in `reindex_verb`."""

from dataclasses import dataclass
from threading import Event
from typing import Annotated

import typer

from worker.cli.exits import failure, stop_on_signals, user_error
from worker.cli.options import TYPER_SETTINGS, Shared, takes_options, takes_shared

reindex_app = typer.Typer(**TYPER_SETTINGS)


@dataclass(frozen=True, kw_only=True)
class ReindexGiven:
    """What `vectail reindex` is to do: one of the first four."""

    to: Annotated[
        str | None,
        typer.Option(
            help="Change to this model: one of [[serve.model]], an installed or a prepared one; a folder is prepared first.",
            metavar="NAME|FOLDER",
        ),
    ] = None
    status: Annotated[bool, typer.Option("--status", help="Show the models that the index has, and how far a change is.")] = False
    rollback: Annotated[bool, typer.Option("--rollback", help="Ask the model before again.")] = False
    drop: Annotated[bool, typer.Option("--drop", help="Remove the vectors of the model that is not asked.")] = False
    accept: Annotated[
        list[str] | None,
        typer.Option(help="With --to: go on although complete, vectors or speed is not met; may be repeated.", metavar="CONDITION"),
    ] = None
    no_wait: Annotated[bool, typer.Option("--no-wait", help="With --to: return once it has begun; the worker goes on.")] = False


@reindex_app.command("reindex")
@takes_options
@takes_shared(kafka=False)
def reindex_verb(*, options: ReindexGiven, shared: Shared) -> None:
    """Change the model of an index while it runs.

    The worker of these settings embeds the templates again, not the lines, and answers from the old vectors until the new ones are
    complete and checked. Both are kept up to date until --drop, so that --rollback takes a second. It needs a running worker (`vectail
    run`). Ctrl-C ends only the waiting. docs/models.md says which model to choose, and what is checked.

    Exit codes: 0 done; 1 a condition is not met, the change failed, or no worker answers; 2 refused: something must be changed first.
    """
    wanted = [name for name in ("to", "status", "rollback", "drop") if getattr(options, name)]
    if len(wanted) != 1:
        raise user_error("give one of --to NAME|FOLDER, --status, --rollback and --drop")
    if wanted != ["to"] and (options.accept or options.no_wait):
        raise user_error(f"--{wanted[0]} takes neither --accept nor --no-wait: these are of --to")

    from worker.cli.reindex_screen import show_dropped, show_rolled_back, show_status
    from worker.cli.reindex_verb import change_told, take_step

    if wanted == ["to"]:
        _change_model(shared, options)
    elif options.status:
        shared.show(change_told(shared.settings()), show_status)
    elif options.rollback:
        shared.show(take_step(shared.settings(), "rollback"), show_rolled_back)
    else:
        shared.show(take_step(shared.settings(), "drop"), show_dropped)


def _change_model(shared: Shared, options: ReindexGiven) -> None:
    from worker.cli.reindex_screen import show_begun, show_changed
    from worker.cli.reindex_verb import begin_change, lines_for_settings, wait_for_change

    settings, screen, stop = shared.settings(), shared.screen(), Event()
    stop_on_signals(stop.set)
    begun = begin_change(settings, options.to or "", options.accept or ())
    show_begun(screen, begun.document, goes_on=options.no_wait)
    if options.no_wait:
        shared.show(begun.document)
        return
    told = wait_for_change(settings, begun, screen, stop)
    shared.show(told.document)
    if told.failure:
        raise failure(told.failure)
    show_changed(screen, told.document, lines_for_settings(settings, begun))
