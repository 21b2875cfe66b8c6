"""`vectail reindex`: a client of the worker that changes the model of its index.

The worker does the work, and what is to happen stands in the index: this verb may end at any time, and changes nothing by that.
"""

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from threading import Event
from typing import Any, Final

from worker.asking.reindex_answers import ReindexJson, ReindexViewJson
from worker.cli.absent_server import said_if_slow
from worker.cli.exit_codes import INTERRUPTED
from worker.cli.exits import CommandFailed, failure, user_error
from worker.cli.output import warn
from worker.cli.reindex_screen import figures_of, named
from worker.cli.screen import Screen
from worker.cli.toml import toml_of
from worker.embedding.model.errors import ModelError
from worker.embedding.model.prepared import prepare_model
from worker.inspecting.doctor_worker import WorkerAway, request_worker
from worker.reindex.named_model import named_settings
from worker.settings.settings import Settings
from worker.settings.tables import INSTALLED_NAMES, ModelTable

_PATH: Final = "/api/reindex"
_ANSWER_S: Final = 70.0
"""The worker gives an action a minute: it may have to make a collection, and to complete a view before it goes back to it."""
LOOK_S: Final = 1.0
"""Between two looks at how far the worker is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BegunChange:
    """A change that a worker has taken on."""

    model: str
    """What the worker calls it."""
    folder: Path | None
    """The folder that was given for it."""
    accepted: tuple[str, ...]
    document: ReindexJson


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitedChange:
    """How the wait for a change ended."""

    document: ReindexJson
    failure: str
    """One line; empty: the new model is asked."""


def change_told(settings: Settings) -> ReindexJson:
    """Return how far the change is. Raises CommandFailed."""
    return _ask(settings)


def take_step(settings: Settings, step: str) -> ReindexJson:
    """Take `rollback` or `drop`. Raises CommandFailed."""
    return _ask(settings, {"do": step})


def begin_change(settings: Settings, to: str, accepted: Collection[str]) -> BegunChange:
    """Prepare the model if it is a folder, and let the worker begin. Raises CommandFailed."""
    folder = _folder_of(settings, to)
    model = to if folder is None else _prepared_name(settings, folder)
    body: dict[str, object] = {"to": model, "accept": list(accepted)} if accepted else {"to": model}
    return BegunChange(model=model, folder=folder, accepted=tuple(accepted), document=_ask(settings, body))


def wait_for_change(settings: Settings, begun: BegunChange, screen: Screen, stop: Event) -> WaitedChange:
    """Look until the worker asks the new model, or cannot; shows how far it is. Raises CommandFailed, also when `stop` is set."""
    space, document = _new_space(begun.document), begun.document
    with screen.progress() as show:
        while not _is_asked(document, space):
            if why := _why_it_stopped(document, space, begun.accepted):
                return WaitedChange(document=document, failure=why)
            if stop.wait(LOOK_S):
                raise CommandFailed(
                    "the change goes on in the worker; `vectail reindex --status` shows how far, `--drop` gives it up", INTERRUPTED
                )
            document = {**_ask(settings), "plan": begun.document["plan"]}
            show(figures_of(document, space))
    return WaitedChange(document=document, failure="")


def lines_for_settings(settings: Settings, begun: BegunChange) -> list[str]:
    """Return the lines that `[model]` needs for the new model, and comments with those that it has and must lose."""
    try:
        table = ModelTable(folder=begun.folder.absolute()) if begun.folder else named_settings(settings, begun.model).model
    except ModelError:
        return [f"# the model {begun.model}"]
    name = {"folder": str(table.folder)} if table.folder is not None else {"name": table.name}
    before = settings.model.model_dump(exclude={"cache", *name}, exclude_defaults=True)
    return [*toml_of({"model": name}).splitlines(), *(f"# remove {one}" for one in before)]


def _folder_of(settings: Settings, to: str) -> Path | None:
    """Return the folder that is meant; None: a name, which a folder of that name does not hide."""
    names = {*INSTALLED_NAMES, *(table.name for table in settings.serve.model)}
    folder = Path(to).expanduser()
    if to in names or (not folder.is_dir() and os.sep not in to):
        return None
    if not folder.is_dir():
        raise user_error(f"--to {to}: there is no such folder")
    return folder


def _prepared_name(settings: Settings, folder: Path) -> str:
    cache = settings.model.cache.expanduser()
    try:
        with said_if_slow(warn, f"preparing the model in {folder}"):
            prepared = prepare_model(folder, cache)
    except ModelError as error:
        raise user_error(error) from error
    if prepared.folder.resolve().parent != cache.resolve():
        raise user_error(f"{folder} is a prepared model outside model.cache ({cache}), where the worker looks: copy it there")
    return prepared.folder.name


def _new_space(document: ReindexJson) -> str:
    """Return the space that is being filled; of an index so small that it is done already, the one that is preferred."""
    building = (one["space"] for one in document["views"] if one["state"] == "building")
    return next(building, None) or next(one["space"] for one in document["views"] if one["preferred"])


def _is_asked(document: ReindexJson, space: str) -> bool:
    return document["asked"] == space and any(one["space"] == space and one["preferred"] for one in document["views"])


def _why_it_stopped(document: ReindexJson, space: str, accepted: Collection[str]) -> str:
    """Return why the worker does not get there by itself; empty while it may."""
    view: ReindexViewJson | None = next((one for one in document["views"] if one["space"] == space), None)
    if view is None or view["state"] == "dropping":
        return "the change was given up (--drop); the index keeps its model"
    error = document["error"]
    if not error or error.startswith(tuple(f"not preferred: {name}:" for name in accepted)):  # it is of before that was accepted
        return ""
    failed = next((one for one in document["findings"] if not one["met"] and one["name"] not in accepted), None)
    if failed is None:
        return f"{error}; the worker tries again: `--status` shows how far it is, `--drop` gives it up"
    how = f"`--accept {failed['name']}` goes on all the same, `--drop` gives it up"
    return f"{named(view)} is not asked: {failed['name']}: {failed['found']}; {how}"


def _ask(settings: Settings, body: Mapping[str, object] | None = None) -> ReindexJson:
    try:
        answer = request_worker(settings.http, _PATH, body, timeout_s=_ANSWER_S)
    except WorkerAway as away:
        raise failure(f"{away}: changing the model needs a running worker (`vectail run`) with these settings") from None
    if answer.status == HTTPStatus.OK and "views" in answer.document:
        told: Any = answer.document
        return told  # type: ignore[no-any-return] # as the worker's document says
    error = answer.document.get("error") or {}
    field = f"{error['field']}: " if error.get("field") else ""
    reason = f"the worker refuses: {field}{error.get('reason') or HTTPStatus(answer.status).phrase}"
    if answer.status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        reason += " (http.token of these settings)"
    if answer.status == HTTPStatus.TOO_MANY_REQUESTS or answer.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        raise failure(reason)
    raise user_error(reason)
