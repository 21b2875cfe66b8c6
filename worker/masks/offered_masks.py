"""Offers masks for an index: those that would merge families that differ in one word.

`GET /api/suggestions`, the doctor and `vectail demo` ask here, each with its own way to ask a worker. The sample is one line of each of the
most frequent families: two questions at most, seconds of work, and nothing on the way of a line into the index. `vectail templates
--suggest` finds masks in a file or a topic in the same manner (`suggested`).
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from consumers.columns import Column, string_column
from consumers.text.mask import MASKS, Mask, Masker
from worker.asking.worker_answers import SuggestedJson, SuggestionsJson
from worker.masks.mask_difference import MaskDifference
from worker.masks.mask_suggestions import Suggestions, suggest_masks
from worker.masks.suggested_toml import shown_suggestions
from worker.settings.masks_version import masks_version
from worker.settings.settings import Settings
from worker.settings.tables import AddedMask, MaskTable, new_masker

MOST_OFFERED: Final = 20
_MOST_LISTED: Final = 1_000
"""Templates that are listed, the most frequent; a query may ask for no more."""
_MOST_TOPICS: Final = 100
"""That a filter takes."""
_ALL: Final = "the index"

AskIndex = Callable[[Mapping[str, object]], Mapping[str, Any]]
"""Returns a worker's answer to a query."""


class _MaskedTopics(NamedTuple):
    """Topics that have the same masks."""

    table: MaskTable
    topics: tuple[str, ...]
    """Empty: all."""


def offer_masks(settings: Settings, ask: AskIndex, topic: str | None = None) -> SuggestionsJson:
    """Return masks for the topics with the most lines of those that share their masks, or for one topic. Raises what `ask` raises.

    A line counts only where today's masks make its template of its text alone: what was stored under others, pieces that depend on each
    other and source templates are left out, because no mask of a text would merge them. So are texts that hold values of their own fields:
    a listing has no fields. `lines` is 0 where that leaves none, which says nothing of the index.
    """
    table, topics = _topics(settings, ask) if topic is None else _MaskedTopics(settings.masks_of(topic), (topic,))
    filters = {"filters": {"topic": list(topics)}} if topics else {}
    answer = ask({"as": "templates", "expand": True, "k": _MOST_LISTED, **filters})
    text = string_column([] if table.mode == "exact" else _one_of_each_family(new_masker(table), answer["templates"]))
    found = suggested(table, text, top=MOST_OFFERED)
    is_own = bool(topics) and settings.topic_table(topics[0]).mask is not None
    document: SuggestionsJson = {
        "topic": topic or (topics[0] if is_own else ""),
        "table": "topic.mask" if is_own else "mask",
        "masks": masks_version(table),
        "families": _count_merged(table, text, found),
        "lines": len(text),
        "templates": found.before,
        "templates_after": found.after,
        "suggestions": suggestions_json(found),
        "toml": "",
        "complete": bool(answer["complete"]),
    }
    if found.found:
        document["toml"] = shown_suggestions({**document, "source": ", ".join(topics) or _ALL, "basis": "families", "left_out": 0})
    return document


def suggested(table: MaskTable, text: Column, *, top: int) -> Suggestions:
    """Suggest at most `top` masks for n texts, after the user's own."""
    taken = {mask.name for mask in MASKS} | {mask.name for mask in table.add}
    return suggest_masks(text, lambda added: _masker_with(table, added), taken=taken, top=top)


def suggestions_json(found: Suggestions) -> list[SuggestedJson]:
    """Return suggestions as answers and `vectail templates --suggest --json` have them."""
    return [
        {
            "name": one.mask.name,
            "pattern": one.mask.pattern,
            "replacement": one.mask.replacement,
            "templates": one.merged,
            "templates_after": one.left,
            "lines": one.lines,
            "words": one.words,
            "examples": list(one.examples),
            "template": one.template,
        }
        for one in found.found
    ]


def _topics(settings: Settings, ask: AskIndex) -> _MaskedTopics:
    """Return of the topics in the index those that share their masks and have the most lines together."""
    if all(table.mask is None for table in settings.topic):
        return _MaskedTopics(settings.mask, ())
    counts = ask({"as": "counts", "by": ["topic"], "top": _MOST_TOPICS})["counts"]
    lines: Counter[MaskTable] = Counter()
    topics: dict[MaskTable, list[str]] = {}
    for one in counts:
        table = settings.masks_of(one["topic"])
        lines[table] += one["lines"]
        topics.setdefault(table, []).append(one["topic"])
    if not lines:
        return _MaskedTopics(settings.mask, ())
    (most, _), *_ = lines.most_common(1)
    return _MaskedTopics(most, tuple(topics[most]))


def _one_of_each_family(masker: Masker, templates: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the line of the most frequent template of each family, where the masks make that template of it."""
    listed = [one for one in templates if one["example"] is not None and "family" in one]
    masked = masker.mask([one["example"] for one in listed])
    of_family: dict[str, str] = {}
    for one, template in zip(listed, masked, strict=True):
        if template == one["text"]:
            of_family.setdefault(one["family"], one["example"])
    return list(of_family.values())


def _count_merged(table: MaskTable, text: Column, found: Suggestions) -> int:
    """Return how many of the sample's families would become one with another."""
    masks = [one.mask for one in found.found]
    difference = MaskDifference()
    difference.add_lines(*(_masker_with(table, added).mask_column(text) for added in ((), masks)))
    return sum(len(one.parts) for one in difference.merged())


def _masker_with(table: MaskTable, added: Sequence[Mask]) -> Masker:
    """Return the user's masks and these. Raises BadMask."""
    more = tuple(AddedMask(name=mask.name, pattern=mask.pattern, replacement=mask.replacement) for mask in added)
    return new_masker(table.model_copy(update={"add": (*table.add, *more)}))
