"""How well templates and families agree with what people call one kind of line, beside Drain3 and Elastic's rule.

    python -m benchmarks.templates [--logs DIR] [--leave-out] [--unlabelled DIR] [--quick] [--json]
    python -m benchmarks.templates --show SYSTEM [--whole] [--families] [--limit N]
    python -m benchmarks.templates --pairs N [--unlabelled DIR]

Caveats first. One collection of logs, 2,000 lines a system; some labels are finer or coarser than any template, and masks were made while
looking at some of these files. Headline figures are of messages without their heads, averaged over the systems, as published ones are;
`whole` is of whole lines, which is what topics carry. Published figures of Drain use patterns and thresholds tuned for each log; Drain3 has
its defaults here and three masks, and its figures are of its last clusters, which no line had when it came. `--show` and `--pairs`
print texts of lines; nothing else does.
"""

import sys
from argparse import Namespace
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks.program import LOGS, Figures, option, program
from benchmarks.templates_agree import measure_agreement, named_lines
from benchmarks.templates_elastic import elastic_templates
from benchmarks.templates_groups import group, new_masker, version_2_masker
from benchmarks.templates_logs import System, read_systems
from benchmarks.templates_report import LIMIT, GroupedSystem, figures_of, scores_of, show_mistakes
from benchmarks.templates_scores import Scores, score
from benchmarks.templates_speed import DRAIN3, OURS, VERSION_2, measure_known, measure_new, sides_of
from benchmarks.templates_tokens import tokens_saved
from benchmarks.templates_unseen import leave_out, score_unlabelled, show_pairs, texts_of_logs
from consumers.text.mask import Masker

BATCH_LINES = 8_000


def group_systems(systems: Sequence[System], new: Callable[[], Masker], *, whole: bool) -> list[GroupedSystem]:
    """Group the messages or the whole lines of each system."""
    return [GroupedSystem(system, *group(new(), system.texts(whole=whole), BATCH_LINES)) for system in systems]


def drain_is_there() -> bool:
    """Whether Drain3 is installed."""
    return find_spec("drain3") is not None


def score_drain(systems: Sequence[System]) -> list[Scores]:
    """Score Drain3's last clusters of the messages, a miner for each system."""
    from benchmarks.templates_drain import final_templates  # noqa: PLC0415 - not installed everywhere

    return [score(final_templates(system.texts(whole=False)), system.labels) for system in systems]


def score_elastic(systems: Sequence[System]) -> list[Scores]:
    """Score the messages under Elastic's rule."""
    return [score(elastic_templates(system.texts(whole=False)), system.labels) for system in systems]


def score_all(systems: Sequence[System]) -> dict[str, Any]:
    """Return the scores of templates and families, of the rivals, and of the masks of version 2; all that is the same in every run."""
    now, whole = (group_systems(systems, new_masker, whole=whole) for whole in (False, True))
    before, before_whole = (figures_of(group_systems(systems, version_2_masker, whole=whole)) for whole in (False, True))
    drain, elastic = score_drain(systems) if drain_is_there() else None, score_elastic(systems)
    return {
        **figures_of(now),
        "drain3": None if drain is None else scores_of(drain),
        "elastic": scores_of(elastic),
        "whole": figures_of(whole),
        "version_2": {**before, "whole": before_whole},
        "by_system": {
            system.name: {
                **figures_of([now[place]]),
                "whole": figures_of([whole[place]]),
                "drain3": None if drain is None else scores_of([drain[place]]),
                "elastic": scores_of([elastic[place]]),
            }
            for place, system in enumerate(systems)
        },
        "systems": len(systems),
        "lines": sum(len(system.labels) for system in systems),
    }


def measure_all(systems: Sequence[System]) -> dict[str, Any]:
    """Return `score_all` with tokens saved, lines a second and the agreement of ids. Raises ModelError."""
    figures = score_all(systems)
    messages, whole = ([text for system in systems for text in system.texts(whole=whole)] for whole in (False, True))
    before, drain = figures["version_2"], figures["drain3"]
    figures["tokens_saved"] = tokens_saved(new_masker(), whole)
    before["tokens_saved"] = tokens_saved(version_2_masker(), whole)
    _add_speed(figures, messages)
    figures |= measure_agreement(OURS, named_lines(systems, messages))._asdict()
    if drain is not None:
        drain |= measure_agreement(DRAIN3, named_lines(systems, messages))._asdict()
    return figures


def _add_speed(figures: dict[str, Any], messages: Sequence[str]) -> None:
    """Measure both streams of messages and add what each side did."""
    before, drain = figures["version_2"], figures["drain3"]
    sides = sides_of(with_drain=drain is not None)
    known, new = measure_known(messages, sides), measure_new(messages, sides)
    for side, of in ((OURS, figures), (VERSION_2, before), (DRAIN3, drain)):
        if of is not None:
            of |= {"lines_per_s": known.lines_per_s(side), "new_lines_per_s": new.lines_per_s(side)}
    for other in (VERSION_2, DRAIN3):
        figures[f"vs_{other}"], figures[f"new_vs_{other}"] = known.ours_is_times(other), new.ours_is_times(other)


def measure(chosen: Namespace) -> Figures:
    """Read, group and score; with `--show` or `--pairs` only print lines, and end. Raises Missing, ModelError."""
    if chosen.pairs:
        systems = [] if chosen.unlabelled else read_systems(chosen.logs)
        show_pairs(texts_of_logs(systems, chosen.unlabelled), chosen.pairs, print)
        sys.exit(0)
    systems = read_systems(chosen.logs)
    if not chosen.show:
        figures = score_all(systems) if chosen.quick else measure_all(systems)
        figures |= {"leave_out": leave_out(systems)} if chosen.leave_out else {}
        return figures | ({"unlabelled": score_unlabelled(chosen.unlabelled)} if chosen.unlabelled else {})
    for grouped in group_systems(systems, new_masker, whole=chosen.whole):
        if "all" in chosen.show or grouped.system.name in chosen.show:
            show_mistakes(grouped, grouped.system.texts(whole=chosen.whole), print, families=chosen.families, limit=chosen.limit)
    sys.exit(0)


main = program(
    __doc__,
    measure,
    LOGS,
    option("--show", metavar="SYSTEM", action="append", help="show what is split and mixed in this log, or in `all`; no figures"),
    option("--whole", action="store_true", help="with --show: whole lines instead of messages"),
    option("--families", action="store_true", help="with --show: families instead of templates"),
    option("--limit", type=int, default=LIMIT, help="with --show: groups shown of one label (default: %(default)s)"),
    option("--leave-out", action="store_true", help="what each group of rules adds, and every system under rules chosen without it"),
    option("--unlabelled", type=Path, metavar="DIR", help="a folder of NAME.log without labels: how many templates they have"),
    option("--pairs", type=int, metavar="N", help="show N pairs of lines with one template, to read; no figures"),
    quick="scores only, in seconds: no agreement of ids, no tokens, no lines a second",
)

if __name__ == "__main__":
    main()
