"""The files of the page that people open: read once, sent as they are. They hold no data, so they need no token.

One of them, `filters.js`, is made of `worker.asking.filters`, so that the page offers the filters that there are.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from worker.asking.filters import EXCLUDES, FILTERS, Of, option_of

FOLDER: Final = Path(__file__).parent / "page"
INDEX: Final = "index.html"
FILTERS_MODULE: Final = "filters.js"
_TYPE_OF: Mapping[str, str] = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
}

_FILTERS_HEAD: Final = """\
// The filters that there are, as the worker that serves this page declares them.

/**
 * @typedef {{name: string, kind: "list" | "pairs" | "text", label: string, option: string, excludes: boolean, chooses: boolean,
 *   isId: boolean}} Filter `kind`: a list of texts, lists of texts by name, one text; `option`: of the command line; `chooses`: it wants
 *   certain templates
 */
/** @type {Filter[]} */
"""
_MISSING: Final = """\
<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Not found · vectail</title>
<link rel="icon" href="{home}page/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="{home}page/style.css">
<main><h1>There is no such page</h1><p><a href="{home}">Search the logs</a></p></main>
"""


class PageFile(NamedTuple):
    """One file."""

    body: bytes
    content_type: str
    etag: str

    def is_known(self, if_none_match: str | None) -> bool:
        """Whether the browser has it already, as its `If-None-Match` says."""
        given = {tag.strip().removeprefix("W/") for tag in (if_none_match or "").split(",")}
        return self.etag in given or "*" in given


def read_page_files(folder: Path = FOLDER) -> Mapping[str, PageFile]:
    """Return the files by name. Names are looked up among these only, so no request can name another file."""
    found = sorted(file for file in folder.glob("*") if file.suffix in _TYPE_OF and file.is_file()) if folder.is_dir() else []
    return {file.name: _page_file(file.read_bytes(), file.suffix) for file in found}


def made_page_files() -> Mapping[str, PageFile]:
    """Return the files by name that are in no folder."""
    return {FILTERS_MODULE: _page_file(filters_module(FILTERS).encode(), ".js")}


def missing_page(path: str) -> bytes:
    """Return what a person sees at a path that there is none of; its links also hold behind a proxy that serves the page in a folder."""
    return _MISSING.format(home="../" * (path.count("/") - 1) or "./").encode()


def filters_module(filters: Mapping[str, Of]) -> str:
    """Return the page's module with its list of filters."""
    listed = [
        {
            "name": name,
            "kind": of.kind,
            "label": name.removeprefix(EXCLUDES),
            "option": option_of(name),
            "excludes": name.startswith(EXCLUDES),
            "chooses": of.names_templates and not name.startswith(EXCLUDES),
            "isId": of.digits > 0,
        }
        for name, of in filters.items()
    ]
    rows = "".join(f"  {json.dumps(one)},\n" for one in listed)
    return f"{_FILTERS_HEAD}export const FILTERS = [\n{rows}];\n"


def _page_file(body: bytes, suffix: str) -> PageFile:
    return PageFile(body, _TYPE_OF[suffix], f'"{hashlib.sha256(body).hexdigest()[:32]}"')
