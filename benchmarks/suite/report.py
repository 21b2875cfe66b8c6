"""RESULTS.md from the kept results and the table of goals. Pure: the same results give the same text."""

from collections.abc import Mapping, Sequence

from benchmarks.suite.goals import Figure, Judged, judge
from benchmarks.suite.results import PLOTS_FOLDER, Entry, Results
from benchmarks.table import bound_of, judged_table, markdown, value_of

_NOTHING_WRITTEN = "not written down yet"
_METHOD = (
    "Where a benchmark compares sides, they take turns in one run on the same cores, and unless its caveats say otherwise a ratio is taken "
    "within a round and the median shown. search_growth, slow_topics, throughput and growth's index measure one thing after another. What "
    "each benchmark checks is in its caveats; one that finds a difference ends without figures."
)
_CAVEATS = (
    "Figures are of the machine above, or of that which the run names, with the load shown there. Compare ratios, never absolute figures "
    "of two runs. Where the range is wide, the machine was disturbed. `--quick` has fewer rounds and lines. Broker, Redis, Milvus and the "
    "worker share the cores. More caveats stand with each benchmark. A figure that was not measured is not here."
)


def report_text(results: Results, about: Mapping[str, str], figures: Sequence[Figure]) -> str:
    """Return the report: what it depends on, goals, then each benchmark in the order of `about`."""
    entries = {name: results["benchmarks"][name] for name in about if name in results["benchmarks"]}
    facts = [machine["facts"] for machine in results["machines"]]
    judged = {
        name: [judge(figure, entry["figures"], facts[entry["machine"]]) for figure in figures if figure.benchmark == name]
        for name, entry in entries.items()
    }
    on = {name: f", on machine {entry['machine'] + 1}" if len(facts) > 1 else "" for name, entry in entries.items()}
    absent = [name for name in about if name not in entries]
    parts: list[str] = [
        "# Results\n\n`python -m benchmarks` writes this file from `results.json`; do not edit it.",
        "## What the figures depend on",
        _side_by_side("machine", facts),
        _side_by_side("version", [machine["versions"] for machine in results["machines"]]),
        f"**Method.** {_METHOD}",
        f"**Caveats.** {_CAVEATS}",
        "## Runs",
        _runs(entries, on),
    ]
    if absent:
        parts.append(f"Not run: {', '.join(absent)}.")
    parts += ["## Goals", _goals([one for some in judged.values() for one in some], on)]
    for name, entry in entries.items():
        parts += _section(name, f"{about[name]}. `{entry['command']}`{on[name]}", entry, judged[name])
    return "\n\n".join(parts) + "\n"


def _side_by_side(what: str, machines: Sequence[Mapping[str, str]]) -> str:
    """Return facts as a table with a column for each machine."""
    names = dict.fromkeys(name for machine in machines for name in machine)
    head = [""] if len(machines) == 1 else [f"machine {number}" for number in range(1, len(machines) + 1)]
    return markdown((what, *head), [(name, *(machine.get(name, "") for machine in machines)) for name in names])


def _runs(entries: Mapping[str, Entry], on: Mapping[str, str]) -> str:
    rows = [
        (
            f"{name}{on[name]}",
            entry["state"] if entry["state"] == "measured" else f"**{entry['state']}**: {_cell(entry['reason'])}",
            "quick" if entry["quick"] else "whole",
            entry["corpus"],
            f"{entry['seconds']:.0f} s",
            f"{_load(entry['load_before'])} → {_load(entry['load_after'])}",
            f"{entry['revision']}, {entry['date']}",
        )
        for name, entry in entries.items()
    ]
    return markdown(
        ("benchmark", "state", "size", "corpus", "took", "load average before → after (1, 5, 15 minutes)", "revision, date"), rows
    )


def _goals(judged: Sequence[Judged], on: Mapping[str, str]) -> str:
    of_goals = [one for one in judged if one.verdict]
    if not of_goals:
        return "None of the benchmarks that ran has a goal."
    counts = {verdict: sum(one.verdict == verdict for one in of_goals) for verdict in ("met", "missed", "not measured", "does not apply")}
    lines = [", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count) + "."]
    missed = [one for one in of_goals if one.verdict == "missed"]
    if missed:
        rows = [
            (
                f"{one.figure.benchmark}: {one.figure.words}{on[one.figure.benchmark]}",
                value_of(one),
                bound_of(one.figure),
                one.figure.reason or _NOTHING_WRITTEN,
                one.figure.next or _NOTHING_WRITTEN,
            )
            for one in missed
        ]
        lines += ["**Missed:**", markdown(("goal", "measured", "wanted", "reason", "next idea"), rows)]
    return "\n\n".join(lines)


def _section(name: str, about: str, entry: Entry, judged: Sequence[Judged]) -> list[str]:
    parts = [f"## {name}", f"{about[:1].upper()}{about[1:]}"]
    if entry["state"] != "measured":
        return [*parts, f"**{entry['state'].capitalize()}**: {entry['reason']}"]
    if entry["caveats"]:
        parts.append(f"Caveats: {entry['caveats']}")
    parts.append(judged_table(judged))
    parts += [f"![{name}: {_picture_words(plot)}]({PLOTS_FOLDER}/{plot})" for plot in entry["plots"]]
    return parts


def _picture_words(plot: str) -> str:
    return plot.removesuffix(".png").replace("_", " ").replace("-", " ")


def _load(averages: Sequence[float]) -> str:
    return " ".join(map(str, averages))


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
