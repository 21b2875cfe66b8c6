"""Turns groups into figures, and shows figures and mistakes as a person reads them.

Pure: `benchmarks.templates` passes in the measurements and prints the result.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from benchmarks.templates_logs import System
from benchmarks.templates_scores import Scores, labels_by_group, mean_of, score, splits_gone

DIGITS = 4
LIMIT = 8
_WIDTH = 150


class GroupedSystem(NamedTuple):
    """A system, and of each of its lines the template text and the family."""

    system: System
    templates: list[str]
    families: list[str]


def figures_of(grouped: Sequence[GroupedSystem]) -> dict[str, Any]:
    """Return the figures of some systems: means of shares, sums of counts."""
    templates = [score(of.templates, of.system.labels) for of in grouped]
    families = [score(of.families, of.system.labels) for of in grouped]
    gone = splits_gone(templates, families)
    coarser = mean_of(families)
    return {
        **scores_of(templates),
        "family_ga": round(coarser.ga, DIGITS),
        "family_fga": round(coarser.fga, DIGITS),
        "family_mixed_share": round(coarser.mixed_share, DIGITS),
        "families": coarser.groups,
        "family_splits_gone": None if gone is None else round(gone, DIGITS),
    }


def scores_of(scores: Sequence[Scores]) -> dict[str, Any]:
    """Return the scores of some systems: means of shares, sums of counts."""
    mean = mean_of(scores)
    return {
        "ga": round(mean.ga, DIGITS),
        "fga": round(mean.fga, DIGITS),
        "mixed_share": round(mean.mixed_share, DIGITS),
        "templates": mean.groups,
        "labels": mean.labels,
    }


def show_table(figures: Mapping[str, Any], show: Callable[[str], None]) -> None:
    """Show the figures as a person reads them."""
    show(f"{figures['systems']} systems, {figures['lines']:,} lines, {figures['labels']:,} labels; messages only, means over the systems:")
    show("")
    show("| | GA | FGA | lines in mixed groups | groups | same id everywhere | lines/s |")
    show("|---|---:|---:|---:|---:|---:|---:|")
    first = figures["version_2"]
    show(_row("templates", figures, figures))
    show(_row("families", _family(figures), {}))
    show(_row("templates, masks of version 2", first, first))
    if figures["drain3"] is not None:
        show(_row("Drain3", figures["drain3"], figures["drain3"]))
    show(_row("templates of whole lines", figures["whole"], {}))
    show(_row("families of whole lines", _family(figures["whole"]), {}))
    show(_row("whole lines, masks of version 2", first["whole"], {}))
    show("")
    gone = (_shown(of["family_splits_gone"]) for of in (figures, figures["whole"]))
    show("Splits (groups - labels) gone in families: {} of messages, {} of whole lines.".format(*gone))
    saved = (_shown(of.get("tokens_saved")) for of in (figures, first))
    show("Tokens saved, whole lines, cold: {}; by the masks of version 2 {}.".format(*saved))
    show("")
    show("| | labels | templates | GA | FGA | mixed | families | FGA | mixed | whole: templates | FGA | mixed | Drain3: FGA | mixed |")
    show("|---|" + "---:|" * 13)
    for name, of in figures["by_system"].items():
        show(f"| {name} | {' | '.join(map(_shown, _columns_of_system(of)))} |")


def _columns_of_system(of: Mapping[str, Any]) -> list[float | int | None]:
    whole, drain = of["whole"], of["drain3"] or {}
    return [
        *(of[name] for name in ("labels", "templates", "ga", "fga", "mixed_share", "families", "family_fga", "family_mixed_share")),
        *(whole[name] for name in ("templates", "fga", "mixed_share")),
        *(drain.get(name) for name in ("fga", "mixed_share")),
    ]


def _family(figures: Mapping[str, Any]) -> dict[str, Any]:
    return {name: figures[f"family_{name}"] for name in ("ga", "fga", "mixed_share")} | {"templates": figures["families"]}


def _row(name: str, scores: Mapping[str, Any], others: Mapping[str, Any]) -> str:
    shares = [scores["ga"], scores["fga"], scores["mixed_share"], scores["templates"], others.get("ids_agree"), others.get("lines_per_s")]
    return f"| {name} | {' | '.join(map(_shown, shares))} |"


def _shown(figure: float | None) -> str:
    if figure is None:
        return "-"
    return f"{figure:,}" if isinstance(figure, int) else f"{figure:.4f}"


def show_mistakes(of: GroupedSystem, texts: Sequence[str], show: Callable[[str], None], *, families: bool, limit: int) -> None:
    """Show which labels have several groups and which groups have several labels, those of most lines first.

    A group is a template, or a family with one of its templates to tell it by. Each label shows at most `limit` groups.
    """
    groups = of.families if families else of.templates
    labels, label_texts = of.system.labels, of.system.label_texts
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
