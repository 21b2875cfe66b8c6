"""The doctor's checks of how far the log group is behind, and whether Kafka removes records before they are read. Pure."""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Final

from worker.audit.doctor import Check
from worker.audit.doctor_broker import GroupLag
from worker.audit.doctor_words import counted, listed, rate_of, seconds_of
from worker.groups.offsets import GroupPosition

_NEAR: Final = 0.5
"""Share of the retention at which the oldest unread record is near its end."""
_OVER: Final = 0.9
_FEW_RECORDS: Final = 1_000
_FUTURE_S: Final = 5.0

_check = partial(Check, "kafka")


def judge_lag(lag: GroupLag, *, now_ms: int) -> Check:
    """Judge how far the group is behind."""
    records, rate = sum(one.lag_records for one in lag.positions), lag.rate
    comes = "" if rate is None else f"; {rate_of(rate)} come in a second"
    if not records:
        return _check("lag", "ok", f"nothing is unread{comes}")
    never = all(one.committed is None for one in lag.positions)
    age_s = _age_s(lag, now_ms)
    found = f"{counted(records, 'record')} unread{'' if age_s is None else f', the oldest for {seconds_of(age_s)}'}{comes}"
    if never:
        return _check("lag", "ok", f"{found}; the group has never committed")
    if rate is not None and records > max(rate * 60, _FEW_RECORDS):
        change = "see with `vectail lag --watch` whether it shrinks; if it does not, add workers, and partitions for them"
        return _check("lag", "warning", found, change)
    return _check("lag", "ok", found)


def judge_retention(lag: GroupLag, properties: Mapping[str, Mapping[str, str]], *, now_ms: int) -> Check:
    """Judge whether records are removed before they are read, or soon will be."""
    beyond = beyond_end(lag.positions)
    if beyond:
        change = "find out why; then `vectail offsets reset --to earliest` while no worker runs"
        return _check("retention", "problem", f"the group {beyond}", change)
    lost = sum(one.lost_records for one in lag.positions)
    if lost:
        where = listed([_named(one) for one in lag.positions if one.lost_records])
        return _check(
            "retention",
            "problem",
            f"{lost:,} records were removed by retention before they were read, in {where}",
            "raise retention.ms of the topic or add workers; a worker that was stopped by this needs `vectail offsets reset --to earliest`",
        )
    worst, place = max(((_share(one, lag, properties, now_ms), _named(one)) for one in lag.positions), default=(0.0, ""))
    if worst > _NEAR:
        return _check(
            "retention",
            "problem" if worst > _OVER else "warning",
            f"the oldest unread record of {place} has used {min(worst, 1.0):.0%} of the time or space that Kafka keeps records for",
            "raise retention.ms (or retention.bytes) of the topic now, then add workers",
        )
    if not properties:
        return _check("retention", "ok", "nothing was removed unread; Kafka does not say how long it keeps records")
    kept = sorted({_kept(properties.get(one.partition.topic, {})) for one in lag.positions})
    return _check("retention", "ok", f"nothing was removed unread; records are kept {listed(kept)}")


def beyond_end(positions: Iterable[GroupPosition]) -> str:
    """Return in words where a group has committed past the end, which its lag does not show; empty if nowhere."""
    beyond = [_named(one) for one in positions if one.is_beyond_end]
    return f"has committed past the end of {listed(beyond)}: the topic was created again or cut" if beyond else ""


def judge_newest(lag: GroupLag | None, *, now_ms: int) -> Check:
    """Judge the newest record's time against our clock: a one-sided test, for a record may also be old."""
    if lag is None or lag.newest_ms is None:
        return _check("clock", "ok", "Kafka does not tell its time here, and there is no record whose time could be compared")
    ahead_s = (lag.newest_ms - now_ms) / 1000
    if ahead_s > _FUTURE_S:
        return _check(
            "clock",
            "warning",
            f"the newest record is {seconds_of(ahead_s)} in the future of this machine's clock",
            "synchronise this machine and the producers with NTP: lag in seconds and time filters are off by that much",
        )
    return _check("clock", "ok", "Kafka does not tell its time here; no record is in the future")


def _share(one: GroupPosition, lag: GroupLag, properties: Mapping[str, Mapping[str, str]], now_ms: int) -> float:
    """Return how much of the topic's retention the oldest unread record has used, by time or by place; 0 if nothing is removed."""
    topic = properties.get(one.partition.topic, {})
    if not one.lag_records or "delete" not in topic.get("cleanup.policy", "delete"):
        return 0.0
    shares = [0.0]
    retention_ms, oldest_ms = int(topic.get("retention.ms", "-1")), lag.oldest_ms.get(one.partition)
    if retention_ms > 0 and oldest_ms is not None:
        shares.append((now_ms - oldest_ms) / retention_ms)
    held = one.end_offset - one.first_offset
    if int(topic.get("retention.bytes", "-1")) > 0 and one.first_offset > 0 and one.lag_records > _FEW_RECORDS:
        shares.append(one.lag_records / held)
    return max(shares)


def _kept(properties: Mapping[str, str]) -> str:
    if "delete" not in properties.get("cleanup.policy", "delete"):
        return "for ever (compacted)"
    retention_ms, retention_bytes = int(properties.get("retention.ms", "-1")), int(properties.get("retention.bytes", "-1"))
    time = "for ever" if retention_ms < 0 else f"for {seconds_of(retention_ms / 1000)}"
    return time if retention_bytes < 0 else f"{time} or up to a size"


def _age_s(lag: GroupLag, now_ms: int) -> float | None:
    return max((max(now_ms - one, 0) / 1000 for one in lag.oldest_ms.values()), default=None)


def _named(one: GroupPosition) -> str:
    return f"{one.partition.topic}/{one.partition.partition}"
