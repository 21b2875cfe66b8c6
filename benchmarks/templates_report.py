"""Turns groups into figures, and shows figures and mistakes as a person reads them.

Pure: `benchmarks.templates` passes in the measurements and prints the result.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from benchmarks.templates_logs import System
from benchmarks.templates_scores import Scores, labels_by_group, mean_of, score, splits_gone

LIMIT = 8
_WIDTH = 150


class GroupedSystem(NamedTuple):
    """A system, and of each of its lines the template text and the family."""

    system: System
    templates: list[str]
    families: list[str]


def figures_of(grouped: Sequence[GroupedSystem]) -> dict[str, Any]:
    """Return the figures of some systems."""
    templates = [score(of.templates, of.system.labels) for of in grouped]
    families = [score(of.families, of.system.labels) for of in grouped]
    coarser = mean_of(families)
    return {
        **scores_of(templates),
        "family_ga": coarser.ga,
        "family_fga": coarser.fga,
        "family_mixed_share": coarser.mixed_share,
        "families": coarser.groups,
        "family_splits_gone": splits_gone(templates, families),
    }


def scores_of(scores: Sequence[Scores]) -> dict[str, Any]:
    """Return the scores of some systems: means of shares, sums of counts."""
    found = mean_of(scores)._asdict()
    return {name: found[name] for name in ("ga", "fga", "mixed_share")} | {"templates": found["groups"], "labels": found["labels"]}


def show_mistakes(of: GroupedSystem, texts: Sequence[str], show: Callable[[str], None], *, families: bool, limit: int) -> None:
    """Show which labels have several groups and which groups have several labels, those of most lines first.

    A group is a template, or a family with one of its templates to tell it by. Each label shows at most `limit` groups.
    """
    groups = of.families if families else of.templates
    labels, label_texts = of.system.labels, {line.label.event: line.label_text for line in of.system.lines}
    found = score(groups, labels)
    show(f"{of.system.name}: GA {found.ga:.4f}, FGA {found.fga:.4f}, mixed {found.mixed_share:.4f}, {found.groups}/{found.labels} labels")
    example = dict(zip(reversed(groups), reversed(of.templates), strict=True))
    text_of = dict(zip(reversed(groups), reversed(texts), strict=True))
    split = {label: groups_of for label, groups_of in labels_by_group(labels, groups).items() if len(groups_of) > 1}
    show(f"{len(split)} labels are split:")
    for label, groups_of in _largest_first(split):
        show(f"  {label} {_cut(label_texts[label])}  ({groups_of.total()} lines, {len(groups_of)} groups)")
        for group, lines in groups_of.most_common(limit):
            show(f"    {lines:5} {_cut(example[group])}")
        if len(groups_of) > limit:
            show(f"          … {len(groups_of) - limit} more")
    mixed = {group: labels_of for group, labels_of in labels_by_group(groups, labels).items() if len(labels_of) > 1}
    show(f"{len(mixed)} groups mix labels:")
    for group, labels_of in _largest_first(mixed):
        show(f"  {_cut(example[group])}  (as in: {_cut(text_of[group])})")
        for label, lines in labels_of.most_common(limit):
            show(f"    {lines:5} {label} {_cut(label_texts[label])}")


def _largest_first(found: Mapping[str, Counter[str]]) -> list[tuple[str, Counter[str]]]:
    return sorted(found.items(), key=lambda pair: (-len(pair[1]), -pair[1].total(), pair[0]))


def _cut(text: str) -> str:
    return text if len(text) <= _WIDTH else text[:_WIDTH] + "…"
