"""`vectail model`: options and help; the work is in `model`, `model_check` and `model_list`."""

from pathlib import Path
from typing import Annotated

import typer

from worker.cli.exits import failure
from worker.cli.options import TYPER_SETTINGS, Flags, Shared, takes_shared
from worker.cli.output import facts_text

model_app = typer.Typer(help="Prepare, show, check, list and add embedding models.", **TYPER_SETTINGS)

CacheOption = Annotated[Path | None, typer.Option(metavar="DIR", help="Where prepared models are kept; overrides model.cache.")]


@model_app.command("prepare")
@takes_shared(kafka=False)
def model_prepare_verb(
    folder: Annotated[Path | None, typer.Argument(help="Folder of a Hugging Face model. Default: model.name.", metavar="HF_DIR")] = None,
    *,
    cache: CacheOption = None,
    shared: Shared,
) -> None:
    """Write the files that a model is loaded from.

    Needed once for each model; a worker that does not find them at its start writes them itself. Nothing is downloaded.
    """
    _show_model(shared, folder, cache)


@model_app.command("show")
@takes_shared(kafka=False)
def model_show_verb(*, cache: CacheOption = None, shared: Shared) -> None:
    """Show the model that the settings name.

    Its size and limits, its embedding space, its files. A model that was never prepared is prepared first.
    """
    _show_model(shared, None, cache)


@model_app.command("check")
@takes_shared(kafka=False)
def model_check_verb(
    *,
    sample: Annotated[
        list[str] | None, typer.Option(metavar="FILE", help="Also compare the lines of this file; `-` for standard input. May be repeated.")
    ] = None,
    cache: CacheOption = None,
    shared: Shared,
) -> None:
    """Prove that token ids and vectors are right.

    Compares token ids with those of the model's own tokenizer, on a built-in sample and on every line of your files, as it is and
    masked. Then compares the vectors of the configured engine with those computed when the model was prepared. Models of the embedding
    service (`[[serve.model]]`) are checked, too, on the sample.

    Exit codes: 0 all equal; 1 ids differ; 2 something must be changed first (a file, the settings, the model).
    """
    from worker.cli.model_check import check_model, shown_check, shown_difference

    facts = check_model(shared.settings(_model_flags(None, cache)), sample or [])
    shared.print(facts, lambda facts: facts_text(shown_check(facts)))
    for one in (facts, *facts["served"]):
        if not one["equal"]:
            raise failure(shown_difference(one["difference"]))


@model_app.command("ls")
@takes_shared(kafka=False)
def model_ls_verb(*, cache: CacheOption = None, shared: Shared) -> None:
    """List the models of the embedding service (`[[serve.model]]`).

    With the memory that each took when it was last loaded here. Nothing is prepared or loaded.
    """
    from worker.cli.model_list import list_models, show_models

    shared.show(list_models(shared.settings(_model_flags(None, cache))), show_models)


@model_app.command("add")
@takes_shared(kafka=False)
def model_add_verb(
    folder: Annotated[Path, typer.Argument(help="Folder of a Hugging Face model.", metavar="HF_DIR")],
    *,
    name: Annotated[str | None, typer.Option(help="What requests call it. Default: the name of its folder.", metavar="NAME")] = None,
    cache: CacheOption = None,
    shared: Shared,
) -> None:
    """Prepare a model to serve, and print its `[[serve.model]]` table.

    The settings file is not changed. Nothing is downloaded.
    """
    from worker.cli.model_list import add_model, shown_addition

    shared.print(add_model(shared.settings(), folder, name, cache), shown_addition)


def _show_model(shared: Shared, folder: Path | None, cache: Path | None) -> None:
    from worker.cli.model import model_facts, shown_model

    shared.print(model_facts(shared.settings(_model_flags(folder, cache))), lambda facts: facts_text(shown_model(facts)))


def _model_flags(folder: Path | None, cache: Path | None) -> Flags:
    given = {"folder": folder, "cache": cache}
    return {"model": {name: path for name, path in given.items() if path is not None}}
