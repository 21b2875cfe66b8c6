"""What a person sees of answers: a table of hits for a query, the lines around one, kinds of lines, and what a demo has done.

`vectail search`, `templates` and `demo` show their answers with it. What others have written is shown escaped.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from worker.cli.output import counted
from worker.cli.screen import Column, Part, Screen, shown_text, shown_times, shown_word
from worker.querying.search.words import is_identifier, terms_of, words_of

_LINE_SHARE = 0.55
"""A line gets at least so much of the width; else what is known about it goes under it and not beside it."""
_DECIMALS = {"bm25": 2, "hybrid": 4}
"""Of a score, by mode: cosines have three, sums of reciprocal ranks are small, and BM25 has no upper bound."""
_SCORE = Column("score", "green", is_right=True)
_FOUND = "bold red"
"""Of the query's words, as grep has it."""
_CUT = "The search was cut short by a bound or its deadline; there may be more."

Hit = Mapping[str, Any]


class Fact(NamedTuple):
    """One thing known about each hit, beside its line.

    Thread: any.
    """

    title: str
    style: str
    values: Sequence[str]

    def width(self) -> int:
        """Return how many columns it takes, with its margin."""
        return max(len(one) for one in (self.title, *self.values)) + 2


def show_demo(screen: Screen, result: Mapping[str, Any]) -> None:
    """Show the figures of a demo run, then each query with its hits."""
    total = result["tokens_embedded"] + result["tokens_saved"]
    share = 100 * result["tokens_saved"] / total if total else 0.0
    rate = result["records"] / result["seconds"] if result["seconds"] else 0.0
    screen.say("")
    screen.say(f"{counted(result['records'], 'line')} in {result['seconds']:.1f} s ({rate:,.0f} a second) on {result['engine']}.")
    screen.say(
        f"In the index: {counted(result['rows'], 'row')} of {counted(result['templates'], 'template')}; "
        f"dead letters: {result['dead_letters']:,}; dropped: {result['dropped']:,}."
    )
    screen.say(f"{share:.1f} % of the tokens did not have to be embedded.")
    for answer in result["queries"]:
        show_hits(screen, answer)


def show_hits(screen: Screen, answer: Mapping[str, Any], *, advice: str = "", offers_neighbours: bool = False) -> None:
    """Show one query (`text`, `mode`, `seconds`, `complete`, `hits`); `advice` is for when nothing was found."""
    hits: Sequence[Hit] = answer["hits"]
    day, times = shown_times([hit["time"] for hit in hits])
    _show_head(screen, answer["text"], answer, day)
    if hits:
        decimals = _DECIMALS.get(answer.get("mode") or "", 3)
        scores = [f"{hit['score']:.{decimals}f}" for hit in hits]
        _show_table(screen, hits, times, _SCORE, scores, matching(answer["text"]))
    else:
        screen.say(f"No lines found. {advice}".rstrip())
    if not answer["complete"]:
        screen.say(_CUT)
    if hits and offers_neighbours and screen.is_terminal:
        screen.write((f"What stands around the first: vectail search --around {place_of(hits[0])}", "dim"))


def show_around(screen: Screen, answer: Mapping[str, Any]) -> None:
    """Show the lines around one (`around`, `seconds`, `complete`, `hits`) in their order, that one marked."""
    hits: Sequence[Hit] = answer["hits"]
    place = answer["around"]
    day, times = shown_times([hit["time"] for hit in hits])
    _show_head(screen, f"around {place}", answer, day)
    marks = [">" if place_of(hit) == place else "" for hit in hits]
    if hits:
        _show_table(screen, hits, times, Column("", "bold green"), marks, None)
        if ">" not in marks:
            screen.say(f"{place} itself is not in the index.")
    else:
        screen.say(f"Neither {place} nor what stands around it is in the index; -C looks further.")
    if not answer["complete"]:
        screen.say(_CUT)


def show_kinds_like(screen: Screen, answer: Mapping[str, Any], *, advice: str) -> None:
    """Show the kinds of lines that fit a query (as `show_hits`, with `templates` in place of `hits`)."""
    _show_head(screen, answer["text"], answer, "")
    show_kinds(screen, answer, nothing=f"No lines found. {advice}".rstrip(), found=matching(answer["text"]))


def show_kinds(
    screen: Screen,
    answer: Mapping[str, Any],
    *,
    nothing: str = "No lines in this span; `--since all` looks at all of them.",
    found: re.Pattern[str] | None = None,
) -> None:
    """Show kinds of lines (`templates`, `complete`), each with its figures and an example."""
    kinds: Sequence[Mapping[str, Any]] = answer["templates"]
    if not kinds and answer["complete"]:
        screen.say(nothing)
    elif kinds:
        day, times = shown_times([kind[end] for kind in kinds for end in ("first", "last")])
        if day:
            screen.write((day, "dim"))
        has_score = "score" in kinds[0]
        decimals = _DECIMALS.get(answer.get("mode") or "", 3)
        rows: list[list[Sequence[Part]]] = []
        for row, kind in enumerate(kinds):
            example = kind["text"] if kind["example"] is None else kind["example"]
            score = [f"{kind['score']:.{decimals}f}"] if has_score else []
            figures = (*score, f"{kind['lines']:,}", times[2 * row], times[2 * row + 1])
            rows.append([*([(figure, "")] for figure in figures), _line(example, found)])
        figures_of = (Column("lines", "cyan", is_right=True), Column("first", "dim"), Column("last", "dim"))
        screen.table([*((_SCORE,) if has_score else ()), *figures_of, Column("example", is_wide=True)], rows)
    if not answer["complete"]:
        screen.say("Not everything was counted: a bound or the time-out cut it short.")


def place_of(hit: Hit) -> str:
    """Return where a hit's record is in Kafka, as `--around` takes it."""
    return f"{hit['topic']}/{hit['partition']}@{hit['offset']}"


def _show_head(screen: Screen, asked: str, answer: Mapping[str, Any], day: str) -> None:
    about = " · ".join(part for part in (answer.get("mode") or "", f"{answer['seconds'] * 1000:.0f} ms", day) if part)
    screen.say("")
    screen.write((shown_word(asked), "bold cyan"), (f"  · {about}", "dim"))


def _show_table(
    screen: Screen, hits: Sequence[Hit], times: Sequence[str], first: Column, firsts: Sequence[str], found: re.Pattern[str] | None
) -> None:
    facts = [
        Fact("time", "dim", times),
        Fact("service", "magenta", [shown_word(hit["service"]) for hit in hits]),
        Fact("level", "yellow", [shown_word(hit["level"]) for hit in hits]),
        Fact("piece", "dim", [_piece(hit) for hit in hits]),
        Fact("where", "dim", [place_of(hit) for hit in hits]),
    ]
    facts = [fact for fact in facts if any(fact.values)]
    spare = screen.width - Fact(first.title, "", firsts).width() - sum(fact.width() for fact in facts)
    beside = facts if spare >= _LINE_SHARE * screen.width else []
    rows: list[list[Sequence[Part]]] = []
    for row, hit in enumerate(hits):
        line = _line(hit["text"], found)
        if not beside:
            under = [(fact.values[row], fact.style) for fact in facts if fact.values[row]]
            line += [("\n", ""), *(part for one in under for part in (one, ("  ", "")))][:-1]
        rows.append([[(firsts[row], "")], *([(fact.values[row], "")] for fact in beside), line])
    screen.table([first, *(Column(fact.title, fact.style) for fact in beside), Column("line", is_wide=True)], rows)


def _piece(hit: Hit) -> str:
    """Return which part of a long line it is."""
    chunks = hit.get("chunks", 1)
    return f"{hit['chunk'] + 1}/{chunks}" if chunks > 1 else ""


def _line(text: str, found: re.Pattern[str] | None) -> list[Part]:
    """Return a line as it may be shown, what was looked for in a style of its own."""
    shown = shown_text(text)
    parts: list[Part] = []
    end = 0
    for match in () if found is None else found.finditer(shown):
        parts += [(shown[end : match.start()], ""), (match[0], _FOUND)]
        end = match.end()
    return [*parts, (shown[end:], "")]


_NOTHING = re.compile(r"(?!)")


def matching(text: str) -> re.Pattern[str]:
    """Return a pattern that finds a query's words in a line, in any case; an identifier only as a whole, not its parts."""
    found = words_of(text)
    words = terms_of(" ".join(word for word in found.text.split() if not is_identifier(word)))
    wanted = sorted({*found.identifiers, *words}, key=len, reverse=True)
    if not wanted:
        return _NOTHING
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, wanted))})(?!\w)", re.IGNORECASE)
