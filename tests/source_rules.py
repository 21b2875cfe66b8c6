"""The rules of the source tree as pure functions: sources in, violations out, each one line that names the file.

`tests/test_architecture.py` runs every rule on the real tree and on a planted violation. `python -m tests.source_rules` prints the rooms
of the product floor by floor. A *room* is a package with its own modules, or a module of worker/ itself; its *floor* is one above the
highest room that it imports.
"""

import ast
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path, PurePosixPath
from typing import NamedTuple

LEAVES = ("consumers", "producers", "sinks")
PRODUCT_PACKAGES = (*LEAVES, "worker")
SOURCE_PACKAGES = (*PRODUCT_PACKAGES, "benchmarks")
PACKAGES = (*SOURCE_PACKAGES, "tests")
MAY_IMPORT: Mapping[str, frozenset[str]] = {
    **{leaf: frozenset({leaf}) for leaf in LEAVES},
    "worker": frozenset({*LEAVES, "worker"}),
    "benchmarks": frozenset(SOURCE_PACKAGES),
    "tests": frozenset(PACKAGES),
}
LOADER = "consumers.native"
"""Loads C files. It is to the leaves what a library is: it imports nothing of ours, every leaf may import it, and it stands on no floor.

A room of its own would need a package at the top, and a copy in each leaf would be checked in one and forgotten in the other.
"""
SHARED = frozenset({"numpy", "pydantic", "typer"})
"""Libraries that provide types rather than access to a service: any file may import them."""
ENVIRONMENT_FILES = frozenset(
    {
        "worker/settings/settings.py",
        "worker/embedding/engine/vllm_library.py",  # writes variables, the only way to configure vLLM
    }
)
SINK_FILE = "worker/connections.py"
"""Knows which sink there is; everybody else is given one."""
FILTERS_FILE = "worker/asking/filters.py"
CATCH_ALL_FILE = "worker/runtime/stage.py"
SERVED_IN = ("worker/serving/", "worker/cli/", "worker/__main__.py")
"""Where it is known that answers go out over HTTP, and that a process ends with a code."""
SERVER_FILES = tuple(
    f"worker/service/{name}.py" for name in ("service", "shutdown", "opened_model", "embedding_service", "embedding_process")
)
"""They wire, start and close the server and what answers requests for vectors."""
_OF_SERVING = frozenset({"HTTPStatus", "HttpError", "http_error", "status_of", "CRASHED", "DRAINED", "DRAIN_TIMEOUT", "USER_ERROR"})
FORBIDDEN_NAMES = frozenset(
    {"base", "bases", "common", "commons", "helper", "helpers", "manager", "managers", "util", "utilities", "utils"}
)
SMELL_LINES = 250
"""A source file that exceeds this is listed."""
MOST_LINES = 400
"""Of a source file or a test file."""
MOST_ROOMS = 30
MOST_FLOORS = 12
_ENVIRONMENT = frozenset({"environ", "environb", "getenv", "getenvb"})
_EVERYTHING = frozenset({"BaseException", "Exception"})


class Source(NamedTuple):
    """One Python file."""

    path: str
    """Relative to the root, with `/`."""
    text: str

    def package(self) -> str:
        """Return the top-level package."""
        return self.path.split("/", 1)[0]

    def room(self) -> str:
        """Return the folder of the file; a file in worker/ itself is a room of its own."""
        folder = str(PurePosixPath(self.path).parent)
        return self.path.removesuffix(".py") if folder == "worker" else folder

    def lines(self) -> int:
        """Return the number of lines."""
        return len(self.text.splitlines())

    def module(self) -> str:
        """Return the dotted name."""
        return self.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")

    def nodes(self) -> Iterator[ast.AST]:
        """Return every node of the file's syntax tree."""
        return ast.walk(ast.parse(self.text, self.path))


def read_sources(root: Path) -> tuple[Source, ...]:
    """Return every Python file of the packages below `root`, in order."""
    files = (file for package in PACKAGES for file in sorted((root / package).rglob("*.py")))
    return tuple(Source(file.relative_to(root).as_posix(), file.read_text(encoding="utf-8")) for file in files)


def star(sources: Sequence[Source]) -> list[str]:
    """A leaf imports no other package, worker imports the leaves, and only tests import tests; benchmarks import all but tests.

    Everybody may import LOADER, which imports nothing of ours.
    """
    return [
        f"{source.path} imports {module}"
        for source in sources
        for module in sorted(imported(source))
        if (package := module.split(".", 1)[0]) in PACKAGES
        and (source.module() == LOADER or (package not in MAY_IMPORT[source.package()] and not f"{module}.".startswith(f"{LOADER}.")))
    ]


def import_cycles(sources: Sequence[Source]) -> list[str]:
    """No chain of imports leads back to its module, imports inside functions included."""
    modules = {source.module() for source in sources}
    graph = {source.module(): {module for module in imported(source) if module in modules} for source in sources}
    return [" imports ".join(cycle) for cycle in _cycles(graph)]


def several_importers(sources: Sequence[Source]) -> list[str]:
    """Each third-party library is imported in one file of a folder."""
    importers: dict[tuple[str, str], set[str]] = {}
    for source in sources:
        if source.package() in SOURCE_PACKAGES:
            for library in _libraries(source) - SHARED:
                importers.setdefault((str(PurePosixPath(source.path).parent), library), set()).add(source.path)
    return [f"{library} is imported in {', '.join(sorted(files))}" for (_, library), files in sorted(importers.items()) if len(files) > 1]


def rooms_by_floor(sources: Sequence[Source]) -> list[list[str]]:
    """Return the rooms of each floor, lowest first: a room is above all that it imports. Rooms that import each other are on none."""
    imports = _room_imports(sources)
    floors: list[list[str]] = []
    placed: set[str] = set()
    while floor := sorted(room for room in imports.keys() - placed if imports[room] <= placed):
        floors.append(floor)
        placed.update(floor)
    return floors


def too_many_rooms(sources: Sequence[Source]) -> list[str]:
    """There are at most MOST_ROOMS rooms."""
    rooms = len(_room_imports(sources))
    return [f"{rooms} rooms, {MOST_ROOMS} are allowed"] if rooms > MOST_ROOMS else []


def too_many_floors(sources: Sequence[Source]) -> list[str]:
    """The rooms stand on at most MOST_FLOORS floors."""
    floors = len(rooms_by_floor(sources))
    return [f"{floors} floors, {MOST_FLOORS} are allowed"] if floors > MOST_FLOORS else []


def room_cycles(sources: Sequence[Source]) -> list[str]:
    """No import runs up: no chain of imports leads back to its room. Imports inside functions and for type checking count."""
    return [" imports ".join(cycle) for cycle in _cycles(_room_imports(sources))]


def undeclared_libraries(sources: Sequence[Source], declared: Collection[str]) -> list[str]:
    """Every imported library is declared in pyproject.toml, not only brought along by another."""
    return [
        f"{source.path} imports {library}, which is not among the dependencies"
        for source in sources
        if source.package() in SOURCE_PACKAGES
        for library in sorted(_libraries(source) - set(declared))
    ]


def environment_readers(sources: Sequence[Source]) -> list[str]:
    """The environment is read in one file."""
    found = []
    for source in sources:
        if source.package() not in SOURCE_PACKAGES or source.path in ENVIRONMENT_FILES:
            continue
        for node in source.nodes():
            if isinstance(node, ast.Attribute):
                read = node.attr in _ENVIRONMENT and _is_name(node.value, "os")
            elif isinstance(node, ast.ImportFrom):
                read = node.module == "os" and any(name.name in _ENVIRONMENT for name in node.names)
            else:
                continue
            if read:
                found.append(f"{source.path}:{node.lineno} reads the environment")
    return found


def forbidden_names(sources: Sequence[Source]) -> list[str]:
    """No file or folder has a meaningless name."""
    return [
        f"{source.path} is named {part}"
        for source in sources
        for part in PurePosixPath(source.path).with_suffix("").parts
        if set(part.lower().split("_")) & FORBIDDEN_NAMES
    ]


def long_files(sources: Sequence[Source], longer: Mapping[str, str]) -> list[str]:
    """No file exceeds MOST_LINES, except those in `longer` (path → reason), and those do exceed it."""
    found = []
    for source in sources:
        lines = source.lines()
        if lines > MOST_LINES and not longer.get(source.path):
            found.append(f"{source.path} has {lines} lines, {MOST_LINES} are allowed")
        if lines <= MOST_LINES and source.path in longer:
            found.append(f"{source.path} has {lines} lines and needs no exception any more")
    return found + [f"{path} is an exception and is not there" for path in longer if path not in {source.path for source in sources}]


def smelly_files(sources: Sequence[Source]) -> list[str]:
    """Return the source files of more than SMELL_LINES lines that are still allowed: candidates for a split, no violation."""
    return [
        f"{source.path} has {source.lines()} lines, more than {SMELL_LINES}"
        for source in sources
        if source.package() in SOURCE_PACKAGES and SMELL_LINES < source.lines() <= MOST_LINES
    ]


def outsiders_to_serving(sources: Sequence[Source]) -> list[str]:
    """What answers a request knows neither the statuses of HTTP nor exit codes: it raises `Refused`, which whoever serves translates."""
    return [
        f"{source.path} imports {name}"
        for source in sources
        if source.package() in PRODUCT_PACKAGES and not source.path.startswith(SERVED_IN)
        for name in sorted(imported(source))
        if (name.startswith("worker.serving") and source.path not in SERVER_FILES) or name.rpartition(".")[2] in _OF_SERVING
    ]


def catch_alls(sources: Sequence[Source]) -> list[str]:
    """Only one file catches every exception; a cleanup that re-raises is allowed anywhere."""
    found = []
    for source in sources:
        if source.package() not in SOURCE_PACKAGES or source.path == CATCH_ALL_FILE:
            continue
        for node in source.nodes():
            if isinstance(node, ast.ExceptHandler):
                caught = _catches_everything(node.type) and not _raises_again(node)
            elif isinstance(node, ast.Call):
                called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                caught = called == "suppress" and any(_catches_everything(argument) for argument in node.args)
            else:
                continue
            if caught:
                found.append(f"{source.path}:{node.lineno} catches every exception")
    return found


def sink_makers(sources: Sequence[Source]) -> list[str]:
    """`MilvusSink(` stands in one file of the product."""
    return [
        f"{source.path}:{node.lineno} makes a sink"
        for source in sources
        if source.package() in PRODUCT_PACKAGES and source.path != SINK_FILE
        for node in source.nodes()
        if isinstance(node, ast.Call) and "MilvusSink" in {getattr(node.func, "id", ""), getattr(node.func, "attr", "")}
    ]


def filter_names(sources: Sequence[Source]) -> list[str]:
    """Filters are declared in one file: the rest of the worker names none that excludes, so none that has both forms."""
    declared = {
        field.target.id
        for source in sources
        if source.path == FILTERS_FILE
        for node in source.nodes()
        if isinstance(node, ast.ClassDef) and node.name == "Filters"
        for field in node.body
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and field.target.id.startswith("not_")
    }
    found = []
    for source in sources:
        if source.package() != "worker" or source.path.startswith("worker/asking/"):
            continue
        for node in source.nodes():
            names = {getattr(node, part, None) for part in ("attr", "arg", "id")}
            if isinstance(node, ast.Constant):
                names.add(node.value)
            line = getattr(node, "lineno", 0)
            found += [f"{source.path}:{line} names the filter {name}" for name in sorted(declared.intersection(names))]
    return found


def full_inits(sources: Sequence[Source]) -> list[str]:
    """An `__init__.py` holds one docstring and nothing else."""
    found = []
    for source in sources:
        if source.path.endswith("/__init__.py"):
            tree = ast.parse(source.text)
            if len(tree.body) != 1 or ast.get_docstring(tree) is None:
                found.append(f"{source.path} holds more, or less, than one docstring")
    return found


@cache
def _import_statements(source: Source) -> tuple[ast.Import | ast.ImportFrom, ...]:
    return tuple(node for node in source.nodes() if isinstance(node, ast.Import | ast.ImportFrom))


@cache
def imported(source: Source) -> frozenset[str]:
    """Return every absolute module name that the file may import: for `from a import b` both `a` and `a.b`."""
    names: set[str] = set()
    for node in _import_statements(source):
        if isinstance(node, ast.Import):
            names.update(name.name for name in node.names)
        elif node.module and node.level == 0:
            names.add(node.module)
            names.update(f"{node.module}.{name.name}" for name in node.names)
    return frozenset(names)


def _room_imports(sources: Sequence[Source]) -> dict[str, set[str]]:
    """Return the rooms of the product, each with the others that it imports. A package's `__init__.py` holds no code and makes no room."""
    product = [source for source in sources if source.package() in PRODUCT_PACKAGES and source.module() != LOADER]
    files = [source for source in product if not source.path.endswith("/__init__.py")]
    room_of = {source.module(): source.room() for source in files}
    imports: dict[str, set[str]] = {source.room(): set() for source in files}
    for source in files:
        imports[source.room()].update(room_of[module] for module in imported(source) if module in room_of)
    return {room: others - {room} for room, others in imports.items()}


def _libraries(source: Source) -> frozenset[str]:
    return frozenset(module.split(".", 1)[0] for module in imported(source)) - sys.stdlib_module_names - set(PACKAGES)


def _cycles(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """Return the cycles that a depth-first walk finds; each node is entered once."""
    found: list[list[str]] = []
    done: set[str] = set()

    def walk(module: str, path: list[str]) -> None:
        if module in path:
            found.append([*path[path.index(module) :], module])
        elif module not in done:
            for other in sorted(graph[module]):
                walk(other, [*path, module])
            done.add(module)

    for module in sorted(graph):
        walk(module, [])
    return found


def _catches_everything(caught: ast.expr | None) -> bool:
    if isinstance(caught, ast.Tuple):
        return any(_catches_everything(one) for one in caught.elts)
    return caught is None or any(_is_name(caught, name) for name in _EVERYTHING)


def _raises_again(handler: ast.ExceptHandler) -> bool:
    last = handler.body[-1]
    return isinstance(last, ast.Raise) and last.exc is None


def _is_name(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def main() -> None:
    """Print the rooms by floor, the highest first, and the files that are longer than they should be."""
    sources = read_sources(Path(__file__).parents[1])
    floors = rooms_by_floor(sources)
    for number, floor in reversed([*enumerate(floors, start=1)]):
        sys.stdout.write(f"{number:3}  {'  '.join(floor)}\n")
    for line in [f"{sum(map(len, floors))} rooms on {len(floors)} floors", *room_cycles(sources), *smelly_files(sources)]:
        sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    main()
