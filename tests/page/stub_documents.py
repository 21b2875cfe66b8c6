"""What the stub world's documents say: a healthy worker, unless a test changes it."""

from typing import Any

from worker.asking.reindex_answers import ReindexJson, ReindexViewJson
from worker.asking.worker_answers import ConditionJson, DoctorJson, PeerJson, ServedModelJson, StatusJson, SuggestionsJson, WorkersJson
from worker.inspecting.doctor import DoctorFinding, DoctorReport
from worker.watching.conditions import CONDITIONS, Condition

WORKER = "stub-host:4711"
DEPENDENCIES = ("kafka", "index", "redis", "registry", "engine")


def status(now_ms: int) -> StatusJson:
    """Return /api/status of a worker to which nothing is wrong."""
    return {
        "version": "0.1.0",
        "worker": WORKER,
        "phase": "running",
        "indexes": True,
        "now_ms": now_ms,
        "uptime_s": 5_400.0,
        "ready": {"status": "ready", "checks": dict.fromkeys(DEPENDENCIES, "ok")},
        "alive": {"status": "ok", "checks": {}},
        "searchable": {"p50_s": 0.9, "p99_s": 2.4, "lines": 812_000},
        "canary": None,
        "engine": {"name": "llama.cpp", "model": "all-MiniLM-L6-v2", "is_up": True, "busy_share": 0.07, "templates": 412, "tokens": 9_800},
        "rates": {"lines_per_s": 1_240.5},
        "savings": [
            {"topic": "logs", "lines": 812_000, "chunks": 812_400, "tokens": 17_909_800, "tokens_saved": 17_900_000, "saved_share": 0.9995}
        ],
        "index": {"blocks": 910, "templates": 412, "lines": 812_000},
        "masks": "3",
        "dependencies": [{"name": name, "state": "ok", "reason": "", "since_ms": None} for name in DEPENDENCIES],
        "assignments": [{"group": "vectail", "topic": "logs", "partition": partition} for partition in range(2)],
        "errors": [{"time_ms": now_ms - 240_000, "level": "warning", "event": "redis at 127.0.0.1:6379 was slow", "count": 3}],
        "conditions": [_well(one) for one in CONDITIONS if one.judge is not None][:4],
        "served_models": [],
        "index_models": 1,
    }


def served_models() -> list[ServedModelJson]:
    """Return what /api/status says of an embedding service: the index's model, one that was unloaded, and one that cannot be loaded."""
    ready: ServedModelJson = {
        "name": "all-MiniLM-L6-v2-logs",
        "state": "ready",
        "bytes": None,
        "requests": 41_310,
        "backlog_s": 0.25,
        "error": "",
    }
    absent: ServedModelJson = {**ready, "name": "bge-small-en-v1.5", "state": "absent", "bytes": 0, "requests": 12, "backlog_s": 0.0}
    missing = "no model in /models/e5: there is no such folder"
    failed: ServedModelJson = {**absent, "name": "e5-small-v2", "state": "failed", "requests": 0, "error": missing}
    return [ready, absent, failed]


def _well(one: Condition) -> ConditionJson:
    return {"name": one.name, "severity": one.severity, "state": "ok", "summary": one.fine, "what_to_do": "", "since_ms": None}


def reindex(now_ms: int) -> ReindexJson:
    """Return /api/reindex while a second model is filled."""
    old: ReindexViewJson = {
        "space": "space-1",
        "model": "all-MiniLM-L6-v2",
        "state": "ready",
        "since_ms": now_ms - 60_000,
        "preferred": True,
        "loaded": True,
        "templates": 20_000,
    }
    new: ReindexViewJson = {**old, "space": "space-2", "model": "bge-small", "state": "building", "preferred": False, "templates": 12_345}
    return {
        "views": [old, new],
        "asked": "space-1",
        "filled_by": WORKER,
        "written": 12_345,
        "failed": 0,
        "per_s": 210.0,
        "findings": [{"name": "complete", "met": True, "found": "every template is there"}],
        "overlap": 0.36,
        "same": False,
        "error": "",
        "plan": None,
    }


def workers(_now_ms: int) -> WorkersJson:
    """Return /api/workers of a worker without peers."""
    return {"workers": []}


def peers() -> WorkersJson:
    """Return /api/workers of three workers: this one, one that lacks its index, and one that does not answer."""
    here: PeerJson = {
        "address": "workers.logs.svc:8790 (10.0.3.7:8790)",
        "worker": WORKER,
        "version": "0.1.0",
        "state": "ready",
        "reason": "",
        "firing": [],
        "partitions": 2,
        "lines_per_s": 1_240.5,
        "is_self": True,
    }
    lacking: PeerJson = {
        **here,
        "address": "workers.logs.svc:8790 (10.0.3.8:8790)",
        "worker": "web-2:17",
        "state": "not_ready",
        "reason": "index: Milvus is away",
        "firing": ["VectailSinkDown"],
        "is_self": False,
    }
    away: PeerJson = {
        **lacking,
        "address": "10.0.3.9:8790",
        "worker": "",
        "version": "",
        "state": "away",
        "reason": "no answer within 1 s",
        "firing": [],
        "partitions": 0,
        "lines_per_s": None,
    }
    return {"workers": [here, lacking, away]}


KEEPS_UP = {"outlook": "keeps_up", "outlook_text": "keeps up", "caught_up_in_s": None}


def lag(now_ms: int) -> dict[str, Any]:
    """Return /api/lag of two groups that nearly keep up."""
    member = {"member": "vectail-7c1", "host": "/10.0.3.7", "partitions": ["logs/0", "logs/1"]}
    partitions = [
        {
            "topic": "logs",
            "partition": number,
            "committed": 406_000 - records,
            "end": 406_000,
            "records": records,
            "seconds": seconds,
            **KEEPS_UP,
            "member": "vectail-7c1",
            "history": [[now_ms - 5_000 * (60 - step), records + 7 * (step % 9)] for step in range(60)],
        }
        for number, records, seconds in ((0, 120, 0.4), (1, 2_300, 4.1))
    ]
    logs = {"group": "vectail", "kind": "logs", "state": "STABLE", "protocol": "consumer", "members": [member], "records": 2_420}
    queries = {"group": "vectail-queries", "kind": "queries", "state": "STABLE", "protocol": "consumer", "members": [], "records": 0}
    return {
        "asked_ms": now_ms,
        "groups": [
            logs | {"seconds": 4.1, **KEEPS_UP, "partitions": partitions},
            queries | {"seconds": 0.0, "outlook": "caught_up", "outlook_text": "nothing waits", "caught_up_in_s": None, "partitions": []},
        ],
        "error": None,
    }


def letters(now_ms: int) -> dict[str, Any]:
    """Return /api/dead-letters with three letters of two reasons."""
    usual = {
        "topic": "logs",
        "stage": "decode",
        "kind": "undecodable",
        "size_bytes": 310,
        "replayable": True,
        "obstacle": "",
        "setting": "topic.format",
        "way_back": "",
        "replayed": False,
    }
    listed: list[dict[str, Any]] = [
        usual
        | {"id": f"0/{offset}", "partition": 1, "offset": 500 + offset, "time_ms": now_ms - 60_000 * (offset + 1)}
        | {"reason": "not valid JSON: a string has no end", "preview": '{"message": "half a li'}
        for offset in range(2)
    ]
    listed.append(
        usual
        | {"id": "0/2", "partition": 0, "offset": 77, "time_ms": now_ms - 900_000, "stage": "admit", "kind": "too_large"}
        | {"reason": "1,203,441 bytes, at most 1,000,000", "preview": "GIF89a…", "size_bytes": 1_203_441}
        | {"replayable": False, "obstacle": "its bytes were not kept", "setting": "decode.max_record_bytes"}
    )
    listed[1]["way_back"] = "the letter holds only the beginning of its record; a replay reads the record again, while Kafka holds it"
    return {
        "letters": listed,
        "by_reason": [
            {"reason": "not valid JSON: a string has no end", "topic": "logs", "letters": 2},
            {"reason": "1,203,441 bytes, at most 1,000,000", "topic": "logs", "letters": 1},
        ],
        "total": 3,
        "complete": True,
        "dead_letter_topic": "vectail.dead-letters",
    }


def doctor(now_ms: int) -> DoctorJson:
    """Return /api/doctor with a warning and a problem."""
    full, limits = "noeviction: a full Redis refuses to store", "ulimit -n 4096, or LimitNOFILE=4096 in the unit"
    checks = (
        DoctorFinding("kafka", "broker", "ok", "Kafka 4.3 answers in 3 ms"),
        DoctorFinding("kafka", "retention", "ok", "7 days, the lag is 4 s"),
        DoctorFinding("redis", "maxmemory-policy", "warning", full, "Set maxmemory-policy to allkeys-lfu"),
        DoctorFinding("milvus", "schema", "ok", "both collections fit"),
        DoctorFinding("model", "speed", "ok", "4,100 tokens a second"),
        DoctorFinding("versions", "required", "ok", "all 27 have the versions asked for"),
        DoctorFinding("machine", "open files", "problem", "at most 256 open files", limits),
    )
    return DoctorReport(checks, 1.8, now_ms).document()


TOML = """# 6 templates become 1 (6 lines): ada, bob, carol and 3 more
[[mask.add]]
name = 'over-to'
"""


def suggestions(_now_ms: int) -> SuggestionsJson:
    """Return /api/suggestions with one mask."""
    return {
        "topic": "",
        "table": "mask",
        "masks": "3",
        "families": 6,
        "lines": 412,
        "templates": 412,
        "templates_after": 407,
        "suggestions": [
            {
                "name": "over-to",
                "pattern": r"(\bover to )\S+",
                "replacement": r"\1*",
                "templates": 6,
                "templates_after": 1,
                "lines": 6,
                "words": 6,
                "examples": ["ada", "bob", "carol"],
                "template": "parcel handed over to *",
            }
        ],
        "toml": TOML,
        "complete": True,
    }
