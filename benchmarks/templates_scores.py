"""Scores how well groups of lines agree with the labels that people gave the lines.

Pure: `benchmarks.templates` passes in a group and a label for each line. GA is that of Zhu et al., "Tools and Benchmarks for Automated Log
Parsing" (ICSE-SEIP 2019), FGA that of Jiang et al., "A Large-Scale Evaluation for Log Parsing Techniques: How Far Are We?" (ISSTA 2024).
A group's text is not compared with a label's: all that counts is which lines are together.
"""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Sequence
from statistics import fmean
from typing import NamedTuple, TypeVar

Group = TypeVar("Group", bound=Hashable)
Label = TypeVar("Label", bound=Hashable)


class Scores(NamedTuple):
    """How the groups of one set of lines agree with their labels. Shares are of lines, between 0 and 1."""

    ga: float
    """Grouping accuracy: share of the lines whose group is exactly a label, all of its lines and no other."""
    fga: float
    """F1 of the groups: exact ones among the groups (precision) and among the labels (recall)."""
    mixed_share: float
    """Share of the lines whose group has lines of several labels."""
    groups: int
    labels: int


def score(groups: Sequence[Hashable], labels: Sequence[Hashable]) -> Scores:
    """Score the group of each of n lines, n > 0, against its label."""
    group_lines, label_lines = Counter(groups), Counter(labels)
    labels_of = labels_by_group(groups, labels)
    pure = {group: next(iter(found)) for group, found in labels_of.items() if len(found) == 1}
    exact = [group for group, label in pure.items() if group_lines[group] == label_lines[label]]
    return Scores(
        ga=sum(group_lines[group] for group in exact) / len(groups),
        fga=2 * len(exact) / (len(group_lines) + len(label_lines)),  # 2PR / (P + R), P = exact / groups, R = exact / labels
        mixed_share=sum(lines for group, lines in group_lines.items() if group not in pure) / len(groups),
        groups=len(group_lines),
        labels=len(label_lines),
    )


def mean_of(scores: Iterable[Scores]) -> Scores:
    """Return the mean of the shares, each system with the same weight, and the sums of the counts."""
    ga, fga, mixed_share, groups, labels = zip(*scores, strict=True)
    return Scores(fmean(ga), fmean(fga), fmean(mixed_share), sum(groups), sum(labels))


def splits_gone(templates: Iterable[Scores], families: Iterable[Scores]) -> float | None:
    """Return which share of the excess of templates over labels is gone in families: 1 - sum(families - labels) / sum(templates - labels).

    Summed over the systems with more templates than labels; a system with fewer families than labels counts as having as many, so that
    families that mix labels in one system do not make up for splits in another. None if no system has more templates than labels.
    """
    pairs = [(of, coarser) for of, coarser in zip(templates, families, strict=True) if of.groups > of.labels]
    before = sum(of.groups - of.labels for of, _ in pairs)
    after = sum(max(coarser.groups - coarser.labels, 0) for _, coarser in pairs)
    return 1 - after / before if before else None


def labels_by_group(groups: Sequence[Group], labels: Sequence[Label]) -> dict[Group, Counter[Label]]:
    """Return the labels of each group's lines, with how many lines each has."""
    found: dict[Group, Counter[Label]] = defaultdict(Counter)
    for group, label in zip(groups, labels, strict=True):
        found[group][label] += 1
    return dict(found)
