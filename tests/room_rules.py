"""Rules about rooms and names: who may know whom, one name for one thing, and how large a room may become.

`tests/test_architecture.py` runs them with those of `tests.source_rules`, on the real tree and on planted violations.
"""

import ast
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Final

from tests.source_rules import PRODUCT_PACKAGES, Source, imported

SERVING, TOOLS = "worker/serving", "worker/cli"
BELOW: Final = ("worker/inspecting", "worker/watching", "worker/indexing", "worker/querying", "worker/embedding")
"""Rooms, with those in them, that know neither HTTP nor a terminal."""
SPEAKS_MCP = "worker/cli/mcp.py"
"""The verb that serves MCP over standard input and output: it calls what serves it over HTTP."""
MOST_IN_ROOM: Final[Mapping[str, int]] = {
    "consumers": 2_250,
    "consumers/decode": 8_700,
    "consumers/groupless": 350,
    "consumers/kafka": 2_400,
    "consumers/text": 2_800,
    "producers": 1_800,
    "sinks": 2_450,
    "sinks/milvus": 4_100,
    "sinks/reading": 3_550,
    "worker/asking": 1_650,
    "worker/cli": 7_400,
    "worker/connections": 250,
    "worker/embedding": 1_800,
    "worker/embedding/cache": 1_250,
    "worker/embedding/engine": 1_100,
    "worker/embedding/model": 2_100,
    "worker/embedding/pool": 850,
    "worker/estimate": 1_100,
    "worker/indexing": 5_550,
    "worker/inspecting": 5_950,
    "worker/masks": 950,
    "worker/querying": 4_450,
    "worker/reindex": 1_000,
    "worker/runtime": 1_900,
    "worker/service": 2_800,
    "worker/serving": 3_300,
    "worker/serving/embeddings": 1_750,
    "worker/settings": 1_450,
    "worker/watching": 2_900,
}
"""Lines of Python, with a little room: raise one with the reason in the commit, or take something away."""
MOST_UNLISTED: Final = 500


def knows_serving(sources: Sequence[Source]) -> list[str]:
    """What serving and tools have in common knows neither, serving knows no tool, and of the tools only `vectail mcp` knows serving."""
    found = []
    for source in sources:
        room = source.room()
        if room in BELOW or room.startswith(tuple(f"{one}/" for one in BELOW)):
            unknown = [SERVING, TOOLS]
        else:
            unknown = {SERVING: [TOOLS], TOOLS: [] if source.path == SPEAKS_MCP else [SERVING]}.get(room, [])
        forbidden = tuple(f"{one.replace('/', '.')}." for one in unknown)
        found += [f"{source.path} imports {module}" for module in sorted(imported(source)) if f"{module}.".startswith(forbidden)]
    return sorted(set(found))


def names_twice(sources: Sequence[Source]) -> list[str]:
    """In the product a file's name, and that of a public class, is one thing's."""
    where: dict[str, set[str]] = defaultdict(set)
    for source in sources:
        name = PurePosixPath(source.path).name
        if source.package() not in PRODUCT_PACKAGES or name.startswith("__"):
            continue
        where[name].add(source.path)
        for node in ast.parse(source.text).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                where[node.name].add(source.path)
    return [f"{name} is in {', '.join(sorted(files))}" for name, files in sorted(where.items()) if len(files) > 1]


def large_rooms(sources: Sequence[Source]) -> list[str]:
    """A room has at most as many lines as MOST_IN_ROOM says; one that is not listed is small."""
    lines: dict[str, int] = defaultdict(int)
    for source in sources:
        if source.package() in PRODUCT_PACKAGES:
            lines[source.room()] += source.lines()
    most = {room: MOST_IN_ROOM.get(room, MOST_UNLISTED) for room in lines}
    return [f"{room} has {now} lines, {most[room]} are allowed" for room, now in lines.items() if now > most[room]]
