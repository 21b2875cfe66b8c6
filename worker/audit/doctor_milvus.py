"""The doctor's checks of a Milvus server: does it answer, are the collections those that this version, this model and this group want.

A local folder is `doctor_lite`'s. `look_at_server` asks and changes nothing; everything else is pure.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Final, NamedTuple

from sinks.milvus.access import connect
from sinks.milvus.backend import Backend, backend, choose, has_bm25
from sinks.milvus.client import Client
from sinks.milvus.collections import check_collection, check_name, check_space
from sinks.milvus.faults import MilvusFault
from sinks.milvus.fields import GROUP_PROPERTY, LAYOUT, LAYOUT_PROPERTY, CollectionFound, blocks_layout, templates_layout, templates_name
from sinks.milvus.settings import MilvusSettings, VectorSpace
from sinks.sink import SinkMismatch
from worker.audit.doctor import Check
from worker.audit.doctor_words import seconds_of
from worker.embedding.model.errors import ModelError
from worker.settings.settings import Settings
from worker.settings.tables import IndexTable

ANSWER_S: Final = 4.0
_SLOW_S: Final = 1.0
_OLDEST_VERSION: Final = (2, 3)
_NOT_LOADED: Final = 101
_CREATED: Final = "`vectail run` creates what is missing"

NewSpace = Callable[[], VectorSpace]
"""Returns the model's space; raises ModelError."""

check = partial(Check, "milvus")


class ServerFacts(NamedTuple):
    """What a server says of our collections."""

    version: str
    blocks: CollectionFound | None
    templates: CollectionFound | None
    """Of the model's space; None: it does not exist."""
    rows: Mapping[str, int]
    """Rows of the collections that are loaded, by name."""
    not_loaded: tuple[str, ...] = ()
    no_index: tuple[str, ...] = ()
    """Collections whose vectors have no index."""


def look_at_server(settings: Settings, new_space: NewSpace) -> Iterator[Check]:
    """Ask the server and judge its answers; one line if it does not answer."""
    table = settings.milvus.model_copy(update={"timeout_s": min(settings.milvus.timeout_s, ANSWER_S)})
    started_s = time.monotonic()
    client: Client | None = None
    try:
        check_name(table.collection)
        space, space_error = _space_or_error(new_space)
        started_s = time.monotonic()
        client = connect(table, None)
        facts = _facts(client, table, space)
    except (SinkMismatch, MilvusFault) as error:
        yield away(table.uri, error)
        return
    finally:
        if client is not None:
            client.close()
    yield judge_answer(table.uri, time.monotonic() - started_s)
    yield from judge_server(settings, facts, space, space_error)


def judge_server(settings: Settings, facts: ServerFacts, space: VectorSpace | None, space_error: str = "") -> Iterator[Check]:
    """Judge what a server said; without a space, its collections cannot be compared with the model."""
    capable = backend(facts.version, local=False)
    yield judge_version(settings.milvus, facts.version, capable)
    yield check("consistency", "ok", told_consistency(settings.milvus))
    if facts.blocks is None:
        yield check("schema", "warning", f"collection {settings.milvus.collection!r} does not exist: nothing is indexed yet", _CREATED)
        return
    yield judge_schema(settings.milvus, facts, space, capable)
    yield judge_space(facts.blocks, space, space_error)
    yield judge_owner(facts.blocks, settings.kafka.group)
    yield judge_loaded(facts)
    yield judge_retention(facts.blocks, settings.index)
    told = ", ".join(f"{number:,} rows in {name}" for name, number in facts.rows.items())
    yield check("size", "ok", told or "nothing is loaded, so nothing can be counted")


def judge_answer(uri: str, seconds: float) -> Check:
    """Judge that it answers, and how soon it has answered everything."""
    found = f"{uri} answers; all of these questions took {seconds_of(seconds)}"
    if seconds > _SLOW_S:
        return check("index", "warning", found, "look at the network and at its load: searches wait that long too")
    return check("index", "ok", found)


def judge_version(table: MilvusSettings, version: str, capable: Backend) -> Check:
    """Judge which server it is, and whether it can do what the settings wish."""
    if capable.version < _OLDEST_VERSION:
        return check("version", "warning", f"Milvus {version}", "update it to 2.3 or newer: nothing older was tried")
    try:
        choose(table, capable)
    except SinkMismatch as error:
        return check("version", "problem", str(error), "change this setting, or update Milvus")
    lacks = [name for name, has in (("BM25", capable.bm25), ("indexes on arrays", capable.scalar_index is not None)) if not has]
    rest = f"; it has no {' and no '.join(lacks)}, which the worker makes up for" if lacks else ""
    return check("version", "ok", f"Milvus {version.removeprefix('v')}{rest}")


def judge_schema(table: MilvusSettings, facts: ServerFacts, space: VectorSpace | None, capable: Backend) -> Check:
    """Judge layout and columns of both collections."""
    blocks = facts.blocks
    layout = None if blocks is None else blocks.properties.get(LAYOUT_PROPERTY)
    change = "set milvus.collection to a new name and index again (Kafka still has the lines), then drop the old collection"
    if layout != LAYOUT:
        return check("schema", "problem", f"collection {table.collection!r} has layout {layout or 'unknown'}, not {LAYOUT}", change)
    try:
        if blocks is not None:
            check_collection(blocks_layout(table.collection), blocks)
        if space is not None and facts.templates is not None:
            choice = choose(table, capable)
            bm25 = has_bm25(table, capable, facts.templates)
            check_collection(templates_layout(table.collection, space.id, space.dim, **choice._asdict(), bm25=bm25), facts.templates)
    except SinkMismatch as error:
        return check("schema", "problem", str(error), change)
    if space is not None and facts.templates is None:
        return check("schema", "warning", f"{templates_name(table.collection, space.id)} does not exist", _CREATED)
    return check("schema", "ok", f"blocks and templates have layout {LAYOUT}, and all columns")


def judge_space(blocks: CollectionFound, space: VectorSpace | None, space_error: str) -> Check:
    """Judge whether the index was filled by the model of the settings."""
    if space is None:
        return check("space", "warning", f"the index cannot be compared with the model: {space_error}", "mend the model first")
    try:
        check_space(blocks, space)
    except SinkMismatch as error:
        return check("space", "problem", str(error), "use the model that filled it, or another milvus.collection and kafka.group")
    return check("space", "ok", f"the index is of the model's embedding space, {space.id}")


def judge_owner(blocks: CollectionFound, group: str) -> Check:
    """Judge whose index it is."""
    owner = blocks.properties.get(GROUP_PROPERTY)
    if owner != group:
        found = f"the index is that of consumer group {owner!r}, kafka.group is {group!r}"
        change = "set milvus.collection to a new name, or take the index over with `vectail run --adopt`"
        return check("owner", "problem", found, change)
    return check("owner", "ok", f"the index is that of consumer group {group!r}")


def judge_loaded(facts: ServerFacts) -> Check:
    """Judge whether it can be searched."""
    if facts.no_index:
        found = f"the vectors of {', '.join(facts.no_index)} have no index"
        return check("loaded", "problem", found, "if it is empty, `vectail run` makes one; else create it in Milvus")
    if facts.not_loaded:
        found = f"{', '.join(facts.not_loaded)} is not loaded: it cannot be searched"
        return check("loaded", "warning", found, "start a worker, which loads it; if one runs, somebody has released it")
    return check("loaded", "ok", "blocks and templates are indexed and loaded")


def judge_retention(blocks: CollectionFound, table: IndexTable) -> Check:
    """Judge for how long lines stay."""
    wanted_s, there_s = table.retention_s, blocks.ttl_s
    told = f"lines stay for {seconds_of(there_s)}" if there_s else "lines stay for ever: the index grows as long as lines come"
    if wanted_s is not None and round(wanted_s) != there_s:
        found = f"{told}; index.retention_days is {table.retention_days:g}"
        return check("retention", "warning", found, "start a worker again: it tells Milvus at its start")
    return check("retention", "ok", told)


def told_consistency(table: MilvusSettings) -> str:
    """Return what the setting means."""
    if table.consistency == "Strong":
        return "Strong: a search sees every line that was stored before it"
    return "Bounded: faster, and a search may miss lines of the last seconds"


def away(uri: str, error: Exception) -> Check:
    """Return the one line about a Milvus that does not answer."""
    change = "see whether it runs and whether the [milvus] settings are right; workers wait for it"
    return check("index", "problem", f"{uri} cannot be used: {error}", change)


def _space_or_error(new_space: NewSpace) -> tuple[VectorSpace | None, str]:
    try:
        return new_space(), ""
    except ModelError as error:
        return None, str(error)


def _facts(client: Client, table: MilvusSettings, space: VectorSpace | None) -> ServerFacts:
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
    return ServerFacts(version, blocks, templates, rows, tuple(not_loaded), tuple(no_index))
