"""The doctor's checks of a Milvus server: does it answer, are the collections those that this version, this model and this group want.

A local folder is `doctor_lite`'s.
"""

import time
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from sinks.index_spaces import IndexSpaces, VectorSpace
from sinks.milvus.access import connect
from sinks.milvus.backend import backend, choose, has_bm25
from sinks.milvus.collections import check_collection, check_name, check_view_of, spaces_of
from sinks.milvus.faults import MilvusFault
from sinks.milvus.fields import GROUP_PROPERTY, LAYOUT, LAYOUT_PROPERTY, CollectionFound, blocks_layout, templates_layout, templates_name
from sinks.milvus.milvus_client import MilvusConnection
from sinks.milvus.milvus_settings import MilvusSettings
from sinks.sink import SinkMismatch
from worker.embedding.model.errors import ModelError
from worker.inspecting.doctor import Check, Verdict, first_of, judge_all, ok, problem, warning
from worker.runtime.wording import seconds_of
from worker.settings.settings import Settings

ANSWER_S: Final = 4.0
_SLOW_S: Final = 1.0
_OLDEST_VERSION: Final = (2, 3)
_NOT_LOADED: Final = 101
_DAY_S: Final = 86_400.0
_CREATED: Final = "`vectail run` creates what is missing"

NewSpace = Callable[[], VectorSpace]
"""Returns the model's space; raises ModelError."""


class ServerFacts(NamedTuple):
    """What a server says of our collections."""

    settings: Settings
    seconds: float
    """Until everything was answered."""
    space: VectorSpace | None
    """The model's; None: `space_error` says why it is not known."""
    space_error: str
    version: str
    blocks: CollectionFound | None
    """None: it does not exist."""
    templates: CollectionFound | None
    """Of the model's space."""
    rows: Mapping[str, int]
    """Rows of the collections that are loaded, by name."""
    not_loaded: tuple[str, ...] = ()
    no_index: tuple[str, ...] = ()
    """Collections whose vectors have no index."""


def look_at_server(settings: Settings, new_space: NewSpace) -> dict[str, Verdict]:
    """Ask the server and judge its answers; one verdict if it does not answer."""
    table = settings.milvus.model_copy(update={"timeout_s": min(settings.milvus.timeout_s, ANSWER_S)})
    client: MilvusConnection | None = None
    try:
        check_name(table.collection)
        space, space_error = _space_or_error(new_space)
        started_s = time.monotonic()
        client = connect(table, None)
        facts = _facts(client, settings, space, space_error)
        return judge_all(SERVER_CHECKS, facts._replace(seconds=time.monotonic() - started_s))
    except (SinkMismatch, MilvusFault) as error:
        return {"index": away(table.uri, error)}
    finally:
        if client is not None:
            client.close()


def told_consistency(table: MilvusSettings) -> str:
    """Return what the setting means."""
    if table.consistency == "Strong":
        return "Strong: a search sees every line that was stored before it"
    return "Bounded: faster, and a search may miss lines of the last seconds"


def away(uri: str, error: Exception) -> Verdict:
    """Return the verdict on a Milvus that does not answer."""
    return problem(f"{uri} cannot be used: {error}", "check that it runs and that the [milvus] settings are right; workers wait for it")


def _answer(facts: ServerFacts) -> Verdict:
    found = f"{facts.settings.milvus.uri} answers; all of these questions took {seconds_of(facts.seconds)}"
    change = "check the network and its load: searches wait that long too"
    return first_of((facts.seconds > _SLOW_S, warning(found, change)), otherwise=found)


def _version(facts: ServerFacts) -> Verdict:
    """Judge which server it is, and whether it can do what the settings ask for."""
    capable = backend(facts.version, local=False)
    if capable.version < _OLDEST_VERSION:
        return warning(f"Milvus {facts.version}", "upgrade to 2.3 or later; older servers are untested")
    try:
        choose(facts.settings.milvus, capable)
    except SinkMismatch as error:
        return problem(str(error), "change this setting, or upgrade Milvus")
    lacks = [name for name, has in (("BM25", capable.bm25), ("indexes on arrays", capable.scalar_index is not None)) if not has]
    rest = f"; it has no {' and no '.join(lacks)}, which the worker makes up for" if lacks else ""
    return ok(f"Milvus {facts.version.removeprefix('v')}{rest}")


def _schema(facts: ServerFacts) -> Verdict:
    """Judge layout and columns of both collections."""
    table, blocks, space = facts.settings.milvus, facts.blocks, facts.space
    if blocks is None:
        return warning(f"collection {table.collection!r} does not exist: nothing is indexed yet", _CREATED)
    layout = blocks.properties.get(LAYOUT_PROPERTY)
    change = "set milvus.collection to a new name and index again (Kafka still has the lines), then drop the old collection"
    if layout != LAYOUT:
        return problem(f"collection {table.collection!r} has layout {layout or 'unknown'}, not {LAYOUT}", change)
    try:
        check_collection(blocks_layout(table.collection), blocks)
        if space is not None and facts.templates is not None:
            capable = backend(facts.version, local=False)
            choice, bm25 = choose(table, capable), has_bm25(table, capable, facts.templates)
            check_collection(templates_layout(table.collection, space, choice, bm25=bm25), facts.templates)
    except SinkMismatch as error:
        return problem(str(error), change)
    if space is not None and facts.templates is None:
        return warning(f"{templates_name(table.collection, space.id)} does not exist", _CREATED)
    return ok(f"blocks and templates have layout {LAYOUT}, and all columns")


def _space(facts: ServerFacts) -> Verdict | None:
    """Judge whether the index was filled by the model of the settings."""
    if facts.blocks is None:
        return None
    if facts.space is None:
        return unknown_space(facts.space_error)
    try:
        check_view_of(facts.blocks, facts.space)
    except SinkMismatch as error:
        return problem(str(error), "use the model that filled it, or another milvus.collection and kafka.group")
    return judge_views(spaces_of(facts.blocks), facts.space.id)


def unknown_space(reason: object) -> Verdict:
    """Return the verdict on an index where the model's space is not known."""
    return warning(f"the index cannot be compared with the model: {reason}", "fix the model first")


def judge_views(spaces: IndexSpaces, own: str) -> Verdict:
    """Judge the views of an index that has that of `own`, the model's space."""
    if spaces.other is None:
        return ok(f"the index is of the model's embedding space, {own}")
    if spaces.preferred != own:
        preferred = spaces.views[spaces.preferred].model or spaces.preferred
        return warning(f"the index prefers another model, {preferred}", "set it in [model], or go back: vectail reindex --rollback")
    view = spaces.views[spaces.other]
    days = (time.time() - view.since_ms / 1000) / _DAY_S
    found = f"the index has a second view, of {view.model or spaces.other}, which is {view.state} for {max(days, 0.0):.1f} days"
    if view.refused:
        return warning(f"{found}: {view.refused}", "vectail reindex --status shows all that was found; --drop gives it up")
    if view.state == "building" and days > 1:
        return warning(found, "vectail reindex --status says what it waits for; --drop gives it up")
    return ok(found)


def _owner(facts: ServerFacts) -> Verdict | None:
    if facts.blocks is None:
        return None
    owner, group = facts.blocks.properties.get(GROUP_PROPERTY), facts.settings.kafka.group
    found = f"the index belongs to consumer group {owner!r}"
    change = "set milvus.collection to a new name, or take the index over with `vectail run --adopt`"
    return first_of((owner != group, problem(f"{found}, kafka.group is {group!r}", change)), otherwise=found)


def _loaded(facts: ServerFacts) -> Verdict | None:
    """Judge whether it can be searched."""
    if facts.blocks is None:
        return None
    no_index = f"the vectors of {', '.join(facts.no_index)} have no index"
    not_loaded = f"{', '.join(facts.not_loaded)} is not loaded: it cannot be searched"
    return first_of(
        (facts.no_index, problem(no_index, "if it is empty, `vectail run` creates one; else create it in Milvus")),
        (facts.not_loaded, warning(not_loaded, "start a worker, which loads it; if one is running, the collection was released by hand")),
        otherwise="blocks and templates are indexed and loaded",
    )


def _retention(facts: ServerFacts) -> Verdict | None:
    """Judge how long lines stay."""
    if facts.blocks is None:
        return None
    table, there_s = facts.settings.index, facts.blocks.ttl_s
    told = f"lines stay for {seconds_of(there_s)}" if there_s else "lines stay for ever: the index grows as long as lines arrive"
    if table.retention_s is not None and round(table.retention_s) != there_s:
        return warning(f"{told}; index.retention_days is {table.retention_days:g}", "restart a worker: it tells Milvus at its start")
    return ok(told)


def _size(facts: ServerFacts) -> Verdict | None:
    told = ", ".join(f"{number:,} rows in {name}" for name, number in facts.rows.items())
    return None if facts.blocks is None else ok(told or "nothing is loaded, so nothing can be counted")


SERVER_CHECKS: Final[tuple[Check[ServerFacts], ...]] = (
    Check("index", _answer),
    Check("version", _version),
    Check("schema", _schema),
    Check("space", _space),
    Check("owner", _owner),
    Check("loaded", _loaded),
    Check("consistency", lambda facts: ok(told_consistency(facts.settings.milvus))),
    Check("retention", _retention),
    Check("size", _size),
)


def _space_or_error(new_space: NewSpace) -> tuple[VectorSpace | None, str]:
    try:
        return new_space(), ""
    except ModelError as error:
        return None, str(error)


def _facts(client: MilvusConnection, settings: Settings, space: VectorSpace | None, space_error: str) -> ServerFacts:
    table = settings.milvus
    version, blocks = client.version(), client.describe(table.collection)
    templates = None if space is None else client.describe(templates_name(table.collection, space.id))
    rows: dict[str, int] = {}
    not_loaded, no_index = [], []
    for found, vector in ((blocks, "pad"), (templates, "vector")):
        if found is None or vector not in found.fields:
            continue
        if client.index_of(found.name, vector) is None:
            no_index.append(found.name)
            continue
        try:
            rows[found.name] = client.count(found.name)
        except MilvusFault as fault:
            if fault.code != _NOT_LOADED and "not loaded" not in fault.reason:
                raise
            not_loaded.append(found.name)
    return ServerFacts(settings, 0.0, space, space_error, version, blocks, templates, rows, tuple(not_loaded), tuple(no_index))
