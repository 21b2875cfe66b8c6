"""Ranking by words: lines that share words with the text (BM25), each a vote for its template.

Of every template the best line is shown. Lines that have the text's identifiers whole come first: to a full-text index an address is
four numbers, and a line with three of them is nearly as good. Where identifiers are all that was asked for, no other line counts.
"""

from sinks.row import LineRow
from sinks.sink import LineHit, Sink
from worker.querying.search.ranking import OutOfTime, RankedTemplate, Ranking, SearchBounds
from worker.querying.search.words import Words

_FIRST_LINES = 200
_MOST_LINES = 1_600
"""Of a very frequent word not all lines are looked at."""
_GROWTH = 8


def rank_by_words(sink: Sink, words: Words, bounds: SearchBounds, *, grouped: bool = True) -> Ranking:
    """Return the templates whose lines match best. Raises SinkBusy.

    Without `grouped`, every line is ranked alone: lines are wanted, not templates.
    """
    if not words.text:
        return Ranking([], complete=True)
    most = max(_MOST_LINES, bounds.k)
    limit = min(max(_FIRST_LINES, 4 * bounds.k), most)
    while True:
        hits = sink.matching_lines(words.text, limit, bounds.only)
        ranked = _ranked(words, hits, bounds.deadline_passed)
        templates = _grouped(ranked) if grouped else [RankedTemplate(hit.line.template, hit.score, [hit.line]) for hit in ranked]
        is_cut = bounds.deadline_passed()
        if bounds.is_met_by(templates) or (len(hits) < limit and not is_cut):
            return Ranking(templates, complete=True)
        if limit >= most or is_cut:
            return Ranking(templates, complete=False)
        limit = min(_GROWTH * limit, most)


def votes_by_words(sink: Sink, words: Words, bounds: SearchBounds, *, least_share: float) -> Ranking:
    """Return the templates of the best lines, for a second opinion: lines with an identifier, or such a share of the words. One read."""
    if not words.text:
        return Ranking([], complete=True)
    hits = _ranked(words, sink.matching_lines(words.text, _FIRST_LINES, bounds.only), bounds.deadline_passed, least_share)
    return Ranking(_grouped(hits), complete=not bounds.deadline_passed())


def _ranked(words: Words, hits: list[LineHit], deadline_passed: OutOfTime, least_share: float = 0.0) -> list[LineHit]:
    """Put lines with more of the identifiers first; of those without any, leave out what has too few of the words."""
    counted: list[tuple[int, LineHit]] = []
    for hit in hits:
        if deadline_passed():
            break
        whole = words.identifiers_in(hit.line.text)
        if whole or (not words.is_exact and (not least_share or words.share_in(hit.line.text) >= least_share)):
            counted.append((whole, hit))
    return [hit for _, hit in sorted(counted, key=lambda one: (-one[0], -one[1].score))]


def _grouped(hits: list[LineHit]) -> list[RankedTemplate]:
    """Group lines by their template; the order is that of each group's best line."""
    scores: dict[str, float] = {}
    lines: dict[str, list[LineRow]] = {}
    for hit in hits:
        scores.setdefault(hit.line.template, hit.score)
        lines.setdefault(hit.line.template, []).append(hit.line)
    return [RankedTemplate(digest, score, lines[digest]) for digest, score in scores.items()]
