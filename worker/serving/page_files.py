"""The files of the page that people open: read once, sent as they are. They hold no data, so they need no token."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

FOLDER: Final = Path(__file__).parent / "page"
INDEX: Final = "index.html"
_TYPE_OF: Mapping[str, str] = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
}


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
    return {file.name: _page_file(file) for file in found}


def _page_file(file: Path) -> PageFile:
    body = file.read_bytes()
    return PageFile(body, _TYPE_OF[file.suffix], f'"{hashlib.sha256(body).hexdigest()[:32]}"')
