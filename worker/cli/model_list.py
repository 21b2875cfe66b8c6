"""`vectail model ls` and `add`: the models of the embedding service, as the settings have them and as they stand there."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from worker.cli import screen_tables as tables
from worker.cli.exits import user_error
from worker.cli.screen_tables import Column
from worker.embedding.loaded import space_of
from worker.embedding.model.errors import ModelError
from worker.embedding.model.prepared import PreparedModel, prepare_model
from worker.embedding.pool.model_bytes import measured_bytes
from worker.embedding.pool.served_models import known_served
from worker.runtime.toml_strings import basic_string
from worker.settings.serve_tables import ServedModelTable
from worker.settings.settings import Settings

if TYPE_CHECKING:
    from worker.cli.screen import Screen

_MB = 1_000_000


def list_models(settings: Settings) -> dict[str, object]:
    """Return what `--json` prints: each `[[serve.model]]`, and what is known of it. Prepares nothing."""
    return {"memory_bytes": settings.serve.memory_bytes, "models": [_model(settings, table) for table in settings.serve.model]}


def show_models(screen: "Screen", document: Mapping[str, Any]) -> None:
    """Print a line for each model."""
    models: Sequence[dict[str, Any]] = document["models"]
    if not models:
        screen.say("there is no [[serve.model]]; `vectail model add FOLDER` writes one")
        return
    columns: list[Column[dict[str, Any]]] = [
        Column("model", "name"),
        Column("dimensions", "dim", is_right=True),
        Column("tokens", "max_tokens", is_right=True),
        Column("memory", lambda one: _shown_bytes(one["bytes"]), is_right=True),
        Column("", _state),
        Column("aliases", lambda one: ", ".join(one["aliases"])),
    ]
    screen.lines(tables.table(models, columns))


def add_model(settings: Settings, folder: Path, name: str | None, cache: Path | None) -> dict[str, object]:
    """Prepare a model; returns what `--json` prints, with the table for the settings file. Raises CommandFailed."""
    taken = {one for table in settings.serve.model for one in (table.name, *table.aliases)}
    try:
        prepared = prepare_model(folder, (cache or settings.model.cache).expanduser())
        served = ServedModelTable(name=name or prepared.name, folder=folder.resolve())
    except ModelError as error:
        raise user_error(error) from error
    except ValueError:
        raise user_error(f"--name {name!r} is no name: use 1 to 200 printable characters, and no space at either end") from None
    if served.name in taken:
        raise user_error(f"the settings have a model {served.name!r} already; choose another one with --name")
    return {
        "name": served.name,
        "folder": str(served.folder),
        **_facts(prepared),
        "toml": f"[[serve.model]]\nname = {basic_string(served.name)}\nfolder = {basic_string(str(served.folder))}\n",
    }


def shown_addition(facts: Mapping[str, Any]) -> str:
    """Return the table for the settings file, and a comment with what the model is."""
    return (
        f"{facts['toml']}# {facts['dim']} dimensions, at most {facts['max_tokens']:,} tokens; prepared, and not yet in your settings file"
    )


def _model(settings: Settings, table: ServedModelTable) -> dict[str, object]:
    error = ""
    folder = None if table.folder is None else table.folder.expanduser()
    prepared: PreparedModel | None = None
    try:
        prepared = known_served(settings, table)
    except ModelError as why:
        error = str(why)
    if prepared is None and folder is not None and not folder.is_dir():
        error = f"{folder} is no folder"
    return {
        "name": table.name,
        "aliases": list(table.aliases),
        "pinned": table.pin,
        "prepared": prepared is not None,
        "error": error,
        "folder": None if table.folder is None else str(table.folder),
        **(_facts(prepared) if prepared is not None else dict.fromkeys(("dim", "max_tokens", "space", "bytes"))),
    }


def _facts(prepared: PreparedModel) -> dict[str, object]:
    return {
        "dim": prepared.dim,
        "max_tokens": prepared.max_tokens,
        "space": space_of(prepared).id,
        "bytes": measured_bytes(prepared),
    }


def _state(model: Mapping[str, Any]) -> tables.Cell:
    if model["error"]:
        return tables.cell(model["error"], "red")
    words = [*(["pinned"] if model["pinned"] else []), *([] if model["prepared"] else ["not prepared yet"])]
    return tables.cell(", ".join(words))


def _shown_bytes(size_bytes: int | None) -> str | None:
    return None if size_bytes is None else f"{size_bytes / _MB:,.0f} MB"
