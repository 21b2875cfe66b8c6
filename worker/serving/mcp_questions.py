"""What each MCP tool asks the worker, and what it makes of the answers.

The tools only read, and they are pure over what `LogIndex` holds, so that `/mcp` in the worker and `vectail mcp` on a person's machine are
the same. `worker.serving.mcp_tools` calls them.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeVar

from worker.asking.answers import (
    AnsweredJson,
    ChangesJson,
    CountsJson,
    FamilyJson,
    HitJson,
    HitsJson,
    LookedUpJson,
    MaskedJson,
    SeveralCountsJson,
    TemplatesJson,
)
from worker.asking.moments import shown_time
from worker.asking.places import RecordPlace
from worker.asking.question import MAX_TEXT_CHARACTERS
from worker.asking.reach import behind_text
from worker.indexing.pasted_lines import LineTemplate
from worker.serving.mcp_answer import ToolAnswer
from worker.serving.mcp_arguments import (
    AroundArguments,
    BadArgument,
    CompareArguments,
    CountsArguments,
    Filtered,
    LookupArguments,
    OverviewArguments,
    SearchArguments,
    TemplatesArguments,
    WindowArguments,
)

_TOP: Final = 20
_BUCKETS: Final = 24
_SIMILAR: Final = 3
_ALSO_SHOWN: Final = ("family", "name", "family_templates", "family_lines", "similarity", "alike", "sampled", "fields")
_NOTHING_CLOSE: Final = "Nothing in the index is close to the query. What is listed is the nearest, and may have nothing to do with it."
_TIMES: Final = ("first", "last", "time")
Answer = TypeVar("Answer")


class NotAnswered(Exception):
    """No answer came, or the query was refused; the message says why and is not log text."""


class Ask(Protocol):
    """Sends a query as docs/queries.md has them and returns its answer, which is of the kind that its form has. Raises NotAnswered."""

    async def __call__(self, query: Mapping[str, object], kind: type[Answer], /) -> Answer:
        """Ask."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogIndex:
    """What the tools ask.

    Thread: an event loop's; what it calls may work on others.
    """

    ask: Ask
    templates_of: Callable[[str, str | None], Awaitable[Sequence[LineTemplate]]]
    """What a pasted line is, in one topic or in all."""
    read_lag: Callable[[], Awaitable[Mapping[str, Any]]] | None = None
    """What `GET /api/lag` answers. None: it cannot be asked here. Raises NotAnswered."""
    now_ms: Callable[[], int]
    """Milliseconds since 1970."""


async def overview(index: LogIndex, arguments: OverviewArguments) -> ToolAnswer:
    """Tell which services, levels and topics there are, how much comes when, how far the index lags, and what is most frequent."""
    now_ms = index.now_ms()
    filters = arguments.filters(now_ms)
    by = [["service"], ["level"], ["topic"], ["time"]]
    counted = await index.ask({"as": "counts", "by": by, "top": _TOP, "buckets": _BUCKETS, "filters": filters}, SeveralCountsJson)
    *labels, volume = counted["groups"]
    frequent = await index.ask({"as": "templates", "k": 10, "filters": filters}, TemplatesJson)
    log_data = {
        **{name: [_with_times(one) for one in of["counts"]] for name, of in zip(("services", "levels", "topics"), labels, strict=True)},
        "volume": [{"time": shown_time(one["time"]), "lines": one["lines"]} for one in volume["counts"]],
        "top_templates": [_template(one) for one in frequent["templates"]],
    }
    lag, notes = await _lag(index)
    lines = sum(one["lines"] for one in volume["counts"])
    facts = {"window": _shown_window(arguments.window(now_ms)), "lines": lines, "bucket_s": volume.get("bucket_ms", 0) / 1000, "lag": lag}
    notes += [*_of_reach(counted), *([] if lines else [await _why_empty(index, arguments)])]
    return ToolAnswer(log_data=log_data, facts=facts, notes=tuple(notes), complete=counted["complete"] and frequent["complete"])


async def search(index: LogIndex, arguments: SearchArguments) -> ToolAnswer:
    """Find the lines that fit a question best."""
    now_ms = index.now_ms()
    filters = arguments.filters(now_ms)
    if arguments.query is None and not filters.keys() & {"family", "template"}:
        raise BadArgument("query: say what to look for, or name a family or a template")
    wanted = {"text": arguments.query, "mode": arguments.mode, "per_family": arguments.per_family}
    query = {"k": arguments.k, "filters": filters, **{name: value for name, value in wanted.items() if value is not None}}
    answer = await index.ask(query, HitsJson)
    notes = _of_closeness(answer) if answer["hits"] else (await _why_empty(index, arguments),)
    facts = {"window": _shown_window(arguments.window(now_ms)), **({"mode": answer["mode"]} if "mode" in answer else {})}
    hits = [_line(one) for one in answer["hits"]]
    return ToolAnswer(log_data={"hits": hits}, facts=facts, notes=(*_of_reach(answer), *notes), complete=answer["complete"])


async def templates(index: LogIndex, arguments: TemplatesArguments) -> ToolAnswer:
    """List families of templates, or templates, most frequent first or nearest to a question first."""
    now_ms = index.now_ms()
    about = {} if arguments.query is None else {"text": arguments.query, "mode": "dense"}
    expand = {"expand": True} if arguments.expand else {}
    query = {"as": "templates", "k": arguments.k, "filters": arguments.filters(now_ms), **about, **expand}
    answer = await index.ask(query, TemplatesJson)
    notes = _of_closeness(answer) if answer["templates"] else (await _why_empty(index, arguments),)
    found = [_template(one) for one in answer["templates"]]
    facts = {"window": _shown_window(arguments.window(now_ms))}
    return ToolAnswer(log_data={"templates": found}, facts=facts, notes=(*_of_reach(answer), *notes), complete=answer["complete"])


async def counts(index: LogIndex, arguments: CountsArguments) -> ToolAnswer:
    """Count lines by one or two groupings."""
    now_ms = index.now_ms()
    query: dict[str, object] = {"as": "counts", "by": arguments.by, "top": arguments.top, "filters": arguments.filters(now_ms)}
    query |= {} if arguments.buckets is None else {"buckets": arguments.buckets}
    query |= {} if arguments.query is None else {"text": arguments.query}
    answer = await index.ask(query, CountsJson)
    notes = _of_closeness(answer) or (() if answer["counts"] else (await _why_empty(index, arguments),))
    facts = {
        "window": _shown_window(arguments.window(now_ms)),
        **({"bucket_s": answer["bucket_ms"] / 1000} if "bucket_ms" in answer else {}),
    }
    log_data = {"counts": [_with_times(one) for one in answer["counts"]], "families": answer.get("families", [])}
    return ToolAnswer(log_data=log_data, facts=facts, notes=(*_of_reach(answer), *notes), complete=answer["complete"])


async def compare(index: LogIndex, arguments: CompareArguments) -> ToolAnswer:
    """Tell what is new, gone, more or less frequent in a window than in another."""
    now, before = arguments.windows(index.now_ms())
    filters = {**arguments.filters(index.now_ms()), **now.filters()}
    query: dict[str, object] = {"as": "compare", "filters": filters, "compare": before.filters(), "k": arguments.k}
    query |= {} if arguments.query is None else {"text": arguments.query}
    query |= {"expand": True} if arguments.expand else {}
    answer = await index.ask(query, ChangesJson)
    changes: dict[str, list[dict[str, object]]] = {"new": [], "gone": [], "up": [], "down": []}
    for one in answer["compare"]:
        shown = _with_times({name: value for name, value in one.items() if name != "change" and value is not None})
        changes.setdefault(one["change"], []).append(shown)
    totals = answer["totals"]
    notes = _of_closeness(answer) or (() if any(totals.values()) else (await _why_empty(index, arguments),))
    facts = {"window": _shown_window(now), "compared_with": _shown_window(before), "totals": totals}
    return ToolAnswer(log_data=changes, facts=facts, notes=(*_of_reach(answer), *notes), complete=answer["complete"])


async def around(index: LogIndex, arguments: AroundArguments) -> ToolAnswer:
    """Show the lines before and after one, in their partition or with a value in common."""
    answer = await index.ask({"around": arguments.query()}, HitsJson)
    where = arguments.where.strip()
    lines = [one | ({"here": True} if one["where"] == where else {}) for one in map(_line, answer["hits"])]
    notes = () if lines else ("There is no line at this place: it may have expired, be a dead letter, or never have been there.",)
    same = answer.get("same")
    if same is not None and same["value"] is None and lines:
        notes = (f"The line has no {same['name']}: leave out `by` to see the records around it.",)
    log_data = {"lines": lines, **({} if same is None else {"same": same})}
    return ToolAnswer(log_data=log_data, facts={"where": where}, notes=(*_of_reach(answer), *notes), complete=answer["complete"])


async def lookup(index: LogIndex, arguments: LookupArguments) -> ToolAnswer:
    """Tell what kind of line a pasted one is, how often that kind came, since when, and whether it is new."""
    new_since_ms = arguments.new_since_ms(index.now_ms())
    answer = await look_up(index, arguments.line, arguments.topic, new_since_ms)
    facts: dict[str, object] = {"found": answer["found"], "new_since": shown_time(new_since_ms)}
    if answer["found"]:
        return await _known(index, answer, facts | {"is_new": answer["is_new"]})
    note = (
        "No line of this kind is in the index, as the line is masked here: it is new, or it was long and stored in pieces, or the worker"
        " masks it otherwise. `similar` has the nearest kinds; a score of 1 is the same kind."
    )
    log_data = {"masked": answer["masked"], "similar": [_template(one) for one in answer["templates"]]}
    return ToolAnswer(log_data=log_data, facts=facts, notes=(*_of_reach(answer), note), complete=answer["complete"])


async def look_up(index: LogIndex, line: str, topic: str | None, new_since_ms: int) -> LookedUpJson:
    """Return the templates of a pasted line, or the nearest ones. Raises NotAnswered."""
    kinds = await index.templates_of(line, topic)
    ids = [one.template for one in kinds]
    asked = {"as": "templates", "expand": True}
    found: TemplatesJson = {"templates": [], "complete": True}
    if ids:
        found = await index.ask({**asked, "k": len(ids), "filters": {"template": ids}}, TemplatesJson)
    is_found, is_new = bool(found["templates"]), None
    if is_found:
        is_new = min(one["first"] for one in found["templates"]) >= new_since_ms
        if is_new and await _begins_ms(index) >= new_since_ms:
            is_new = None
    else:
        nearest = {"k": _SIMILAR, "text": line[:MAX_TEXT_CHARACTERS], "operators": False, "mode": "dense"}
        found = await index.ask({**asked, **nearest}, TemplatesJson)
    masked: list[MaskedJson] = [{"template": one.template, "text": one.text, "topics": [*one.topics]} for one in kinds]
    return {**found, "found": is_found, "is_new": is_new, "masked": masked}


async def _begins_ms(index: LogIndex) -> int:
    """Return the time of the first line of the index."""
    answer = await index.ask({"as": "counts", "by": ["topic"], "top": 1_000}, CountsJson)
    return min((one["first"] for one in answer["counts"]), default=0)


async def _known(index: LogIndex, found: LookedUpJson, facts: Mapping[str, object]) -> ToolAnswer:
    """Return what is known of templates that are in the index, with the totals of their families and when their lines came."""
    families = list(dict.fromkeys(one["family"] for one in found["templates"]))
    whole = await index.ask({"as": "templates", "k": len(families), "filters": {"family": families}}, TemplatesJson)
    ids = [one["template"] for one in found["templates"]]
    topics = {one["template"]: one["topics"] for one in found["masked"]}
    volume = await index.ask({"as": "counts", "by": ["time"], "buckets": _BUCKETS, "filters": {"template": ids}}, CountsJson)
    log_data = {
        "templates": [_template(one) | {"topics": topics[one["template"]]} for one in found["templates"]],
        "families": [_template(one) for one in whole["templates"] if one["templates"] > 1],
        "volume": [{"time": shown_time(one["time"]), "lines": one["lines"]} for one in volume["counts"]],
    }
    complete = found["complete"] and whole["complete"] and volume["complete"]
    facts = {**facts, "bucket_s": volume.get("bucket_ms", 0) / 1000}
    return ToolAnswer(log_data=log_data, facts=facts, notes=_of_reach(volume), complete=complete)


async def _lag(index: LogIndex) -> tuple[list[dict[str, object]] | None, list[str]]:
    """Return how far each group lags, and notes about it; None if it is unknown."""
    if index.read_lag is None:
        return None, ["The lag is known over HTTP only; `vectail lag` shows it."]
    try:
        answer = await index.read_lag()
    except NotAnswered as error:
        return None, [f"The lag is unknown: {error}"]
    if answer.get("error"):
        return None, [f"The lag is unknown: {answer['error']}"]
    names = ("group", "kind", "state", "records", "seconds", "outlook", "caught_up_in_s")
    return [{name: one.get(name) for name in names} for one in answer["groups"]], []


def _of_closeness(answer: AnsweredJson) -> tuple[str, ...]:
    """Return a note where nothing that was found has to do with the question."""
    return (_NOTHING_CLOSE,) if answer.get("nothing_close") else ()


def _of_reach(answer: AnsweredJson) -> tuple[str, ...]:
    """Return a note where records still wait in Kafka."""
    return (said,) if (said := behind_text(answer)) else ()


async def _why_empty(index: LogIndex, arguments: Filtered) -> str:
    """Return why no line passes the filters, and what to try."""
    answer = await index.ask({"as": "counts", "by": ["topic"], "top": 1_000}, CountsJson)
    if not answer["counts"]:
        return "The index holds no lines yet."
    lines = sum(one["lines"] for one in answer["counts"])
    first, last = min(one["first"] for one in answer["counts"]), max(one["last"] for one in answer["counts"])
    window = arguments.window(index.now_ms())
    is_outside = (window.since_ms is not None and window.since_ms > last) or (window.until_ms is not None and window.until_ms <= first)
    advice = "the window lies outside: set since and until" if is_outside else "widen the window (since: all), or drop filters"
    return f"Nothing was found. The index holds {lines:,} lines, logged from {shown_time(first)} to {shown_time(last)}: {advice}."


def _line(one: HitJson) -> dict[str, object]:
    """Return a line, or a hit, as an answer has it: without what is empty."""
    shown: dict[str, object] = {
        "time": shown_time(one["time"]),
        "level": one["level"],
        "service": one["service"],
        "text": one["text"],
        "where": str(RecordPlace(one["topic"], one["partition"], one["offset"])),
        "template": one["template"],
        **{name: value for name, value in one.items() if name in _ALSO_SHOWN},
    }
    if "score" in one:
        shown["score"] = round(one["score"], 4)
    if one.get("chunks", 1) > 1:
        shown["piece"] = f"{one['chunk'] + 1} of {one['chunks']}"
    if one["text"] is None:
        shown["template_text"] = one["template_text"]
    return {name: value for name, value in shown.items() if value not in (None, "", {})}


def _template(one: FamilyJson) -> dict[str, object]:
    """Return a family or a template of a listing as an answer has it."""
    shown = _with_times({name: value for name, value in one.items() if value is not None})
    return shown | ({"score": round(one["score"], 4)} if "score" in one else {})


def _with_times(one: Mapping[str, object]) -> dict[str, object]:
    return {name: shown_time(value) if name in _TIMES and isinstance(value, int) else value for name, value in one.items()}


def _shown_window(window: WindowArguments) -> dict[str, str] | str:
    """Return the ends of a window that are set, or that it has none."""
    return {name.removesuffix("_ms"): shown_time(value) for name, value in window.filters().items()} or "all"
