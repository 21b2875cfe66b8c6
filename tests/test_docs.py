"""The documentation names what exists: links, anchors, files, settings, metrics, headings that the code refers to, and every alert.

Each check is a pure function over a tree of texts and is shown to find a planted violation.
"""

import fnmatch
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from posixpath import normpath
from typing import NamedTuple

import pytest

from tests.rows import rows

ROOT = Path(__file__).parents[1]
README_LINES = 130
ALERT_RULES = "deploy/prometheus/rules/vectail.yml"
DESIGN, OPERATIONS = "docs/design.md", "docs/operations.md"
SETTINGS, METRICS = "docs/settings.md", "docs/metrics.md"
_FOLDERS = ("benchmarks", "consumers", "deploy", "docs", "producers", "sinks", "tests", "worker", ".ci")
_SOURCES = ("benchmarks", "consumers", "producers", "sinks", "tests", "worker")
_FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_CODE = re.compile(r"`([^`\n]+)`")
_PATH = re.compile(rf"(?:{'|'.join(map(re.escape, _FOLDERS))})(?:/[\w.*-]+)*/?")
_MODULE = re.compile(r"[\w-]+\.py")
_HEADING = re.compile(r"^#+ +(.+?) *$", re.MULTILINE)
_REFERENCE = re.compile(r"\(design:\s+([^)]+)\)")


class Tree(NamedTuple):
    """A project: the texts that are checked, and every path that exists, files and folders."""

    texts: Mapping[str, str]
    paths: frozenset[str]

    def pages(self) -> Iterator[tuple[str, str]]:
        return ((path, text) for path, text in self.texts.items() if path.endswith(".md"))


def read_tree(root: Path) -> Tree:
    """Read the pages, the sources and the alert rules below `root`."""
    pages = [*root.glob("*.md"), *(root / "docs").glob("*.md"), root / "benchmarks/README.md", root / "tests/README.md"]
    sources = [file for folder in _SOURCES for file in (root / folder).rglob("*.py")]
    texts = {file.relative_to(root).as_posix(): file.read_text(encoding="utf-8") for file in [*pages, *sources, root / ALERT_RULES]}
    below = [path for folder in _FOLDERS for path in [root / folder, *(root / folder).rglob("*")]]
    found = [path for path in [*below, *root.glob("*")] if "__pycache__" not in path.parts]
    return Tree(texts, frozenset(path.relative_to(root).as_posix() for path in found))


def anchors(page: str) -> set[str]:
    """Return the anchors that GitHub gives the headings of a page."""
    seen: dict[str, int] = {}
    found = set()
    for heading in _HEADING.findall(_FENCE.sub("", page)):
        slug = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        number = seen.get(slug, 0)
        seen[slug] = number + 1
        found.add(f"{slug}-{number}" if number else slug)
    return found


def broken_links(tree: Tree) -> list[str]:
    """A relative link leads to a file or folder, and its anchor to a heading."""
    found = []
    for path, text in tree.pages():
        for link in _LINK.findall(_CODE.sub("", _FENCE.sub("", text))):
            if re.match(r"[a-z]+:", link):
                continue
            file, _, anchor = link.partition("#")
            target = normpath(str(PurePosixPath(path).parent / file)) if file else path
            if target not in tree.paths:
                found.append(f"{path} links to {link}, which does not exist")
            elif anchor and anchor not in anchors(tree.texts.get(target, "")):
                found.append(f"{path} links to {link}, which is no heading there")
    return found


def unknown_paths(tree: Tree) -> list[str]:
    """A path in backticks exists; one with a `*` matches something."""
    modules = {PurePosixPath(path).name for path in tree.paths}
    return [
        f"{path} names {name}, which does not exist"
        for path, text in tree.pages()
        for name in [word for code in _CODE.findall(_FENCE.sub("", text)) for word in code.split()]
        if (_MODULE.fullmatch(name) and name not in modules) or (_PATH.fullmatch(name) and not _exists(tree, path, name.rstrip("/")))
    ]


def _exists(tree: Tree, page: str, name: str) -> bool:
    """Whether a path exists below the root, or beside its page as those of tests/README.md do; a bare word is no path."""
    is_word = "/" not in name
    return is_word or bool(fnmatch.filter(tree.paths, name)) or normpath(str(PurePosixPath(page).parent / name)) in tree.paths


def unknown_names(tree: Tree) -> list[str]:
    """A setting or metric in backticks is one of the generated pages. The changelog also names those that are gone."""
    settings = {*re.findall(r"^### `(\w+\.\w+)`", tree.texts[SETTINGS], re.MULTILINE)}
    metrics = {*re.findall(r"`(vectail_\w+)`", tree.texts[METRICS])}
    tables = {name.partition(".")[0] for name in settings}
    return [
        f"{path} names {name}, which is no {'metric' if name.startswith('vectail_') else 'setting'}"
        for path, text in tree.pages()
        if path not in {"CHANGELOG.md", SETTINGS, METRICS}
        for name in [word for code in _CODE.findall(_FENCE.sub("", text)) for word in code.split()]
        if (re.fullmatch(r"vectail_\w+", name) and name not in metrics)
        or (re.fullmatch(r"\w+\.[a-z_]+", name) and name.partition(".")[0] in tables and name not in settings)
    ]


def unknown_references(tree: Tree) -> list[str]:
    """What the code calls "(design: X)" is a heading of the design."""
    there = anchors(tree.texts.get(DESIGN, ""))
    return [
        f"{path} refers to (design: {name}), which is no heading of {DESIGN}"
        for path, text in tree.texts.items()
        if path.endswith(".py") and path != "tests/test_docs.py"
        for name in _REFERENCE.findall(text)
        if re.sub(r"\s+", "-", name.lower()) not in there
    ]


def alerts_without_section(tree: Tree) -> list[str]:
    """Every alert has a section that says what to do, and no section is about an alert that is gone."""
    alerts = re.findall(r"^ *- alert: (\w+)$", tree.texts[ALERT_RULES], re.MULTILINE)
    sections = re.findall(r"^### (Vectail\w+)$", tree.texts[OPERATIONS], re.MULTILINE)
    missing = [f"{alert} has no section in {OPERATIONS}" for alert in sorted({*alerts} - {*sections})]
    return missing + [f"{OPERATIONS} has a section {name}, which is no alert" for name in sorted({*sections} - {*alerts})]


def long_readme(tree: Tree) -> list[str]:
    """The front page stays one."""
    lines = len(tree.texts["README.md"].splitlines())
    return [f"README.md has {lines} lines, {README_LINES} are allowed"] if lines > README_LINES else []


CHECKS: Mapping[str, Callable[[Tree], list[str]]] = {
    "links": broken_links,
    "paths": unknown_paths,
    "names": unknown_names,
    "references": unknown_references,
    "alerts": alerts_without_section,
    "readme": long_readme,
}

CLEAN = {
    "README.md": "# P\n[d](docs/design.md#row-ids) ![p](deploy/p.png) [o](#p) [w](https://example.com/x)\n```\n[no](link)\n```\n",
    "docs/design.md": "# Design\n## Errors, and more\n### Row ids\n## Sink\n## Sink\n`worker/a.py` `deploy/*.png` [s](#sink-1) `a/b`\n",
    "docs/operations.md": "# O\n### VectailDown\n[up](../README.md) [e](design.md#errors-and-more)\n",
    "tests/README.md": '`worker/test_a.py` `kafka.group = "a"` `vectail_ready` `a.b`\n',
    SETTINGS: "### `kafka.group`\n",
    METRICS: "| `vectail_ready` |\n",
    "CHANGELOG.md": "`kafka.start`\n",
    ALERT_RULES: "groups:\n  - rules:\n      - alert: VectailDown\n",
    "worker/a.py": '"""Says where (design: row\nids)."""\n',
    "tests/worker/test_a.py": "",
    "deploy/p.png": "",
}

PLANTED: Sequence[tuple[str, dict[str, str], str]] = [
    *rows("planted/docs"),
    ("alerts", {ALERT_RULES: f"{CLEAN[ALERT_RULES]}      - alert: VectailSlow\n"}, "VectailSlow has no section in docs/operations.md"),
    ("readme", {"README.md": "a line\n" * (README_LINES + 1)}, f"README.md has {README_LINES + 1} lines, {README_LINES} are allowed"),
]


def _tree(texts: Mapping[str, str]) -> Tree:
    folders = {str(folder) for path in texts for folder in PurePosixPath(path).parents}
    return Tree(texts, frozenset({*texts, *folders}))


@pytest.mark.parametrize("check", CHECKS)
def test_the_documentation_keeps_it(check: str) -> None:
    tree = read_tree(ROOT)
    assert {"README.md", DESIGN, OPERATIONS, "consumers/ledger.py"} <= tree.texts.keys()
    assert CHECKS[check](tree) == []


@pytest.mark.parametrize(("check", "files", "expected"), PLANTED, ids=[f"{number}-{planted[0]}" for number, planted in enumerate(PLANTED)])
def test_what_was_planted_is_found_and_nothing_else(check: str, files: dict[str, str], expected: str) -> None:
    assert CHECKS[check](_tree(CLEAN | files)) == [expected]


def test_every_check_has_a_planted_violation() -> None:
    assert {check for check, _, _ in PLANTED} == set(CHECKS)


def test_the_code_refers_to_the_design() -> None:
    assert any(_REFERENCE.search(text) for path, text in read_tree(ROOT).texts.items() if path.startswith("consumers/"))
