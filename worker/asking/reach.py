"""What people are told where an answer is not complete because records still wait in Kafka."""

from worker.asking.answers import ReachJson
from worker.asking.moments import shown_time

_MOST_NAMED = 3


def arriving_text(answer: ReachJson) -> str:
    """Return how many records are on their way, for an answer that holds nothing and is not behind; empty if none is known."""
    records = answer.get("behind_records") or 0
    if not records or "behind" in answer:
        return ""
    return f"{records:,} {'record is' if records == 1 else 'records are'} on the way from Kafka."


def behind_text(answer: ReachJson) -> str:
    """Return in one sentence how far the index is behind, and until when; empty if it is not behind."""
    if (behind := answer.get("behind")) is None:
        return ""
    if not behind:
        return "How far the index is behind is not known: Kafka has not said lately."
    records, until_ms = answer.get("behind_records") or 0, answer.get("indexed_until_ms")
    until = "" if until_ms is None else f"it is indexed up to {shown_time(until_ms)}, and "
    largest = sorted(behind, key=lambda one: -one["behind_records"])
    named = "; ".join(f"{one['topic']}: {one['outlook_text']}" for one in largest[:_MOST_NAMED])
    more = f"; and {len(behind) - _MOST_NAMED} topics more" if len(behind) > _MOST_NAMED else ""
    return f"Not everything is here yet: {until}{records:,} {'record is' if records == 1 else 'records are'} to come ({named}{more})."
