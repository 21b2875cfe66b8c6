"""Turns the scores of all questions into figures: means, differences between ways to make texts, and what each question lost or won.

Pure: `benchmarks.questions` passes the scores in and prints the result.
"""

from collections.abc import Callable, Mapping, Sequence
from statistics import fmean
from typing import Any, NamedTuple

from benchmarks.questions.corpus import FAMILIES, MASKED, VERSION_2, WAYS
from benchmarks.questions.scores import Score, difference

CAVEATS = (
    "One collection of logs; labels are people's, questions and their grades are ours. A result is a whole line, a template or a family.",
    "hit: among the first 1 or 5 is one that answers. nDCG@10: of ten results, one that shows a label again gains nothing for it; plain:",
    "it gains as much. ±: half of the 95 % confidence interval of the difference over the same questions.",
)
_DIGITS = 4
_SHOWN = 10


class Found(NamedTuple):
    """What one model finds in one way."""

    results: int
    """How many there are to be found."""
    scores: Sequence[Score]
    """Of each question."""

    def values(self, measure: str) -> list[float]:
        """Return the scores by one measure."""
        return [getattr(score, measure) for score in self.scores]


def figures_of(found: Mapping[str, Mapping[str, Found]], questions: Sequence[str]) -> dict[str, Any]:
    """Return what `--json` prints, from what each model finds in each way; the first model is the default one."""
    default = next(iter(found.values()))
    headline = default[FAMILIES]
    return {
        "questions": len(questions),
        **{measure: _mean(headline.values(measure)) for measure in ("hit1", "hit5", "ndcg10")},
        "by": {model: {way: _way(ways, way) for way in WAYS} for model, ways in found.items()},
        "each": {text: {way: round(default[way].scores[number].ndcg10, _DIGITS) for way in WAYS} for number, text in enumerate(questions)},
    }


def _way(ways: Mapping[str, Found], way: str) -> dict[str, Any]:
    found, before = ways[way], ways[VERSION_2]
    figures: dict[str, Any] = {"texts": found.results, **{measure: _mean(found.values(measure)) for measure in Score._fields}}
    if way != VERSION_2 and len(found.scores) > 1:
        apart = {measure: difference(found.values(measure), before.values(measure)) for measure in Score._fields}
        figures["vs_version_2"] = {
            measure: {"mean": round(one.mean, _DIGITS), "margin": round(one.margin, _DIGITS)} for measure, one in apart.items()
        }
    return figures


def _mean(scores: Sequence[float]) -> float:
    return round(fmean(scores), _DIGITS)


def show_table(figures: Mapping[str, Any], show: Callable[[str], None]) -> None:
    """Show the figures as a person reads them."""
    for caveat in CAVEATS:
        show(caveat)
    show("")
    lines = f"{figures['lines']:,} lines, {figures['whole_lines']:,} of them whole"
    show(f"{figures['questions']} questions, {lines}, engine {figures['engine']}")
    show("")
    show("| model | results are | results | hit@1 | hit@5 | nDCG@10 | against `version_2` | nDCG@10 plain |")
    show("|---|---|---:|---:|---:|---:|---:|---:|")
    for model, ways in figures["by"].items():
        for way, of in ways.items():
            apart = of.get("vs_version_2")
            change = f"{apart['ndcg10']['mean']:+.3f} ± {apart['ndcg10']['margin']:.3f}" if apart else "-"
            scores = f"{of['hit1']:.3f} | {of['hit5']:.3f} | {of['ndcg10']:.3f} | {change} | {of['ndcg10_repeats']:.3f}"
            show(f"| {model} | `{way}` | {of['texts']:,} | {scores} |")
    for model, reason in figures["absent"].items():
        show(f"{model} was not measured: {reason}")
    for better, worse in ((VERSION_2, MASKED), (MASKED, FAMILIES), (FAMILIES, VERSION_2)):
        apart = {text: of[better] - of[worse] for text, of in figures["each"].items() if of[better] > of[worse]}
        show(f"`{better}` has the higher nDCG@10 than `{worse}` for {len(apart)} questions:")
        for text in sorted(apart, key=apart.__getitem__, reverse=True)[:_SHOWN]:
            of = figures["each"][text]
            show(f"  {of[better]:.2f} instead of {of[worse]:.2f}  {text}")
