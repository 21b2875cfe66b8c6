"""Both rankings in one: reciprocal rank fusion (Cormack, Clarke, Büttcher 2009) over templates.

A kind that both find has the sum of both votes; scores of the two are never compared, only ranks. Both must be ranked equally deep,
whatever `k` is: a rank that one of them does not know is no vote.
"""

from sinks.row import LineRow
from worker.search.ranked import Kind, Ranking

_RANK_OFFSET = 60
"""The constant of the paper: how slowly a rank loses weight."""


def fuse(by_meaning: Ranking, by_words: Ranking, *, words_first: bool) -> Ranking:
    """Return the kinds of both; `words_first` decides between equal ones. Of a kind, lines that words found are shown before its newest."""
    scores: dict[str, float] = {}
    lines: dict[str, dict[str, LineRow]] = {}
    for ranking in (by_words, by_meaning) if words_first else (by_meaning, by_words):
        for rank, kind in enumerate(ranking.kinds, start=1):
            scores[kind.digest] = scores.get(kind.digest, 0.0) + 1 / (_RANK_OFFSET + rank)
    for ranking in (by_words, by_meaning):
        for kind in ranking.kinds:
            shown = lines.setdefault(kind.digest, {})
            for line in kind.lines:
                shown.setdefault(line.id, line)
    best = sorted(scores, key=lambda digest: -scores[digest])
    kinds = [Kind(digest, scores[digest], list(lines[digest].values())) for digest in best]
    return Ranking(kinds, by_meaning.complete and by_words.complete)
