"""How templates do where nobody tuned them: rules switched off, systems left out, logs without labels, pairs to read.

Used by `benchmarks.templates` for `--leave-out`, `--unlabelled` and `--pairs`. Only `show_pairs` prints texts of lines.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from random import Random
from statistics import fmean
from typing import Any

from benchmarks.copies import texts_of_files
from benchmarks.race import Missing
from benchmarks.templates_groups import group
from benchmarks.templates_logs import System
from benchmarks.templates_scores import Scores, mean_of, score
from consumers.columns import string_column
from consumers.text.mask import MASKS, Masker
from consumers.text.mask_patterns import Mask
from worker.masks.mask_suggestions import suggest_masks

RULES: Mapping[str, tuple[str, ...]] = {
    "hosts": ("host", "hostname", "ipv6", "email", "at"),
    "users": ("user", "session", "login", "account"),
    "addresses": ("request", "url", "query"),
    "paths": ("path", "drive", "slashed", "stamped", "file"),
    "keys": ("value", "json", "field"),
    "quotes": ("quoted", "named", "angle"),
    "times": ("date", "duration", "measure", "unit"),
    "ids": ("groups", "uuid", "hex", "mixed", "place", "attempt"),
    "words": ("word",),
    "names": ("name",),
    "lists": ("hidden", "brackets", "items", "list"),
}
"""Masks that are switched off together."""
_BATCH_LINES = 8_000
_MOST_SUGGESTIONS = 1_000
_SEED = 11
_DIGITS = re.compile(r"\d+")


def score_without(systems: Sequence[System], disabled: Collection[str]) -> list[Scores]:
    """Score the messages of each system with these masks off."""
    return [score(group(Masker(disabled=disabled), of.texts(whole=False), _BATCH_LINES).templates, of.labels) for of in systems]


def leave_out(systems: Sequence[System]) -> dict[str, Any]:
    """Return what each group of rules adds, and the scores of each system under the groups that serve all *other* systems.

    A group whose absence makes the mean FGA of the others no worse is off for the system that is left out.
    """
    full = score_without(systems, ())
    without = {name: score_without(systems, masks) for name, masks in RULES.items()}
    left_out = []
    for place, system in enumerate(systems):
        off = [name for name, scores in without.items() if _fga_of_others(scores, place) >= _fga_of_others(full, place)]
        left_out += score_without([system], [mask for name in off for mask in RULES[name]])
    return {
        "left_out": _shares(mean_of(left_out)),
        "adds": {
            name: {
                **{key: share - _shares(mean_of(scores))[key] for key, share in _shares(mean_of(full)).items()},
                "systems": sum(one.fga != other.fga for one, other in zip(full, scores, strict=True)),
            }
            for name, scores in without.items()
        },
    }


def score_unlabelled(folder: Path) -> dict[str, Any]:
    """Return the figures of each `*.log` in a folder, and of all. Raises Missing."""
    by_log = {name: _unlabelled(lines) for name, lines in _read_folder(folder).items()}
    return {"by_log": by_log, **{f"mean_{key}": fmean(of[key] for of in by_log.values()) for key in next(iter(by_log.values()))}}


def show_pairs(texts_by_log: Mapping[str, Sequence[str]], pairs: int, show: Callable[[str], None]) -> None:
    """Show pairs of lines that have one template and differ in more than digits, drawn from all templates with the same seed."""
    found: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)
    for name, texts in texts_by_log.items():
        for text, template in zip(texts, group(Masker(), texts, _BATCH_LINES).templates, strict=True):
            found[name, template].setdefault(_DIGITS.sub("0", text), text)
    several = [(name, template, list(texts.values())) for (name, template), texts in found.items() if len(texts) > 1]
    draw = Random(_SEED)
    for name, template, texts in draw.sample(several, min(pairs, len(several))):
        show("\n".join((f"{name}: {template}", *(f"    {text}" for text in draw.sample(texts, 2)))))


def texts_of_logs(systems: Sequence[System], folder: Path | None) -> dict[str, list[str]]:
    """Return the lines of each log in the folder; without one, those of the systems. Raises Missing."""
    return {of.name: of.texts(whole=True) for of in systems} if folder is None else _read_folder(folder)


def _read_folder(folder: Path) -> dict[str, list[str]]:
    logs = {file.stem: texts_of_files([str(file)]) for file in sorted(folder.glob("*.log"))}
    if not any(logs.values()):
        message = f"{folder}: no line in a NAME.log; give a folder of logs with --unlabelled"
        raise Missing(message)
    return {name: lines for name, lines in logs.items() if lines}


def _unlabelled(lines: Sequence[str]) -> dict[str, float]:
    column = string_column(lines)
    masked = Masker().mask_column(column)
    once = sum(times == 1 for times in Counter(masked.codes.tolist()).values())
    suggested = suggest_masks(column, _with_added, taken={mask.name for mask in MASKS}, top=_MOST_SUGGESTIONS)
    return {
        "lines": len(lines),
        "templates": len(masked.values),
        "templates_per_line": len(masked.values) / len(lines),
        "seen_once_share": once / len(lines),
        "suggested_merges": suggested.before - suggested.after,
    }


def _with_added(added: Sequence[Mask]) -> Masker:
    return Masker(added=added)


def _fga_of_others(scores: Sequence[Scores], left_out: int) -> float:
    return sum(of.fga for place, of in enumerate(scores) if place != left_out)


def _shares(scores: Scores) -> dict[str, float]:
    return {"ga": scores.ga, "fga": scores.fga, "mixed_share": scores.mixed_share}
