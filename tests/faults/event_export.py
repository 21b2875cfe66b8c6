"""Compares an export with the lines that records must leave: each once, where it belongs, and nothing else."""

import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from tests.faults.event_records import Kind, lines_in
from tests.faults.event_topics import Entry, Place
from tests.faults.pages import Pages

_SHOWN = 10


def read_export(pages: Pages, until_ms: int) -> list[Entry]:
    """Return everything before this time, and check that as much is counted."""
    only = {"filters": {"until_ms": until_ms}}
    status, body = pages.post("/api/export", only)
    assert status == 200, body
    *lines, end = [json.loads(line) for line in body.splitlines()]
    assert (end["export"]["state"], end["export"]["lines"]) == ("complete", len(lines)), end
    entries = entries_of(lines)
    status, body = pages.post("/api/counts", {"by": ["topic"], "top": 1000, **only})
    counted = {row["topic"]: row["lines"] for row in json.loads(body)["counts"]}
    assert counted == Counter(entry.place.topic for entry in entries), "counts and the export differ"
    return entries


def entries_of(lines: Sequence[Mapping[str, Any]]) -> list[Entry]:
    """Join the chunks of exported lines; a chunk that comes twice makes a text with it twice."""
    chunks: defaultdict[tuple[Place, int, int], list[tuple[int, int, str]]] = defaultdict(list)
    for line in lines:
        chunks[Place(line["topic"], line["partition"]), line["offset"], line["sub"]].append((line["chunk"], line["chunks"], line["text"]))
    entries = []
    for key, found in sorted(chunks.items()):
        assert sorted({number for number, _, _ in found}) == list(range(found[0][1])), f"chunks are missing of {key}: {found}"
        entries.append(Entry(*key, "".join(text for _, _, text in sorted(found))))
    return entries


def differences(
    entries: Sequence[Entry], wanted: Mapping[tuple[Place, int], tuple[str, ...]], kinds: Mapping[str, Kind]
) -> list[str]:  # fmt: skip
    """Say where entries are not exactly the wanted lines of each record, however they are grouped; the first few, and how many more."""
    found: defaultdict[tuple[Place, int], list[str]] = defaultdict(list)
    for entry in entries:
        for at, line in enumerate(lines_in(kinds[entry.place.topic], entry.text)):
            found[entry.place, entry.offset + at].append(line)
    wrong = sorted(key for key in found.keys() | wanted.keys() if tuple(found.get(key, ())) != wanted.get(key, ()))
    said = [f"{key[0]} at {key[1]}: {found.get(key, [])}, not {list(wanted.get(key, ()))}" for key in wrong]
    return said[:_SHOWN] + ([f"and {len(said) - _SHOWN} more records"] if len(said) > _SHOWN else [])
