"""Turns the measurements of both modes into figures: tokens saved and neighbours, in all and by file.

Pure: `benchmarks.retrieval` passes the measurements in and prints the result.
"""

from collections.abc import Callable, Mapping, Sequence
from statistics import fmean
from typing import Any

from benchmarks.labelled_logs import Label
from benchmarks.retrieval_reader import Read
from benchmarks.retrieval_scores import Spent
from consumers.text.mask import MaskMode

DIGITS = 4
CAVEATS = (
    "One collection, one model; labels are people's. Masks were tuned on some of these files. p@10: share of a line's ten nearest lines",
    "that have its label. Equal scores count with the mean over their orders; with n < 10 others of its label n of them are all; a line",
    "alone of its label is left out: in both modes alike. Tokens saved: of all masked lines, every text embedded once, from a cold cache;",
    "each file's from its own.",
)


def figures_of(
    labels: Sequence[Label],
    reads: Mapping[MaskMode, Read],
    neighbours: Mapping[MaskMode, Mapping[int, float]],
) -> dict[str, Any]:
    """Return what `--json` prints.

    Of each line its label; of each mode what was read and the share of each sampled line's neighbours. A figure is None where nothing was
    there to be measured.
    """
    files: dict[str, list[int]] = {}
    for line, label in enumerate(labels):
        files.setdefault(label.file, []).append(line)
    return {
        "p10_template": _mean(list(neighbours["template"].values())),
        "p10_exact": _mean(list(neighbours["exact"].values())),
        "tokens_saved_share": _share(reads["template"].spent(range(len(labels)))),
        "tokens_saved_share_second_pass": _share(reads["template"].spent_again()),
        "files": {file: _file(labels, lines, reads, neighbours) for file, lines in files.items()},
        "all": _file(labels, range(len(labels)), reads, neighbours),
    }


def _file(
    labels: Sequence[Label], lines: Sequence[int], reads: Mapping[MaskMode, Read], neighbours: Mapping[MaskMode, Mapping[int, float]]
) -> dict[str, Any]:
    template, exact = reads["template"], reads["exact"]
    spent = template.spent(lines)
    return {
        "lines": len(lines),
        "labels": len({labels[line] for line in lines}),
        "texts": template.count_distinct(lines),
        "texts_exact": exact.count_distinct(lines),
        "tokens": spent.tokens,
        "tokens_embedded": spent.embedded_tokens,
        "tokens_exact": exact.spent(lines).tokens,
        "tokens_saved_share": _share(spent),
        "tokens_saved_share_exact": _share(exact.spent(lines)),
        **{f"p10_{mode}": _mean([of[line] for line in lines if line in of]) for mode, of in neighbours.items()},
    }


def _share(spent: Spent) -> float:
    return round(spent.saved_share, DIGITS)


def _mean(shares: Sequence[float]) -> float | None:
    return round(fmean(shares), DIGITS) if shares else None


def show_table(figures: dict[str, Any], show: Callable[[str], None]) -> None:
    """Show the figures as a person reads them."""
    for caveat in CAVEATS:
        show(caveat)
    show("")
    show(f"{figures['model']}, engine {figures['engine']}")
    show(f"{figures['sampled_lines']:,} lines for p@10")
    show("")
    show("| | lines | labels | texts | whole-line texts | tokens saved | by whole lines | p@10 `template` | p@10 `exact` |")
    show("|---|---:|---:|---:|---:|---:|---:|---:|---:|")
    for name, of in (*figures["files"].items(), ("all", figures["all"])):
        counts = " | ".join(f"{of[count]:,}" for count in ("lines", "labels", "texts", "texts_exact"))
        saved = f"{of['tokens_saved_share']:.1%} | {of['tokens_saved_share_exact']:.1%}"
        show(f"| {name} | {counts} | {saved} | {_shown(of['p10_template'])} | {_shown(of['p10_exact'])} |")
    show("")
    show(f"Second pass over the same lines: {figures['tokens_saved_share_second_pass']:.1%} of the tokens saved.")


def _shown(share: float | None) -> str:
    return "-" if share is None else f"{share:.4f}"
