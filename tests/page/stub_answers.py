"""What the stub world's query lane answers: the shapes of docs/queries.md over a list of lines, by plain Python.

Meaning is words in common: enough to test a page, and a test can tell the answer beforehand. Requests are checked by the product's own
model, so a page that asks for what the worker would refuse is found out.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

from tests.page.stub_lines import Line, newest_first
from worker.query import Filters, Query
from worker.querying.counts import width_ms

_WORD = re.compile(r"\w+")
_IDENTIFIER = re.compile(r"(?=.*\d)\S{6,}")
_LEAST_CHANGE = 2.0
FIRST_TAILED = 3
"""Lines of a tail's first answer, if all pass."""
_EXPORTED, _TAILED = 1_000, 200
"""Most lines of a window of export, and of one answer of tail."""


def answer(query: Query, lines: Sequence[Line], *, now: int) -> dict[str, Any]:
    """Return the document that answers a query; `now` is how many lines there are, where a tail stands."""
    forms = {"lines": _hits, "templates": _templates, "counts": _counts, "compare": _compare, "export": _export}
    if query.around is not None:
        found = _around(query, lines)
    elif query.form == "tail":
        found = _tail(query, lines, now)
    else:
        found = forms[query.form](query, lines)
    return {"complete": True} | found | {"seconds": {"wait": 0.001, "embed": 0.004, "search": 0.006}}


def passing(filters: Filters, lines: Sequence[Line]) -> list[Line]:
    """Return the lines that pass the filters."""
    wanted = {name: values for name in ("service", "level", "topic", "template", "family") if (values := getattr(filters, name))}
    fields = dict(filters.fields) | ({} if filters.trace_id is None else {"trace_id": [filters.trace_id]})
    return [
        line
        for line in lines
        if (filters.since_ms is None or line["time"] >= filters.since_ms)
        and (filters.until_ms is None or line["time"] < filters.until_ms)
        and all(line[name] in values for name, values in wanted.items())
        and all(str(line.get("fields", {}).get(name)) in values for name, values in fields.items())
        and all(line[name] not in getattr(filters, f"not_{name}") for name in ("service", "level", "topic", "template", "family"))
        and all(str(line.get("fields", {}).get(name)) not in values for name, values in filters.not_fields.items())
    ]


def _near(query: Query, lines: Sequence[Line]) -> dict[str, float]:
    """Return the families that have words of the text in common with it, best first; all of them without a text."""
    by_family = _by(lines, "family")
    if query.text is None:
        return dict.fromkeys(sorted(by_family, key=lambda family: -len(by_family[family])), 0.0)
    asked = set(_words(query.text))
    scores = {family: max(len(asked & set(_words(line["text"]))) for line in of) / len(asked) for family, of in by_family.items()}
    return {family: score for family, score in sorted(scores.items(), key=lambda item: -item[1]) if score > 0}


def _hits(query: Query, lines: Sequence[Line]) -> dict[str, Any]:
    there = passing(query.filters, lines)
    by_family = _by(there, "family")
    if query.text is not None and _IDENTIFIER.fullmatch(query.text):
        found = [line for line in newest_first(there) if query.text in line["text"] or query.text in str(line.get("fields", {}))]
        scores = {line["family"]: 100.0 for line in found}
    else:
        scores = _near(query, there)
        bound = query.per_family or query.per_template or (None if query.filters.family or query.filters.template else 1)
        found = [line for family in scores for line in newest_first(by_family[family])[:bound]]
    hits = [_hit(line, by_family, scores if query.text else {}) for line in found[: query.k]]
    return {"hits": hits} | ({"mode": query.mode or "hybrid"} if query.text else {})


def _hit(line: Line, by_family: dict[str, list[Line]], scores: dict[str, float]) -> dict[str, Any]:
    of = by_family[line["family"]]
    figures = {"family_templates": len({one["template"] for one in of}), "family_lines": len(of)}
    score = {"score": round(scores[line["family"]], 6)} if line["family"] in scores else {}
    return score | line | figures


def _templates(query: Query, lines: Sequence[Line]) -> dict[str, Any]:
    there = passing(query.filters, lines)
    key = "template" if query.expand else "family"
    scores = _near(query, there)
    groups = sorted(_by([line for line in there if line["family"] in scores], key).values(), key=lambda of: -len(of))
    listed = [_listed(of, key) | ({"score": scores[of[0]["family"]]} if query.text else {}) for of in groups[: query.k]]
    return {"templates": listed}


def _listed(of: Sequence[Line], key: str) -> dict[str, Any]:
    times = [line["time"] for line in of]
    frequent = Counter(line["template_text"] for line in of).most_common(1)[0][0]
    shown = {"family": of[0]["family"], "text": frequent, "lines": len(of), "first": min(times), "last": max(times)}
    shown["example"] = newest_first(of)[0]["text"]
    if key == "template":
        return shown | {"template": of[0]["template"]} | _name(of[0])
    return shown | {"templates": len({line["template"] for line in of})} | _name(of[0])


def _counts(query: Query, lines: Sequence[Line]) -> dict[str, Any]:
    there = passing(query.filters, lines)
    if query.text is not None:
        near = _near(query, there)
        there = [line for line in there if line["family"] in near]
    by = query.by or (["template"] if query.buckets is None else ["time"])
    by = [*(name for name in by if name == "time"), *(name for name in by if name != "time")]
    width = {}
    if "time" in by and there:
        since_ms = min(line["time"] for line in there) if query.filters.since_ms is None else query.filters.since_ms
        until_ms = max(line["time"] for line in there) + 1 if query.filters.until_ms is None else query.filters.until_ms
        width = {"bucket_ms": width_ms(since_ms, until_ms, query.buckets or 60)}
    groups: dict[tuple[Any, ...], list[Line]] = defaultdict(list)
    for line in there:
        for key in _keys(line, by, width.get("bucket_ms", 1)):
            groups[key].append(line)
    top = Counter({key: sum(len(of) for full, of in groups.items() if _without_time(full, by) == key) for key in _tops(groups, by)})
    kept = {key for key, _ in top.most_common(query.top or 20)}
    rows = [_row(key, by, of) for key, of in groups.items() if _without_time(key, by) in kept]
    rows.sort(key=lambda row: row["time"] if "time" in by else -row["lines"])
    return {"counts": rows, "by": by, **width}


def _row(key: tuple[Any, ...], by: Sequence[str], of: Sequence[Line]) -> dict[str, Any]:
    times = [line["time"] for line in of]
    shown = dict(zip(by, key, strict=True)) | {"lines": len(of), "first": min(times), "last": max(times)}
    return shown | ({"text": of[0]["template_text"]} | _name(of[0]) if {"family", "template"} & set(by) else {})


def _tops(groups: dict[tuple[Any, ...], list[Line]], by: Sequence[str]) -> set[tuple[Any, ...]]:
    return {_without_time(key, by) for key in groups}


def _without_time(key: tuple[Any, ...], by: Sequence[str]) -> tuple[Any, ...]:
    return key[1:] if by[0] == "time" else key


def _keys(line: Line, by: Sequence[str], bucket_ms: int) -> list[tuple[Any, ...]]:
    """Return the groups that a line is in: one, or one for each of its fields."""
    if by == ["field"]:
        return [(name,) for name in line.get("fields", {})]
    return [tuple(_key(line, name, bucket_ms) for name in by)]


def _key(line: Line, name: str, bucket_ms: int) -> Any:  # noqa: ANN401 - a time or a label
    if name == "time":
        return line["time"] // bucket_ms * bucket_ms
    if name.startswith("field:"):
        return str(line.get("fields", {}).get(name.removeprefix("field:"), ""))
    return line[name]


def _around(query: Query, lines: Sequence[Line]) -> dict[str, Any]:
    place = query.around
    assert place is not None
    found = [
        line
        for line in lines
        if (line["topic"], line["partition"]) == (place.topic, place.partition)
        and place.offset - place.before <= line["offset"] <= place.offset + place.after
    ]
    return {"hits": sorted(found, key=lambda line: (line["offset"], line["sub"]))}


def _compare(query: Query, lines: Sequence[Line]) -> dict[str, Any]:
    then = query.compare
    assert then is not None
    now_lines = passing(query.filters, lines)
    before_lines = passing(query.filters.model_copy(update={"since_ms": then.since_ms, "until_ms": then.until_ms}), lines)
    key = "template" if query.expand else "family"
    now, before = _by(now_lines, key), _by(before_lines, key)
    found = [entry for one in {**now, **before} if (entry := _change(now.get(one, []), before.get(one, []), key))]
    found.sort(key=lambda entry: -max(entry["lines"], entry["before"]))
    return {"compare": found, "totals": {"lines": len(now_lines), "before": len(before_lines)}}


def _change(now: Sequence[Line], before: Sequence[Line], key: str) -> dict[str, Any] | None:
    ratio = len(now) / len(before) if before else None
    if ratio is None:
        change = "new"
    elif not now:
        change = "gone"
    elif 1 / _LEAST_CHANGE < ratio < _LEAST_CHANGE:
        return None
    else:
        change = "up" if ratio > 1 else "down"
    listed = _listed(now or before, key)
    return (
        listed
        | {"change": change, "before": len(before), "lines": len(now), "ratio": ratio}
        | ({"templates": 1} if key == "template" else {})
    )


def _export(query: Query, lines: Sequence[Line]) -> dict[str, Any]:
    there = sorted(passing(query.filters, lines), key=lambda line: line["time"])
    if query.text is not None:
        near = _near(query, there)
        there = [line for line in there if line["family"] in near]
    last_ms = max((line["time"] for line in lines), default=0)
    end_ms = last_ms + 1 if query.filters.until_ms is None else query.filters.until_ms
    most = query.k if "k" in query.model_fields_set else _EXPORTED
    until_ms = end_ms if len(there) <= most else there[most - 1]["time"] + 1
    rest = None
    if until_ms < end_ms:
        asked = query.model_dump(by_alias=True, exclude_unset=True, mode="json")
        rest = asked | {"as": "export", "filters": asked.get("filters", {}) | {"since_ms": until_ms, "until_ms": end_ms}}
    return {"lines": [line for line in there if line["time"] < until_ms], "until_ms": until_ms, "end_ms": end_ms, "next": rest}


def _tail(query: Query, lines: Sequence[Line], now: int) -> dict[str, Any]:
    seen = max(now - FIRST_TAILED, 0) if query.after is None else int(query.after.partition(".")[2])
    fresh = passing(query.filters, lines[seen:now])
    if query.text is not None:
        near = _near(query, fresh)
        fresh = [line for line in fresh if line["family"] in near]
    most = query.k if "k" in query.model_fields_set else _TAILED
    return {"lines": fresh[-most:], "cursor": f"00000000.{now}", "dropped": max(len(fresh) - most, 0)}


def _by(lines: Sequence[Line], name: str) -> dict[str, list[Line]]:
    groups: dict[str, list[Line]] = defaultdict(list)
    for line in lines:
        groups[line[name]].append(line)
    return groups


def _name(line: Line) -> dict[str, str]:
    return {"name": line["name"]} if "name" in line else {}


def _words(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(text) if not word.isdigit()]
