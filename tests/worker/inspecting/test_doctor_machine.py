"""The doctor's judgements of the machine, the installed versions and the settings, on planted facts and on a planted root."""

import resource
import socket
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

from consumers.native import library_fault
from tests.log_topics import log_topics
from tests.rows import rows
from tests.services.ports import free_port
from tests.worker.inspecting.judged import judge, says
from worker.asking.refusals import Refused
from worker.inspecting.doctor import State, judge_all, ok
from worker.inspecting.doctor_machine import MACHINE_CHECKS, MachineFacts, caps_of, look_at_machine, memory_limit
from worker.inspecting.doctor_settings import SETTINGS_CHECKS, SUGGESTION_CHECKS, look_at_suggestions
from worker.inspecting.doctor_versions import VERSION_CHECKS, InstalledFacts, look_at_versions, requirements_of
from worker.settings.settings import Settings

GIB = 1 << 30


def settings_of(**tables: dict[str, Any]) -> Settings:
    return Settings.model_validate({"topic": log_topics("logs"), **tables})


MACHINE = MachineFacts(
    settings_of(model={"cache": "/models"}),
    8 * GIB,
    "the machine has",
    65_536,
    4,
    "x86_64",
    frozenset({"avx2"}),
    5 * GIB,
    ok("free"),
    1.8e9,
)
CAPPED = {"limits": {"max_in_flight_bytes": GIB // 2}, "cache": {"memory_bytes": GIB // 8}, "kafka": {"prefetch_bytes": 1 << 20}}
CROWDED, FITTING = (MACHINE._replace(settings=settings_of(engine={"threads": threads})) for threads in (8, 4))


def capped(memory_bytes: int | None) -> MachineFacts:
    return MACHINE._replace(settings=settings_of(**CAPPED), memory_bytes=memory_bytes)


@pytest.mark.parametrize(
    ("name", "facts", "state", "words"),
    [
        ("memory", capped(4 * GIB), "ok", "the machine has 4 GiB"),
        ("memory", capped(2 * GIB), "warning", "the largest is limits.max_in_flight_bytes"),
        ("memory", capped(GIB), "problem", "may be killed"),
        ("memory", capped(None), "ok", "cannot be read"),
        ("open-files", MACHINE, "ok", "65,536"),
        ("open-files", MACHINE._replace(open_files=resource.RLIM_INFINITY), "ok", "any number"),
        ("open-files", MACHINE._replace(open_files=1_000), "warning", "ulimit -n"),
        ("open-files", MACHINE._replace(open_files=100), "problem", "need more"),
        ("processors", MACHINE, "ok", "4"),
        ("processors", FITTING, "ok", "engine.threads is 4"),
        ("processors", CROWDED, "warning", "engine.threads is 8"),
        ("instructions", MACHINE._replace(processor_flags=frozenset({"avx", "avx2", "avx512f"})), "ok", "AVX-512"),
        ("instructions", MACHINE._replace(processor_flags=frozenset({"avx"})), "warning", "without AVX2"),
        ("instructions", MACHINE._replace(processor_flags=frozenset()), "ok", "cannot be read"),
        ("instructions", MACHINE._replace(architecture="aarch64", processor_flags=frozenset()), "ok", "aarch64; nothing special"),
        ("disk", MACHINE, "ok", "5 GiB free for /models"),
        ("disk", MACHINE._replace(free_bytes=GIB // 2), "warning", "model.cache"),
        ("disk", MACHINE._replace(free_bytes=GIB // 10), "problem", "cannot be prepared"),
        ("port", MACHINE, "ok", "free"),
        ("clock", MACHINE, "ok", "2027-01-15 08:00 UTC"),
        ("clock", MACHINE._replace(now_s=0), "problem", "1970-01-01"),
    ],
)
def test_what_the_machine_gives_is_judged(name: str, facts: MachineFacts, state: State, words: str) -> None:
    says(judge(MACHINE_CHECKS, name, facts), state, words)


def test_all_that_may_grow_is_counted() -> None:
    assert {cap.name.split(",")[0] for cap in caps_of(settings_of(redis={"url": "redis://r"}))} == {
        "limits.max_in_flight_bytes", "kafka.prefetch_bytes", "cache.memory_bytes", "known templates",
        "vectors that wait to be written to Redis",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("files", "bytes_there", "whose"),
    [
        ({}, 8 * GIB, "the machine has"),
        ({"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/memory.max": str(2 * GIB), "sys/fs/cgroup/a/b/memory.max": "max\n"},
         2 * GIB, "container"),
        ({"proc/self/cgroup": "5:memory:/docker/x\n1:cpu:/\n", "sys/fs/cgroup/memory/docker/x/memory.limit_in_bytes": str(GIB)},
         GIB, "container"),
        ({"proc/self/cgroup": "5:memory:/x\n", "sys/fs/cgroup/memory/x/memory.limit_in_bytes": "9223372036854771712"},
         8 * GIB, "the machine has"),
    ],
)  # fmt: skip
def test_the_memory_is_the_machines_or_less_if_a_control_group_says_so(
    files: dict[str, str], bytes_there: int, whose: str, tmp_path: Path
) -> None:
    for path, text in ({"proc/meminfo": f"MemTotal:  {8 * GIB // 1024} kB\n"} | files).items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    found, said = memory_limit(tmp_path)
    assert found == bytes_there
    assert whose in said


@pytest.mark.slow
def test_a_port_that_a_stranger_has_is_a_problem_and_a_free_one_is_not(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", free_port())) as taken:
        settings = settings_of(http={"port": taken.getsockname()[1]}, model={"cache": tmp_path / "not" / "there"})
        verdicts = look_at_machine(settings)
    says(verdicts["port"], "problem", "Address already in use|http.port")
    assert list(verdicts) == [check.name for check in MACHINE_CHECKS]
    says(look_at_machine(settings)["port"], "ok", "is free")
    says(look_at_machine(settings, is_worker=True)["port"], "ok", "this worker listens")
    says(look_at_machine(settings_of(http={"enabled": False}))["port"], "ok", "nothing listens")


REQUIRED = (Requirement("pymilvus>=3.0,<4"), Requirement("redis>=7"))
THERE = {"pymilvus": "3.0.2", "redis": "8"}


def installed(python: str = "3.12.1", there: dict[str, str] = THERE, faults: tuple[str, ...] = ("", "")) -> InstalledFacts:
    return InstalledFacts(python, REQUIRED, there, faults)


@pytest.mark.parametrize(
    ("name", "facts", "state", "words"),
    [
        ("python", installed("3.12.1"), "ok", "3.12.1"),
        ("python", installed("3.10.9"), "warning", "3.10.9"),
        ("python", installed("3.15.0rc1"), "warning", "untested"),
        ("required", installed(), "ok", "all 2"),
        ("required", installed(there=THERE | {"pymilvus": "3.1.0rc1"}), "ok", "all 2"),
        ("required", installed(there=THERE | {"pymilvus": "2.6.1"}), "problem", "pymilvus is 2.6.1 (needs <4,>=3.0)"),
        ("required", installed(there={"redis": "8"}), "problem", "pymilvus is not installed"),
        ("required", installed()._replace(required=()), "ok", "not installed as a package"),
        ("compiled", installed(), "ok", "2 libraries"),
        ("compiled", installed(faults=("", "b.c.so was compiled from another b.c")), "problem", "another b.c → |make native"),
    ],
)
def test_what_is_installed_is_judged(name: str, facts: InstalledFacts, state: State, words: str) -> None:
    says(judge(VERSION_CHECKS, name, facts), state, words)


def test_a_library_of_another_c_file_is_found(tmp_path: Path) -> None:
    source = tmp_path / "one.c"
    source.touch()
    source.with_suffix(".c.so").write_text(f"compiled from {sha256(b'').hexdigest()}")
    assert library_fault(source) == ""
    source.write_text("changed")
    assert library_fault(source) == f"{source}.so was compiled from another one.c"


def test_what_is_installed_here_is_well() -> None:
    verdicts = look_at_versions()
    assert {one.state for one in verdicts.values()} == {"ok"}
    assert not verdicts["compiled"].found.startswith("0 ")
    names = {one.name for one in requirements_of("vectail")}
    assert not names or ({"pymilvus", "redis", "llama-cpp-python"} <= names and "vllm" not in names)


def test_the_default_settings_are_well() -> None:
    assert {one.state for one in judge_all(SETTINGS_CHECKS, settings_of()).values()} == {"ok"}


@pytest.mark.parametrize(("name", "state", "word", "tables"), rows("doctor/settings"))
def test_settings_that_are_a_risk_are_named(name: str, state: State, word: str, tables: dict[str, dict[str, Any]]) -> None:
    says(judge(SETTINGS_CHECKS, name, settings_of(**tables)), state, word)


@pytest.mark.parametrize(
    ("state", "words", "offered"),
    [
        ("ok", "3 of 400 families|--suggest TOPIC", {"families": 3, "lines": 400, "topic": ""}),
        ("ok", "no two of 400", {"families": 0, "lines": 400, "topic": ""}),
        ("ok", "9 of 20", {"families": 9, "lines": 20, "topic": ""}),
        ("warning", "40 of 400|--suggest web", {"families": 40, "lines": 400, "topic": "web"}),
    ],
)
def test_suggested_masks_are_offered_and_are_a_warning_where_they_merge_much(state: State, words: str, offered: Mapping[str, Any]) -> None:
    says(judge(SUGGESTION_CHECKS, "suggestions", offered), state, words)


def test_without_an_answer_about_suggestions_or_without_lines_nothing_is_said_of_them() -> None:
    def refuse() -> dict[str, object]:
        raise Refused("unavailable", "the worker is starting or stopping")

    for offer in (refuse, dict, lambda: {"families": 0, "lines": 0, "topic": ""}):
        assert look_at_suggestions(offer) == {}
