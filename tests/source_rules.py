"""The rules of the house as pure functions: a tree of sources in, violations out, each one line that names the file.

`tests/test_architecture.py` runs every rule on the real tree, and on a planted violation to see that it would be found.
"""

import ast
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import NamedTuple

LEAVES = ("consumers", "producers", "sinks")
SOURCE_ROOMS = (*LEAVES, "worker", "benchmarks")
ROOMS = (*SOURCE_ROOMS, "tests")
MAY_IMPORT: Mapping[str, frozenset[str]] = {
    **{leaf: frozenset({leaf}) for leaf in LEAVES},
    "worker": frozenset({*LEAVES, "worker"}),
    "benchmarks": frozenset(SOURCE_ROOMS),
    "tests": frozenset(ROOMS),
}
SHARED = frozenset({"numpy", "pydantic", "typer"})
"""Libraries that are a language of types and not somebody outside: any file may speak them."""
ENVIRONMENT_FILES = frozenset(
    {
        "worker/settings/settings.py",
        "worker/embedding/engine/vllm_library.py",  # writes what vLLM can be told in no other way
        "benchmarks/gpu.py",  # as worker/embedding/engine/vllm_library.py
    }
)
CATCH_ALL_FILE = "worker/runtime/stage.py"
FORBIDDEN_NAMES = frozenset(
    {"base", "bases", "common", "commons", "helper", "helpers", "manager", "managers", "util", "utilities", "utils"}
)
LINES = 250
TEST_LINES = 400
_ENVIRONMENT = frozenset({"environ", "environb", "getenv", "getenvb"})
_EVERYTHING = frozenset({"BaseException", "Exception"})


class Source(NamedTuple):
    """One Python file."""

    path: str
    """Relative to the root, with `/`."""
    text: str

    def room(self) -> str:
        """Return the top-level package."""
        return self.path.split("/", 1)[0]

    def module(self) -> str:
        """Return the dotted name."""
        return self.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")

    def nodes(self) -> Iterator[ast.AST]:
        """Return every node of the file's syntax tree."""
        return ast.walk(ast.parse(self.text, self.path))


def read_sources(root: Path) -> tuple[Source, ...]:
    """Return every Python file of the rooms below `root`, in order."""
    files = (file for room in ROOMS for file in sorted((root / room).rglob("*.py")))
    return tuple(Source(file.relative_to(root).as_posix(), file.read_text(encoding="utf-8")) for file in files)


def star(sources: Sequence[Source]) -> list[str]:
    """Leaves know nobody, worker knows the leaves, nobody knows benchmarks or tests but themselves."""
    return [
        f"{source.path} imports {module}"
        for source in sources
        for module in sorted(_imported(source))
        if (room := module.split(".", 1)[0]) in ROOMS and room not in MAY_IMPORT[source.room()]
    ]


def import_cycles(sources: Sequence[Source]) -> list[str]:
    """No module imports itself in the end, not even through an import inside a function."""
    modules = {source.module() for source in sources}
    graph = {source.module(): {module for module in _imported(source) if module in modules} for source in sources}
    return [" imports ".join(cycle) for cycle in _cycles(graph)]


def several_importers(sources: Sequence[Source]) -> list[str]:
    """Each third-party library is imported in one file of a folder."""
    importers: dict[tuple[str, str], set[str]] = {}
    for source in sources:
        if source.room() in SOURCE_ROOMS:
            for library in _libraries(source) - SHARED:
                importers.setdefault((str(PurePosixPath(source.path).parent), library), set()).add(source.path)
    return [f"{library} is imported in {', '.join(sorted(files))}" for (_, library), files in sorted(importers.items()) if len(files) > 1]


def undeclared_libraries(sources: Sequence[Source], declared: Collection[str]) -> list[str]:
    """Every library that is imported is one that pyproject.toml asks for itself, not one that another brings along."""
    return [
        f"{source.path} imports {library}, which is not among the dependencies"
        for source in sources
        if source.room() in SOURCE_ROOMS
        for library in sorted(_libraries(source) - set(declared))
    ]


def environment_readers(sources: Sequence[Source]) -> list[str]:
    """The environment is read in one file."""
    found = []
    for source in sources:
        if source.room() not in SOURCE_ROOMS or source.path in ENVIRONMENT_FILES:
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
    """No file and no folder has a name that says nothing."""
    return [
        f"{source.path} is named {part}"
        for source in sources
        for part in PurePosixPath(source.path).with_suffix("").parts
        if set(part.lower().split("_")) & FORBIDDEN_NAMES
    ]


def long_files(sources: Sequence[Source], longer: Mapping[str, str]) -> list[str]:
    """No file exceeds its limit, but those in `longer` (path → reason), and those really do."""
    found = []
    for source in sources:
        lines, limit = len(source.text.splitlines()), TEST_LINES if source.room() == "tests" else LINES
        if lines > limit and not longer.get(source.path):
            found.append(f"{source.path} has {lines} lines, {limit} are allowed")
        if lines <= limit and source.path in longer:
            found.append(f"{source.path} has {lines} lines and needs no exception any more")
    return found + [f"{path} is an exception and is not there" for path in longer if path not in {source.path for source in sources}]


def catch_alls(sources: Sequence[Source]) -> list[str]:
    """Every exception is caught in one file only; elsewhere a cleanup that raises again is no catch."""
    found = []
    for source in sources:
        if source.room() not in SOURCE_ROOMS or source.path == CATCH_ALL_FILE:
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


def relative_imports(sources: Sequence[Source]) -> list[str]:
    """Imports are absolute."""
    return [
        f"{source.path}:{node.lineno} is a relative import"
        for source in sources
        for node in source.nodes()
        if isinstance(node, ast.ImportFrom) and node.level > 0
    ]


def full_inits(sources: Sequence[Source]) -> list[str]:
    """An `__init__.py` holds one docstring and nothing else."""
    found = []
    for source in sources:
        if source.path.endswith("/__init__.py"):
            tree = ast.parse(source.text)
            if len(tree.body) != 1 or ast.get_docstring(tree) is None:
                found.append(f"{source.path} holds more, or less, than one docstring")
    return found


def _imported(source: Source) -> set[str]:
    """Return every absolute module name that the file may import: for `from a import b` both `a` and `a.b`."""
    names: set[str] = set()
    for node in source.nodes():
        if isinstance(node, ast.Import):
            names.update(name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names.add(node.module)
            names.update(f"{node.module}.{name.name}" for name in node.names)
    return names


def _libraries(source: Source) -> set[str]:
    return {module.split(".", 1)[0] for module in _imported(source)} - sys.stdlib_module_names - set(ROOMS)


def _cycles(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """Return one cycle for each first module from which one can be walked; depth first, each module entered once."""
    found: list[list[str]] = []
    done: set[str] = set()

    def walk(module: str, way: list[str]) -> None:
        if module in way:
            found.append([*way[way.index(module) :], module])
        elif module not in done:
            for other in sorted(graph[module]):
                walk(other, [*way, module])
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
