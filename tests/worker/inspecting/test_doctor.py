"""The examination: groups look side by side, one that fails or hangs hides no other, and the page says what each check means."""

import re
import threading
from pathlib import Path

import pytest

from worker.asking.refusals import BadQuery
from worker.inspecting.doctor import DoctorFinding, DoctorLook, Examiner, Verdict, examine, ok, problem, warning
from worker.inspecting.doctor_looks import NAMES, looks_of_tool
from worker.runtime.logs import REDACTED, redact_secrets
from worker.settings.settings import Settings

PAGE = Path(__file__).parents[3] / "docs/doctor.md"
WAIT_S = 30.0

FINE = DoctorFinding("redis", "redis", "ok", "it answers")
POOR = DoctorFinding("redis", "eviction", "warning", "no maxmemory", "set it")
REDIS = DoctorLook("redis", NAMES["redis"], lambda: {"eviction": warning("no maxmemory", "set it"), "redis": ok("it answers")}, WAIT_S)
VERSIONS = DoctorLook("versions", NAMES["versions"], lambda: {"python": ok("3.11")}, WAIT_S)


def test_checks_come_in_the_order_of_the_list_whoever_ends_first() -> None:
    report = examine([VERSIONS, REDIS], wall_ms=lambda: 1_000.5)
    assert [(one.group, one.name) for one in report.checks] == [("redis", "redis"), ("redis", "eviction"), ("versions", "python")]
    document = report.document()
    assert document["checks"][1] == {
        "name": "eviction", "group": "redis", "state": "warning", "found": "no maxmemory", "what_to_do": "set it"
    }  # fmt: skip
    assert (document["worst"], document["asked_ms"]) == ("warning", 1_000)


def test_a_group_that_fails_says_so_under_the_name_of_its_first_check_and_hides_no_other() -> None:
    def fails() -> dict[str, Verdict]:
        raise LookupError("no such\nkey")

    report = examine([DoctorLook("milvus", NAMES["milvus"], fails, WAIT_S), REDIS])
    failed, *others = sorted(report.checks, key=lambda one: one.group)
    assert (failed.group, failed.name, failed.state) == ("milvus", "index", "problem")
    assert "LookupError: no such key" in failed.found
    assert others == [FINE, POOR]


def test_no_finding_holds_a_secret_of_the_settings_whoever_says_it() -> None:
    redact_secrets(["s3cret-of-the-doctor"])

    def fails() -> dict[str, Verdict]:
        raise LookupError("no http://me:s3cret-of-the-doctor@host")

    named = problem("http://me:s3cret-of-the-doctor@host is away", "is s3cret-of-the-doctor right?")
    report = examine([DoctorLook("milvus", ["index"], lambda: {"index": named}, WAIT_S), DoctorLook("redis", ["redis"], fails, WAIT_S)])
    assert "s3cret" not in str(report)
    assert [one.found.count(REDACTED) for one in report.checks] == [1, 1]


def test_what_takes_long_is_said_while_it_is_looked_at() -> None:
    said: list[str] = []
    released = threading.Event()

    def say(line: str) -> None:
        said.append(line)
        released.set()

    def hangs() -> dict[str, Verdict]:
        assert released.wait(WAIT_S)
        return {"engine": ok("it is up")}

    report = examine([DoctorLook("model", NAMES["model"], hangs, WAIT_S), REDIS], say=say, quiet_s=0.5)
    assert said == ["still looking at model (up to 30 s)"]
    assert [one.state for one in report.checks] == ["ok", "warning", "ok"]


def test_a_group_that_hangs_costs_its_time_limit_and_hides_no_other() -> None:
    released = threading.Event()

    def hangs() -> dict[str, Verdict]:
        released.wait(WAIT_S)
        return {"kafka": ok("too late")}

    try:
        report = examine([DoctorLook("kafka", NAMES["kafka"], hangs, 0.05), REDIS])
    finally:
        released.set()
    assert [(one.group, one.name, one.state) for one in report.checks] == [
        ("kafka", "kafka", "problem"), ("redis", "redis", "ok"), ("redis", "eviction", "warning")
    ]  # fmt: skip
    assert report.checks[0].found == "no answer within 0.05 s"


def test_a_look_that_may_be_silent_hides_no_other_of_its_group() -> None:
    released = threading.Event()

    def hangs() -> dict[str, Verdict]:
        released.wait(WAIT_S)
        return {"suggestions": ok("too late")}

    looks = [one for one in looks_of_tool(Settings()) if one.group == "settings"]
    looks[-1] = looks[-1]._replace(look=hangs, limit_s=0.05)
    try:
        report = examine(looks)
    finally:
        released.set()
    assert [one.name for one in report.checks] == [name for name in NAMES["settings"] if name != "suggestions"]


def test_over_http_a_young_report_answers_again_and_an_old_one_does_not() -> None:
    looks = 0
    now_s = 0.0

    def look() -> dict[str, Verdict]:
        nonlocal looks
        looks += 1
        return {"redis": ok("it answers")}

    examiner = Examiner([REDIS._replace(look=look)], clock=lambda: now_s)
    assert examiner.document({}) == examiner.document({})
    assert looks == 1
    now_s = 60.0
    examiner.document({})
    assert looks == 2


def test_over_http_one_group_can_be_asked_for_alone() -> None:
    examiner = Examiner([VERSIONS, REDIS])
    assert {one["group"] for one in examiner.document({"group": "redis"})["checks"]} == {"redis"}
    assert examiner.document({"group": "registry"})["checks"] == []  # none is configured
    with pytest.raises(BadQuery, match="the groups are kafka, registry") as refused:
        examiner.document({"group": "nothing"})
    assert refused.value.field == "group"


def test_every_check_has_its_line_on_the_page_in_the_same_order_and_the_page_has_no_other() -> None:
    sections = re.split(r"^## (\w+)$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    rows = {
        group: tuple(re.findall(r"^\| `([\w-]+)` \|", text, re.MULTILINE))
        for group, text in zip(sections[::2], sections[1::2], strict=True)
    }
    assert rows == {group: tuple(names) for group, names in NAMES.items()}
