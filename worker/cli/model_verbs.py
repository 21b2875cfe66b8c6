"""The verbs of `vectail model`, their options and their help; what they do is in `model` and `model_check`."""

from pathlib import Path
from typing import Annotated

import typer

from worker.cli.exits import problem
from worker.cli.given import model_flags, settings_or_fail
from worker.cli.options import PLAIN, AsJson, Cache, Config
from worker.cli.output import print_facts, print_json

model_app = typer.Typer(help="Prepare the embedding model, show what it is, or check it.", **PLAIN)


@model_app.command("prepare")
def model_prepare_verb(
    folder: Annotated[Path | None, typer.Argument(help="Folder of a Hugging Face model. None: all-MiniLM-L6-v2.", metavar="HF_DIR")] = None,
    *,
    cache: Cache = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Write the files that a model is loaded from.

    Once for each model; a start that does not find them does it by itself. Nothing is downloaded.
    """
    show_model(config, folder, cache, as_json=as_json)


@model_app.command("show")
def model_show_verb(*, cache: Cache = None, config: Config = None, as_json: AsJson = False) -> None:
    """Show the model that the settings name.

    Its size and limits, its embedding space, its files. A model that was never prepared is prepared first.
    """
    show_model(config, None, cache, as_json=as_json)


@model_app.command("check")
def model_check_verb(
    *,
    sample: Annotated[
        list[str] | None, typer.Option(metavar="FILE", help="Compare its lines, too; `-` for standard input. May be repeated.")
    ] = None,
    cache: Cache = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Prove that token ids and vectors are right.

    Ids equal those of the model's own tokenizer, on a built-in sample and on every line of your files, as it is and masked. The
    engine of the settings gives the vectors that were computed when the model was prepared.

    Exit codes: 0 all equal; 1 ids differ; 2 something must be changed first (a file, the settings, the model).
    """
    from worker.cli.model_check import check_model, shown_check, shown_difference

    facts = check_model(settings_or_fail(config, model_flags(None, cache)), sample or [])
    print_json(facts) if as_json else print_facts(shown_check(facts))
    if not facts["equal"]:
        raise problem(shown_difference(facts["difference"]))


def show_model(config: Path | None, folder: Path | None, cache: Path | None, *, as_json: bool) -> None:
    """Prepare a model, or find it prepared, and say what it is."""
    from worker.cli.model import model_facts, shown_model

    facts = model_facts(settings_or_fail(config, model_flags(folder, cache)))
    print_json(facts) if as_json else print_facts(shown_model(facts))
