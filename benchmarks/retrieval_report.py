"""Turns the measurements of both modes into figures: tokens saved, neighbours and answers, in all and by file.

Pure: `benchmarks.retrieval` passes the measurements in and prints the result.
"""

from collections.abc import Callable, Mapping, Sequence
from statistics import fmean
from typing import Any, NamedTuple

from benchmarks.labelled_logs import Label
from benchmarks.retrieval_scores import Indices, Spent, spend
from worker.embedding.model.vectors import Vectors

DIGITS = 4
CAVEATS = (
    "One collection, one model; labels are people's; questions and their answers are ours, and few. Masks were tuned on some of these",
    "files. p@10: share of a line's ten nearest lines that have its label. Equal scores count with the mean over their orders; with n < 10",
    "others of its label n of them are all; a line alone of its label is left out: in both modes alike. Tokens saved: of all masked lines,",
    "every text embedded once, from a cold cache; each file's from its own.",
)


class Read(NamedTuple):
    """All lines as one masking mode embeds them."""

    texts: list[list[int]]
    """Numbers of the texts of each line: one a chunk."""
    tokens: Indices
    """Of each text by its number, prefix and special tokens included."""
    vectors: Vectors
    """Of each text; zeros where no chosen line has it."""
    questions: Vectors

    def spent(self, lines: Sequence[int]) -> Spent:
        """Return the cost of these lines from a cold cache."""
        return spend([text for line in lines for text in self.texts[line]], self.tokens)

    def spent_again(self) -> Spent:
        """Return the cost of all lines when they come a second time."""
        stream = [text for texts in self.texts for text in texts]
        return spend(stream, self.tokens, set(stream))

    def distinct(self, lines: Sequence[int]) -> int:
        """Return the number of different texts of these lines."""
        return len({text for line in lines for text in self.texts[line]})


def figures_of(
    labels: Sequence[Label],
    reads: Mapping[str, Read],
    neighbours: Mapping[str, Mapping[int, float]],
    recalls: Mapping[str, tuple[float, float]],
) -> dict[str, Any]:
    """Return what `--json` prints.

    Of each line its label; of each mode what was read and the share of each sampled line's neighbours; of each question its recall in
    `template` and in `exact` mode. A figure is None where nothing was there to be measured.
    """
    files: dict[str, list[int]] = {}
    for line, label in enumerate(labels):
        files.setdefault(label.file, []).append(line)
    template, exact = ([of[mode] for of in recalls.values()] for mode in (0, 1))
    return {
        "p10_template": _mean(list(neighbours["template"].values())),
        "p10_exact": _mean(list(neighbours["exact"].values())),
        "recall10_ratio": round(fmean(template) / fmean(exact), DIGITS) if any(exact) else None,
        "tokens_saved_share": _share(reads["template"].spent(range(len(labels)))),
        "tokens_saved_share_second_pass": _share(reads["template"].spent_again()),
        "recall10_template": _mean(template),
        "recall10_exact": _mean(exact),
        "files": {file: _file(labels, lines, reads, neighbours) for file, lines in files.items()},
        "all": _file(labels, range(len(labels)), reads, neighbours),
        "questions": {text: {"template": round(of[0], DIGITS), "exact": round(of[1], DIGITS)} for text, of in recalls.items()},
    }


def _file(
    labels: Sequence[Label], lines: Sequence[int], reads: Mapping[str, Read], neighbours: Mapping[str, Mapping[int, float]]
) -> dict[str, Any]:
    template, exact = reads["template"], reads["exact"]
    spent = template.spent(lines)
    return {
        "lines": len(lines),
        "labels": len({labels[line] for line in lines}),
        "texts": template.distinct(lines),
        "texts_exact": exact.distinct(lines),
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
    show(f"{figures['sampled_lines']:,} lines for p@10, {figures['searched_lines']:,} lines searched")
    show("")
    show("| | lines | labels | texts | whole-line texts | tokens saved | by whole lines | p@10 `template` | p@10 `exact` |")
    show("|---|---:|---:|---:|---:|---:|---:|---:|---:|")
    for name, of in (*figures["files"].items(), ("all", figures["all"])):
        counts = " | ".join(f"{of[count]:,}" for count in ("lines", "labels", "texts", "texts_exact"))
        saved = f"{of['tokens_saved_share']:.1%} | {of['tokens_saved_share_exact']:.1%}"
        show(f"| {name} | {counts} | {saved} | {_shown(of['p10_template'])} | {_shown(of['p10_exact'])} |")
    show("")
    show(f"Second pass over the same lines: {figures['tokens_saved_share_second_pass']:.1%} of the tokens saved.")
    asked = figures["questions"]
    show(
        f"{len(asked)} questions, recall@10 of labels: `template` {_shown(figures['recall10_template'])}, "
        f"`exact` {_shown(figures['recall10_exact'])}, ratio {_shown(figures['recall10_ratio'])}"
    )
    for better, worse in (("template", "exact"), ("exact", "template")):
        apart = {text: of for text, of in asked.items() if of[better] > of[worse]}
        show(f"`{better}` finds more for {len(apart)}:")
        for text, of in apart.items():
            show(f"  {text}: {of[better]:.2f} instead of {of[worse]:.2f}")


def _shown(share: float | None) -> str:
    return "-" if share is None else f"{share:.4f}"
