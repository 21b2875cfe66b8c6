"""What a person sees of `vectail search`, `templates` and `demo`: hits, the lines around one, templates, and the figures of a demo.

Control characters in log lines are shown escaped.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from consumers.decode.kept_fields import WELL_KNOWN
from worker.asking.answers import CountedFamilyJson, FamilyJson, HitJson, SameJson, ScoreJson
from worker.asking.operators import words_sought
from worker.asking.places import RecordPlace
from worker.asking.reach import arriving_text, behind_text
from worker.cli.question_options import advice_of
from worker.cli.screen import Screen, TableColumn, shown_times
from worker.cli.screen_tables import StyledText
from worker.querying.query_words import terms_of, words_of
from worker.runtime.logs import printable
from worker.runtime.wording import counted, cut

_LINE_SHARE = 0.55
"""The least share of the width that lines get; with less left, the details of a hit are shown below its line, not beside it."""
_FIT = TableColumn("fit", "green", is_right=True)
_MATCH = "bold red"
"""Style of the query's words, as in grep."""
_MOST_TEMPLATE = 60
_FIELDS = "dim"
_NAME = "bold"
_FIRST_WORDS = 5
_NOTHING_CLOSE = "Nothing close to this is in the index. The nearest, which may have nothing to do with it:"
_CUT = "The search was cut short by a limit or its deadline; there may be more."
COUNT_CUT = "The count is incomplete: a limit or the time-out cut it short."

Answer = Mapping[str, Any]
"""What a worker answered, with the text of the question and the seconds that it took here."""
Request = Mapping[str, Any]
"""A query on the wire."""


class HitDetail(NamedTuple):
    """One detail of every hit, shown as a column beside the lines or as text below them."""

    title: str
    style: str
    values: Sequence[str]

    def width(self) -> int:
        """Return the characters it takes per line, with its margin."""
        return max(len(one) for one in (self.title, *self.values)) + 2


def show_demo(screen: Screen, result: Answer) -> None:
    """Show the figures of a demo, then each query with its hits, then whether masks would merge families."""
    total = result["tokens_embedded"] + result["tokens_saved"]
    share = 100 * result["tokens_saved"] / total if total else 0.0
    rate = result["records"] / result["seconds"] if result["seconds"] else 0.0
    screen.say("")
    screen.say(f"{counted(result['records'], 'line')} in {result['seconds']:.1f} s ({rate:,.0f} a second) on {result['engine']}.")
    screen.say(
        f"In the index: {counted(result['lines'], 'line')} of {counted(result['templates'], 'template')}; "
        f"dead letters: {result['dead_letters']:,}; dropped: {result['dropped']:,}."
    )
    screen.say(f"{share:.1f} % of the tokens did not have to be embedded.")
    for answer in result["queries"]:
        show_hits(screen, answer)
    offered = result["suggestions"]
    if offered["families"]:
        such_as = cut(printable(offered["suggestions"][0]["template"]), _MOST_TEMPLATE)
        screen.say("")
        screen.say(
            f'{offered["families"]:,} families differ in one word, as in "{such_as}": the Templates tab of the page, '
            "or `vectail templates --suggest FILE`, has masks that merge them."
        )


def show_answer(screen: Screen, request: Request, answer: Answer) -> None:
    """Show the answer to `vectail search`, by what its request asked for."""
    if "around" in request:
        show_around(screen, answer, coordinates_of(request["around"]))
    elif request.get("as") == "templates":
        show_templates_like(screen, answer, advice=advice_of(request))
    else:
        show_hits(screen, answer, advice=advice_of(request), offers_neighbours=True)


def show_hits(screen: Screen, answer: Answer, *, advice: str = "", offers_neighbours: bool = False) -> None:
    """Show the answer to a query (`text`, `mode`, `seconds`, `complete`, `hits`); `advice` is shown if there are no hits."""
    hits: Sequence[HitJson] = answer["hits"]
    day, times = shown_times([hit["time"] for hit in hits])
    _show_head(screen, answer["text"] or "the newest lines", answer, day)
    if any("score" in hit for hit in hits):
        _show_table(screen, hits, times, _FIT, shown_fits(hits), matching(answer["text"]))
    elif hits:
        numbers = [str(place) for place in range(1, len(hits) + 1)]
        _show_table(screen, hits, times, TableColumn("", "green", is_right=True), numbers, None)
    else:
        screen.say(f"No lines found. {advice}".rstrip())
    say_incomplete(screen, answer, _CUT)
    if hits and offers_neighbours and screen.is_terminal:
        screen.write((f"Lines around the first: vectail search --around {printable(coordinates_of(hits[0]))}", "dim"))


def show_around(screen: Screen, answer: Answer, place: str) -> None:
    """Show the lines around a place (`hits`, maybe `same`, `dead_letter`) in their order, with the one there marked."""
    hits: Sequence[HitJson] = answer["hits"]
    same: SameJson | None = answer.get("same")
    day, times = shown_times([hit["time"] for hit in hits])
    shared = f", {same['name']} {same['value']}" if same and same["value"] else ""
    _show_head(screen, f"around {place}{shared}", answer, day)
    marks = [">" if coordinates_of(hit) == place else "" for hit in hits]
    if hits:
        _show_table(screen, hits, times, TableColumn("", "bold green"), marks, None)
        if ">" not in marks:
            screen.say(f"{place} itself is not in the index.")
        elif same and same["value"] is None:
            screen.say(f"It has no {same['name']}. Without --by, the records around it are shown.")
    elif same:
        screen.say(f"{place} is not in the index. Without --by, the records around it are shown.")
    else:
        screen.say(f"Neither {place} nor the lines around it are in the index; -C looks further.")
    if letter := answer.get("dead_letter"):
        screen.say(f"It is a dead letter: {printable(letter['reason'])}")
        screen.say(f"`vectail dlq show {letter['partition']}/{letter['offset']}` says what can be done.")
    say_incomplete(screen, answer, _CUT)


def show_templates_like(screen: Screen, answer: Answer, *, advice: str) -> None:
    """Show the templates that fit a query (an answer as for `show_hits`, with `templates` instead of `hits`)."""
    _show_head(screen, answer["text"] or "templates", answer, "")
    show_templates(screen, answer, nothing=f"No lines found. {advice}".rstrip(), pattern=matching(answer["text"] or ""))


def show_templates(
    screen: Screen,
    answer: Answer,
    *,
    nothing: str = "No lines in this span, or none that the filters leave.",
    pattern: re.Pattern[str] | None = None,
) -> None:
    """Show families or templates (`templates`, `complete`), each with its figures and an example."""
    templates: Sequence[FamilyJson] = answer["templates"]
    if not templates and (answer["complete"] or "behind" in answer):
        screen.say(nothing)
    elif templates:
        day, times = shown_times([template[end] for template in templates for end in ("first", "last")])
        if day:
            screen.write((day, "dim"))
        fits = shown_fits(templates) if any("score" in template for template in templates) else []
        rows: list[list[Sequence[StyledText]]] = []
        for row, template in enumerate(templates):
            example = template["text"] if template["example"] is None else template["example"]
            figures = (*fits[row : row + 1], f"{template['lines']:,}", times[2 * row], times[2 * row + 1])
            name: list[StyledText] = [(printable(template["name"]), _NAME), ("\n", "")] if "name" in template else []
            rows.append([*([(figure, "")] for figure in figures), [*name, *_line(screen, example, pattern), *_members(template)]])
        figures_of = (TableColumn("lines", "cyan", is_right=True), TableColumn("first", "dim"), TableColumn("last", "dim"))
        screen.table([*((_FIT,) if fits else ()), *figures_of, TableColumn("example", is_wide=True)], rows)
    say_incomplete(screen, answer, COUNT_CUT)


def show_looked_up(screen: Screen, answer: Answer) -> None:
    """Show the templates of a pasted line, or the nearest (`found`, `masked`, and what `show_templates` shows)."""
    if not answer["found"]:
        masked = " or ".join(printable(one) for one in answer["masked"]) or "no text"
        screen.say(f"No line of this kind is in the index; without what varies it is: {masked}")
        screen.say("The nearest:" if answer["templates"] else "")
    show_templates(screen, answer)


def say_incomplete(screen: Screen, answer: Answer, cut_short: str) -> None:
    """Say why an answer is not complete: the index is behind, or else what is said of one that was cut short.

    Of one that is complete and holds nothing, what is on the way.
    """
    if answer["complete"]:
        found = any(answer.get(name) for name in ("hits", "templates", "counts"))
        arriving = "" if found else arriving_text(answer)  # type: ignore[arg-type] # as much of an answer as it reads
        if arriving:
            screen.say(arriving)
    else:
        screen.say(behind_text(answer) or cut_short)  # type: ignore[arg-type] # as much of an answer as it reads


def coordinates_of(hit: HitJson) -> str:
    """Return the place of a hit's record, as `--around` reads it."""
    return str(RecordPlace(hit["topic"], hit["partition"], hit["offset"]))


def _show_head(screen: Screen, asked: str, answer: Answer, day: str) -> None:
    about = " · ".join(part for part in (printable(answer.get("mode") or ""), f"{answer['seconds'] * 1000:.0f} ms", day) if part)
    screen.say("")
    screen.write((printable(asked), "bold cyan"), (f"  · {about}", "dim"))
    if answer.get("nothing_close"):
        screen.say(_NOTHING_CLOSE)


def shown_fits(found: Sequence[ScoreJson]) -> list[str]:
    """Return of each of what was found how well it fits: by meaning the similarity and the cosine, by words a score without a bound."""
    return [" ".join((one.get("similarity", ""), f"{one['score']:.2f}")).strip() if "score" in one else "" for one in found]


def _show_table(
    screen: Screen,
    hits: Sequence[HitJson],
    times: Sequence[str],
    first: TableColumn,
    firsts: Sequence[str],
    pattern: re.Pattern[str] | None,
) -> None:
    details = [
        HitDetail("time", "dim", times),
        HitDetail("service", "magenta", [printable(hit["service"]) for hit in hits]),
        HitDetail("level", "yellow", [printable(hit["level"]) for hit in hits]),
        HitDetail("piece", "dim", [_piece(hit) for hit in hits]),
        HitDetail("where", "dim", [printable(coordinates_of(hit)) for hit in hits]),
    ]
    details = [detail for detail in details if any(detail.values)]
    spare = screen.width - HitDetail(first.title, "", firsts).width() - sum(detail.width() for detail in details)
    beside = details if spare >= _LINE_SHARE * screen.width else []
    width = spare if beside else screen.width - HitDetail(first.title, "", firsts).width()
    rows: list[list[Sequence[StyledText]]] = []
    for row, hit in enumerate(hits):
        line = _line_of(screen, hit, pattern)
        fields = shown_fields(hit.get("fields"), width)
        if fields:
            line += [("\n", ""), (fields, _FIELDS)]
        for stands_for in filter(None, (shown_family(hit), shown_alike(hit))):
            line += [("\n", ""), (stands_for, _FIELDS)]
        if not beside:
            under = [(detail.values[row], detail.style) for detail in details if detail.values[row]]
            line += [("\n", ""), *(part for one in under for part in (one, ("  ", "")))][:-1]
        rows.append([[(firsts[row], "")], *([(detail.values[row], "")] for detail in beside), line])
    screen.table([first, *(TableColumn(detail.title, detail.style) for detail in beside), TableColumn("line", is_wide=True)], rows)


def _members(listed: FamilyJson) -> list[StyledText]:
    """Return how many templates a family has, and what to ask for to see them; nothing of a single template."""
    if listed.get("templates", 1) <= 1:
        return []
    return [("\n", ""), (f"{counted(listed['templates'], 'template')}, family {listed['family']}", _FIELDS)]


def shown_family(hit: HitJson) -> str:
    """Return what a hit stands for: its name, how many more templates its family has, how many lines, and the id to see them by."""
    templates, lines = hit.get("family_templates", 1) - 1, hit.get("family_lines", 1)
    figures = [f"+{counted(templates, 'template')}"] if templates > 0 else []
    figures += [counted(lines, "line")] if lines > 1 else []
    family = f"family {hit['family']}" if templates > 0 else ""
    return " · ".join(part for part in (printable(hit.get("name", "")), ", ".join(figures), family) if part)


def shown_alike(hit: HitJson | CountedFamilyJson) -> str:
    """Return how many families more a hit stands for, and the words of the first ones."""
    words = [printable(one["word"]) for one in hit.get("alike", ())]
    named = ", ".join(words[:_FIRST_WORDS]) + (" …" if len(words) > _FIRST_WORDS else "")
    return f"and {len(words)} more that {'differs' if len(words) == 1 else 'differ'} in one word: {named}" if words else ""


def shown_fields(fields: object, width: int) -> str:
    """Return kept fields on one line of at most `width` characters, the well-known ones first."""
    if not isinstance(fields, Mapping):
        return ""
    names = [*(name for name in WELL_KNOWN if name in fields), *(name for name in fields if name not in WELL_KNOWN)]
    pairs = ((name, fields[name]) for name in names)
    shown = "  ".join(f"{printable(name)}={printable(value) if isinstance(value, str) else json.dumps(value)}" for name, value in pairs)
    return shown if len(shown) <= width else f"{shown[: max(width - 1, 0)]}…"


def _line_of(screen: Screen, hit: HitJson, pattern: re.Pattern[str] | None) -> list[StyledText]:
    """Return the text of a hit; of one that was sampled only its template is known."""
    if hit["text"] is None:
        return [("(sampled) ", _FIELDS), *_line(screen, hit["template_text"], None)]
    return _line(screen, hit["text"], pattern)


def _piece(hit: HitJson) -> str:
    """Return which part of a long line the hit is; empty for a whole line."""
    chunks = hit.get("chunks", 1)
    return f"{hit['chunk'] + 1}/{chunks}" if chunks > 1 else ""


def _line(screen: Screen, text: str, pattern: re.Pattern[str] | None) -> list[StyledText]:
    """Return a line for display, with the matches of the pattern in their own style."""
    shown = screen.text(text)
    parts: list[StyledText] = []
    end = 0
    for match in () if pattern is None else pattern.finditer(shown):
        parts += [(shown[end : match.start()], ""), (match[0], _MATCH)]
        end = match.end()
    return [*parts, (shown[end:], "")]


_NOTHING = re.compile(r"(?!)")


def matching(text: str) -> re.Pattern[str]:
    """Return a case-insensitive pattern for a query's words in a line; an identifier matches as a whole only, not in parts."""
    found = words_of(words_sought(text))
    identifiers = {one.text for one in found.identifiers}
    words = terms_of(" ".join(word for word in found.text.split() if word.lower() not in identifiers))
    wanted = sorted({*identifiers, *words}, key=len, reverse=True)
    if not wanted:
        return _NOTHING
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, wanted))})(?!\w)", re.IGNORECASE)
